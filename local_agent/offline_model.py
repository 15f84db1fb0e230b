"""A model without a model: fixed rules that answer when there is no key and no network.

It reads the request it is given and nothing else, so it can resolve 「剛才那個鄉鎮」 only if the
context carries it. It reports no usage: what was not measured is unknown.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence

from google.adk.models import BaseLlm, LlmCapabilities
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import InstanceOf

from callbacks.context.errors import ContextError
from callbacks.context.render import parse
from callbacks.context.schema import ContextSchema
from callbacks.context.window import ContextWindow
from local_agent import intents, templates
from local_agent.areas import said_area
from local_agent.intents import Past, Plan
from local_agent.settings import OFFLINE_MODEL

_AREA_SLOT = "area"
_SEARCHES = {"places": intents.PLACES, "events": intents.EVENTS}


class OfflineModel(BaseLlm):
    """LOCAL's rules behind ADK's model interface.

    Attributes:
        model: Always `local-offline-rules`, the name it goes by wherever a model is named.
        history_schema: How to read the history block; without it only plain past messages are read.
    """

    model: str = OFFLINE_MODEL
    history_schema: InstanceOf[ContextSchema] | None = None

    @property
    def capabilities(self) -> LlmCapabilities:
        """No output schema beside tools."""
        return LlmCapabilities(output_schema_and_tools=False)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return its one name."""
        return [OFFLINE_MODEL]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with one tool call or one short text.

        Args:
            llm_request: All that is read.
            stream: Whether a text is sent as a partial chunk before the whole.
        """
        part = self._answer(llm_request)
        if stream and part.text:
            yield _response(part, partial=True)
        yield _response(part, partial=False if stream else None)

    def _answer(self, request: LlmRequest) -> types.Part:
        newest = _newest_user(request.contents)
        parts = _parts(request.contents[newest]) if newest is not None else ()
        responses = [part.function_response for part in parts if part.function_response]
        if responses:
            texts = [templates.after_tool(response.response or {}) for response in responses]
            return types.Part(text="\n".join(dict.fromkeys(texts)))
        message = "\n".join(part.text for part in parts if part.text and not part.thought)
        past = self._past(request.contents[:newest] if newest is not None else ())
        return _as_part(intents.understand(message, past), _declared(request))

    def _past(self, contents: Sequence[types.Content]) -> Past:
        """Read the history block, or plain past messages where there is none."""
        texts = list(_user_texts(contents))
        for text in reversed(texts):
            window = self._window(text)
            if window is not None:
                return _past_of(window)
        areas = (said_area(text).value for text in reversed(texts))
        subjects = (intents.subject_of(text) for text in reversed(texts))
        return Past(
            area=next((area for area in areas if area), None),
            tool=next((tool for tool in subjects if tool in _SEARCHES.values()), None),
        )

    def _window(self, text: str) -> ContextWindow | None:
        if self.history_schema is None or not text:
            return None
        try:
            return parse(text, self.history_schema)
        except ContextError:  # an ordinary message, not a block
            return None


def _past_of(window: ContextWindow) -> Past:
    """Take the newest area and the newest goal that is a search; the ledger is the oldest."""
    newest_first = tuple(reversed(window.projections))
    slots = [projection.slots for projection in newest_first]
    areas = [known.get(_AREA_SLOT) for known in (*slots, window.ledger.slots)]
    topics = [*(projection.topic for projection in newest_first), window.ledger.goal or ""]
    return Past(
        area=next((area for area in areas if area), None),
        tool=next((_SEARCHES[topic] for topic in topics if topic in _SEARCHES), None),
    )


def _newest_user(contents: Sequence[types.Content]) -> int | None:
    """Return the place of the newest content of role user."""
    return next(
        (place for place in reversed(range(len(contents))) if contents[place].role == "user"), None
    )


def _parts(content: types.Content) -> Sequence[types.Part]:
    return content.parts or ()


def _user_texts(contents: Sequence[types.Content]) -> Iterator[str]:
    for content in contents:
        if content.role == "user":
            yield from (part.text for part in _parts(content) if part.text)


def _declared(request: LlmRequest) -> dict[str, frozenset[str] | None]:
    """Return the declared tools with their parameters' names, None where these are not given."""
    declared: dict[str, frozenset[str] | None] = {}
    for tool in request.config.tools or ():
        if not isinstance(tool, types.Tool):
            continue
        for function in tool.function_declarations or ():
            if function.name:
                declared[function.name] = _parameters(function)
    return declared


def _parameters(function: types.FunctionDeclaration) -> frozenset[str] | None:
    if function.parameters is not None and function.parameters.properties is not None:
        return frozenset(function.parameters.properties)
    schema = function.parameters_json_schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return frozenset(properties) if isinstance(properties, dict) else None


def _as_part(plan: Plan, declared: dict[str, frozenset[str] | None]) -> types.Part:
    """Return the call, or text where the request declares no such tool."""
    if plan.tool not in declared:
        plan = intents.Plan(intents.HELP, {"reason": plan.arguments.get("reason", "other")})
    if plan.tool not in declared:
        return types.Part(text=templates.show_help(plan.arguments["reason"]))
    known = declared[plan.tool]
    arguments = {
        name: value for name, value in plan.arguments.items() if known is None or name in known
    }
    return types.Part(function_call=types.FunctionCall(name=plan.tool, args=arguments))


def _response(part: types.Part, *, partial: bool | None) -> LlmResponse:
    return LlmResponse(
        content=types.Content(role="model", parts=[part]),
        partial=partial,
        finish_reason=None if partial else types.FinishReason.STOP,
        model_version=OFFLINE_MODEL,
    )
