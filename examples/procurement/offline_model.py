"""Models without a model: fixed rules that read the request they are given and nothing else.

`Reader` answers from the packet that stands in its request. `Gullible` first does what any text in
the request tells it to, as a model that was led on would; `Careless` gets one thing wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any, NamedTuple

from google.adk.models import BaseLlm, LlmCapabilities
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field

from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.fence import Line, read_lines, unescape

_CLAIM = re.compile(r"(\S+) (\S+) (required|optional): (\w+)(?: applies=\w+)?(?:; needs (\S+))?")
_UNKNOWN = re.compile(r"unknown (\S+) \(")
_CONFLICT = re.compile(r"conflict (\S+) \((\S+)\)")
_ACCOUNT = re.compile(r"account: (\S+)")
_FACT = re.compile(r"(\S+): (\S+) (\S+) (eq|gt|ge|lt|le) (.+?)( denied)?(?: except (\S+))?")
_DATA = re.compile(r"data (\S+) role=(\w+)")
_AS_OF = re.compile(r" as_of=(\S+)")
_ORDERS = (
    ("finance_balance", "account", re.compile(r"帳號\s*([\w-]+)")),
    ("search_policy", "keyword", re.compile(r"(https?://[\w./-]+)")),
    ("send_file", "to", re.compile(r"發到\s*(\S+)")),
)

_NAMED = re.compile(r"(?:evidence|condition|counter) (\S+)")


class _Item(NamedTuple):
    """What a packet says of an item."""

    as_of: str | None
    facts: list[re.Match[str]]


Spoil = Callable[[dict[str, Any]], None]
"""Changes an answer before it is given."""


class Reader(BaseLlm):
    """Answers by what the packet says, claim by claim; asks for a tool that a claim needs.

    Attributes:
        model: The name it goes by.
        spoil: Changes its answers, one after the other, before it gives them; for drills.
        on_answer: Called whenever it answers; for a clock that moves on while a model thinks.
    """

    model: str = "offline-evidence-reader"
    spoil: list[Spoil] = Field(default_factory=list)
    on_answer: Callable[[], None] | None = None

    @property
    def capabilities(self) -> LlmCapabilities:
        """Takes an output schema beside tools."""
        return LlmCapabilities(output_schema_and_tools=True)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return its one name."""
        return ["offline-evidence-reader"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with one tool call or one JSON object.

        Args:
            llm_request: All that is read.
            stream: Whether a text is sent as partial chunks before the whole.
        """
        part = self.answer(llm_request)
        if stream and part.text:
            for piece in (part.text[:40], part.text[40:]):
                yield _response(types.Part(text=piece), partial=True)
        yield _response(part, partial=False if stream else None)

    def answer(self, request: LlmRequest) -> types.Part:
        """Return what it says to a request."""
        packet = _packet(request)
        if packet is None:
            return types.Part(text="您好，請問想了解哪一項採購的審批或預算？")
        call = _wanted_call(packet, request)
        if call is not None:
            return types.Part(function_call=call)
        if self.on_answer is not None:
            self.on_answer()
        said = _answer(packet)
        if self.spoil:
            self.spoil.pop(0)(said)
        return types.Part(text=json.dumps(said, ensure_ascii=False))


class Gullible(Reader):
    """Does what a text tells it to, once for each order it finds; then answers as a Reader."""

    def answer(self, request: LlmRequest) -> types.Part:
        """Return a call that some text asks for, or what a Reader says."""
        tried = sum(
            part.function_response is not None
            for content in request.contents
            for part in content.parts or []
        )
        orders = list(_orders(request))
        if tried < len(orders):
            tool, argument, value = orders[tried]
            return types.Part(function_call=types.FunctionCall(name=tool, args={argument: value}))
        return super().answer(request)


def _orders(request: LlmRequest) -> Iterable[tuple[str, str, str]]:
    declared = _declared(request)
    texts = [
        part.text
        for content in request.contents
        for part in content.parts or []
        if part.text and not part.text.startswith("[contract ")
    ]
    for tool, argument, pattern in _ORDERS:
        found = pattern.search("\n".join(texts))
        if found is not None and tool in declared:
            yield tool, argument, found[1]


def _packet(request: LlmRequest) -> tuple[Line, ...] | None:
    for content in reversed(request.contents):
        for part in content.parts or []:
            if content.role == "user" and part.text and part.text.startswith("[contract "):
                try:
                    return read_lines(part.text)
                except EvidenceError:
                    continue
    return None


def _wanted_call(packet: tuple[Line, ...], request: LlmRequest) -> types.FunctionCall | None:
    """Return a call for a claim that needs a tool, if that was not tried in this turn."""
    tried = {
        (part.function_call.name, json.dumps(part.function_call.args or {}, sort_keys=True))
        for content in request.contents
        for part in content.parts or []
        if part.function_call is not None
    }
    own = [line.text for line in packet if line.kind == "own"]
    account = next((found[1] for text in own if (found := _ACCOUNT.fullmatch(text))), None)
    for text in own:
        claim = _CLAIM.fullmatch(text)
        if claim is None or claim[5] is None or claim[4] == "unavailable" or account is None:
            continue
        args = {"account": account}
        if claim[5] in _declared(request) and (claim[5], json.dumps(args)) not in tried:
            return types.FunctionCall(name=claim[5], args=args)
    return None


def _answer(packet: tuple[Line, ...]) -> dict[str, Any]:
    own = [line.text for line in packet if line.kind == "own"]
    claims = [found for text in own if (found := _CLAIM.fullmatch(text))]
    unknowns = [found[1] for text in own if (found := _UNKNOWN.match(text))]
    conflicts = [found[1] for text in own if (found := _CONFLICT.match(text))]
    items = _items(packet)
    statements = [
        _statement(found[1], found[2], found[4], _cited(packet, found[1]), items)
        for found in claims
    ]
    outcomes = {found[4] for found in claims if found[3] == "required"}
    if "conflict" in outcomes:
        outcome = "conflict"
    elif outcomes <= {"unknown", "unavailable"}:
        outcome = "unknown"
    else:
        outcome = "conditional" if unknowns or outcomes != {"supported"} else "supported"
    return {
        "outcome": outcome,
        "statements": statements,
        "unknowns": unknowns,
        "conflicts": conflicts,
    }


def _statement(
    claim: str, kind: str, outcome: str, cited: list[str], items: dict[str, _Item]
) -> dict[str, Any]:
    said: dict[str, Any] = {"claim": claim, "outcome": outcome}
    if outcome in {"unknown", "unavailable"}:
        return said
    said["citations"] = cited
    if outcome == "conflict":
        return said
    for name in cited:
        for fact in items[name].facts:
            if fact[1] != kind:
                continue
            number, _, unit = fact[5].rpartition(" ")
            is_money = bool(number) and re.fullmatch(r"[\d,.]+", number) is not None
            return said | {
                "subject": fact[2],
                "predicate": fact[3],
                "comparator": fact[4],
                "value": number if is_money else fact[5],
                "unit": unit if is_money else None,
                "polarity": "denied" if fact[6] else "affirmed",
                "exceptions": fact[7].split(",") if fact[7] else [],
                "as_of": items[name].as_of,
            }
    return said


def _items(packet: tuple[Line, ...]) -> dict[str, _Item]:
    """Return what stands between the boundaries of each item, wherever it stands."""
    found: dict[str, _Item] = {}
    current: _Item | None = None
    for line in packet:
        opened = _DATA.match(line.text) if line.kind == "boundary" else None
        if opened is not None:
            as_of = _AS_OF.search(line.text)
            current = found[opened[1]] = _Item(as_of[1] if as_of else None, [])
        elif line.kind == "data" and line.text.startswith("f ") and current is not None:
            fact = _FACT.fullmatch(unescape(line.text[2:]))
            if fact is not None:
                current.facts.append(fact)
    return found


def _cited(packet: tuple[Line, ...], claim: str) -> list[str]:
    """Return the items of a claim: those that stand in it, and those it only names."""
    inside, found = False, []
    for line in packet:
        if line.kind == "boundary" and line.text.startswith(f"claim {claim} "):
            inside = True
        elif line.kind == "boundary" and line.text == f"end-claim {claim}":
            break
        elif inside and line.kind != "data":
            named = (_DATA if line.kind == "boundary" else _NAMED).match(line.text)
            found.extend([named[1]] if named is not None else [])
    return found


def _declared(request: LlmRequest) -> set[str]:
    return {
        declaration.name or ""
        for tool in request.config.tools or []
        if isinstance(tool, types.Tool)
        for declaration in tool.function_declarations or []
    }


def _response(part: types.Part, *, partial: bool | None) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[part]), partial=partial)
