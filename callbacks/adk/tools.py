"""Tool calls: consent filled in before, taken out after, what they settled noted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from google.adk.tools.tool_context import ToolContext

from callbacks.adk.injection import RECEIPT, Filled, Preference, Running, fill, scrub
from callbacks.adk.internals import invocation_of
from callbacks.adk.keeper import TurnKeeper, failed
from callbacks.adk.refusal import Refusal, RefusalText
from callbacks.adk.report import PrivateResult, ToolRecord
from callbacks.adk.turn import Turn
from callbacks.context.projecting import FieldProjector
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema

Projector = Callable[[Mapping[str, Any], Mapping[str, Any]], Projection | None]
"""(proposed arguments, result) -> what the exchange leaves behind, or None."""

Projectors = Mapping[str, Projector | FieldProjector]
"""Tool name -> its projector: a function of yours, or `project_fields(...)`."""


class ToolCalls:
    """What happens around each running tool. All state of a call is keyed by its call id."""

    def __init__(
        self,
        *,
        keeper: TurnKeeper,
        preferences: Sequence[Preference],
        projectors: Projectors,
        schema: ContextSchema,
        private_results: Collection[str],
        sentence: RefusalText,
    ) -> None:
        """Stand around tools; see ContextBudgetPlugin for the arguments.

        Raises:
            ValueError: Two preferences fill one argument of a tool.
        """
        filled = [pair for p in preferences for pair in p.fills.items()]
        if len(filled) != len(set(filled)):
            raise ValueError("Two preferences must not fill the same argument of a tool.")
        self._keeper = keeper
        self._preferences = tuple(preferences)
        self._projectors = {
            tool: _bound(projector, schema) for tool, projector in projectors.items()
        }
        self._private = frozenset(private_results)
        self._sentence = sentence

    async def before(
        self, tool: str, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Fill in what the person consented to; a result instead of the tool when refused."""
        context = invocation_of(tool_context)
        try:
            turn = await self._keeper.open(context)
            if turn.root.refusal is not None:
                return turn.root.refusal.as_tool_result(self._sentence)
            remembered = await self._keeper.preferences(turn)
        except Exception as error:  # noqa: BLE001 - the store failed or moved on: the tool does not run
            turn = self._keeper.stateless(context)
            return turn.refuse(failed(error)).as_tool_result(self._sentence)
        filled = fill(self._preferences, remembered, tool, tool_args)
        turn.running[_call_id(tool_context)] = Running(
            filled, dict(context.session.state) if tool in self._private else None
        )
        turn.root.report.tool_calls.append(
            ToolRecord(
                tool=tool,
                proposed_arguments=filled.proposed,
                effective_arguments=filled.effective,
                preference_origin=filled.origin,
                memory_revision=None if turn.owner is None else turn.revision,
            )
        )
        tool_args.update(filled.effective)
        self._keeper.enter_tool(turn)
        return None

    async def after(
        self, tool: str, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> Any:
        """Take the filled values out again, check the revision, note the projection."""
        turn = self._keeper.find(invocation_of(tool_context))
        filled = self._leave(turn, tool_args, tool_context)
        if turn is None or filled is None:
            return None
        try:
            await self._keeper.preferences(turn)
            if isinstance(result, Mapping) and tool not in self._private:
                # What was filled in is no ground: the person did not say it here.
                self._keeper.returned(turn, tool, scrub(result, filled))
            projector = self._projectors.get(tool)
            if projector is not None and isinstance(result, Mapping):
                noted = projector(filled.proposed, result)
                if noted is not None:
                    self._keeper.note(turn, noted)
            if tool in self._private:
                turn.root.report.private_results.append(
                    PrivateResult(tool, filled.effective, result)
                )
                return dict(RECEIPT)
            return scrub(result, filled) if filled.arguments else None
        except Exception as error:  # noqa: BLE001 - a result that could not be made safe does not leave
            return turn.refuse(failed(error)).as_tool_result(self._sentence)

    def on_error(
        self, tool: str, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Take the values out; where one was filled in, withhold the error's text too."""
        turn = self._keeper.find(invocation_of(tool_context))
        filled = self._leave(turn, tool_args, tool_context)
        if filled is None or not (filled.arguments or tool in self._private):
            return None
        return Refusal("TOOL_FAILED").as_tool_result(self._sentence)

    def _leave(
        self, turn: Turn | None, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> Filled | None:
        self._keeper.leave_tool(turn)
        running = turn.running.pop(_call_id(tool_context), None) if turn is not None else None
        if running is None:
            return None
        tool_args.clear()
        tool_args.update(running.filled.proposed)
        if running.filled.arguments or running.state is not None:
            session = invocation_of(tool_context).session
            running.leave(tool_context.actions.state_delta, session.state)
        return running.filled


def _bound(projector: Projector | FieldProjector, schema: ContextSchema) -> Projector:
    if not isinstance(projector, FieldProjector):
        return projector
    return lambda arguments, result: projector.project(schema, arguments, result)


def _call_id(tool_context: ToolContext) -> str:
    return tool_context.function_call_id or ""
