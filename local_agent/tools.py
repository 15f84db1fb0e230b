"""LOCAL's tools: what the model may ask for. None of them grants, changes or withdraws consent.

Results go to fixed templates, not back through the model: the service renders them after
`skip_summarization`; on surfaces that show a session as it is, `say_results` answers for the model.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from local_agent.catalog import Catalog
from local_agent.context import DIETARY_KEY
from local_agent.diets import ANY, canonical_diet
from local_agent.presenting import present
from local_agent.search import QueryError, search_events, search_places
from local_agent.templates import PURPOSE
from stores.errors import StoreError
from stores.ports import ContextStore
from stores.records import DIRECT, CardAction, Owner, Proposal

OwnerOf = Callable[[ReadonlyContext], Owner | None]
Told = Callable[[ReadonlyContext], int | None]

NOT_REMEMBERED = "NOT_REMEMBERED"
"""Nothing can be remembered here: no person is known, or the surface has no consent button."""


class LocalTools:
    """The tools of one LOCAL, bound to its catalogue and store."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        store: ContextStore | None,
        owner: OwnerOf,
        clock: Callable[[], int],
        zone: tzinfo,
        rendered: bool = False,
        revision: Told = lambda _: None,
        said_at: Told = lambda _: None,
        channel: Callable[[ToolContext], str] = lambda _: DIRECT,
    ) -> None:
        """Bind the tools.

        Args:
            catalog: What is searched.
            store: Where consent cards are made; None where no card can be shown.
            owner: Whose call it is.
            clock: Milliseconds since the epoch.
            zone: Where "today" is.
            rendered: Add the words for a person to each result, for surfaces that show a session
                as it is (`adk web`); `say_results` then says them.
            revision: The consent revision that a call's turn began with; a card of an older one
                is refused by the store.
            said_at: When a call's message was written, in milliseconds since the epoch.
            channel: Where it came from, for the consent ledger.
        """
        self._catalog = catalog
        self._store = store
        self._owner = owner
        self._clock = clock
        self._zone = zone
        self._rendered = rendered
        self._revision = revision
        self._said_at = said_at
        self._channel = channel

    def all(self) -> list[Callable[..., Any]]:
        """Return the tools in the order in which the model sees them."""
        return [
            self.search_local_places,
            self.search_local_events,
            self.propose_dietary_memory,
            self.request_memory_management,
            self.show_local_help,
        ]

    def search_local_places(
        self, area: str, dietary_type: str, keyword: str, tool_context: ToolContext
    ) -> dict[str, Any]:
        """查詢彰化縣的餐飲店家。

        Args:
            area: 鄉鎮市正式名稱，例如花壇鄉；沒說就留空。
            dietary_type: vegetarian、vegan、lacto、ovo_lacto、allium、friendly 或 any；
                這句話沒說就留空。
            keyword: 店名或特色；沒說就留空。
        """
        tool_context.actions.skip_summarization = not self._rendered
        try:
            found = search_places(self._catalog, area=area, diet=dietary_type, keyword=keyword)
        except QueryError as error:
            return self._shown("search_local_places", {"error_code": error.error_code})
        return self._shown("search_local_places", found.model_dump(mode="json"))

    def search_local_events(
        self, date: str, area: str, keyword: str, tool_context: ToolContext
    ) -> dict[str, Any]:
        """查詢彰化縣的活動、表演與市集。

        Args:
            date: 這句話說的日期，例如 2026-10-10、明天、週末；沒說就留空。
            area: 鄉鎮市正式名稱，例如花壇鄉；沒說就留空。
            keyword: 活動名稱或種類；沒說就留空。
        """
        tool_context.actions.skip_summarization = not self._rendered
        today = datetime.fromtimestamp(self._clock() / 1000, tz=UTC).astimezone(self._zone).date()
        try:
            found = search_events(self._catalog, today=today, area=area, day=date, keyword=keyword)
        except QueryError as error:
            return self._shown("search_local_events", {"error_code": error.error_code})
        return self._shown("search_local_events", found.model_dump(mode="json"))

    async def propose_dietary_memory(
        self, dietary_type: str, tool_context: ToolContext
    ) -> dict[str, Any]:
        """本人這句話明白要求記住飲食習慣時，提出同意卡；按下同意才會記住。

        Args:
            dietary_type: vegetarian、vegan、lacto、ovo_lacto、allium 或 friendly。
        """
        tool_context.actions.skip_summarization = not self._rendered
        value = canonical_diet(dietary_type)
        if value is None or value == ANY:
            return self._shown("propose_dietary_memory", {"error_code": "UNKNOWN_DIET"})
        card = await self._card(tool_context, CardAction.REMEMBER, value)
        return self._shown("propose_dietary_memory", card)

    async def request_memory_management(
        self, action: str, dietary_type: str, tool_context: ToolContext
    ) -> dict[str, Any]:
        """查看、更改或忘記已同意記住的飲食偏好。

        Args:
            action: inspect（查看）、change（更改）或 forget（忘記）。
            dietary_type: 只在 change 時填新的飲食習慣；其他留空。
        """
        tool_context.actions.skip_summarization = not self._rendered
        if action == "change":
            return await self.propose_dietary_memory(dietary_type, tool_context)
        if action == "inspect":
            result = await self._inspect(tool_context)
        elif action == "forget":
            result = await self._card(tool_context, CardAction.FORGET, None)
        else:
            result = {"error_code": "UNKNOWN_ACTION"}
        return self._shown("request_memory_management", result)

    def show_local_help(self, reason: str, tool_context: ToolContext) -> dict[str, Any]:
        """說明可用的功能，或這裡查不到的事。

        Args:
            reason: parking、bus、toilet、outside_county、which_area 或 other。
        """
        tool_context.actions.skip_summarization = not self._rendered
        return self._shown("show_local_help", {"reason": reason})

    def _shown(self, tool: str, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "text": present(tool, result).text} if self._rendered else result

    async def _inspect(self, tool_context: ToolContext) -> dict[str, Any]:
        owner = self._owner(tool_context)
        if owner is None or self._store is None:
            return {"error_code": NOT_REMEMBERED}
        try:
            held = await self._store.preferences(owner, now_ms=self._clock())
        except StoreError as error:
            return {"error_code": error.error_code}
        known = held.values.get(DIETARY_KEY)
        return {"remembered": known.value if known is not None else None}

    async def _card(
        self, tool_context: ToolContext, action: CardAction, value: str | None
    ) -> dict[str, Any]:
        owner = self._owner(tool_context)
        if owner is None or self._store is None:
            return {"error_code": NOT_REMEMBERED}
        try:
            card = await self._store.propose(
                owner,
                Proposal(
                    key=DIETARY_KEY,
                    value=value,
                    purpose=PURPOSE,
                    action=action,
                    said_at_ms=self._said_at(tool_context),
                ),
                now_ms=self._clock(),
                expected_revision=self._revision(tool_context),
                channel=self._channel(tool_context),
            )
        except StoreError as error:
            return {"error_code": error.error_code}
        return {"card": card.model_dump_json(), "value": value}


def say_results(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
    """Say the words of the newest results instead of asking the model for some.

    An agent's `before_model_callback`, for surfaces that show a session as it is.
    """
    newest = llm_request.contents[-1] if llm_request.contents else None
    responses = [part.function_response for part in (newest.parts if newest else None) or []]
    texts = [str((r.response or {}).get("text", "")) for r in responses if r is not None]
    if not any(texts):
        return None
    text = "\n\n".join(text for text in texts if text)
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))
