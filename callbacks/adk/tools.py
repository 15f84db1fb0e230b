"""Tool calls: consent filled in before, taken out after, what they settled noted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
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
    """What happens around each running tool.

    A call is known by its own context object: models may give one id to two calls.
    """

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
        self._guarded = self._private.union(*(p.fills for p in self._preferences))
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
        state = context.session.state if tool in self._private else None
        turn.running[id(tool_context)] = (tool_context, Running(filled, deepcopy(state)))
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
            # Fail closed: somebody else answered, or this call is not known, so nobody can say
            # what its result holds. Our own refusals and withheld errors come by here too.
            if tool in self._guarded and not self._is_ours(result):
                return Refusal("TOOL_FAILED").as_tool_result(self._sentence)
            return None
        try:
            await self._keeper.preferences(turn)
            clean = scrub(result, filled) if filled.arguments or tool in self._private else result
            if isinstance(clean, Mapping) and tool not in self._private:
                # What was filled in is no ground: the person did not say it here.
                self._keeper.returned(turn, tool, clean)
            projector = self._projectors.get(tool)
            if projector is not None and isinstance(clean, Mapping):
                noted = projector(filled.proposed, clean)
                if noted is not None:
                    self._keeper.note(turn, noted)
            if tool in self._private:
                turn.root.report.private_results.append(
                    PrivateResult(tool, filled.effective, result)
                )
                return dict(RECEIPT)
            return clean if filled.arguments else None
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

    def _is_ours(self, result: Any) -> bool:
        """Tell a result that this package gave instead of a tool's own."""
        code = result.get("error_code") if isinstance(result, Mapping) else None
        return isinstance(code, str) and result == Refusal(code).as_tool_result(self._sentence)

    def _leave(
        self, turn: Turn | None, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> Filled | None:
        self._keeper.leave_tool(turn)
        known = turn.running.pop(id(tool_context), None) if turn is not None else None
        if known is None:
            return None
        running = known[1]
        tool_args.clear()
        tool_args.update(running.filled.proposed)
        if running.filled.arguments or running.state is not None:
            running.leave(tool_context.actions, invocation_of(tool_context).session.state)
        return running.filled


def _bound(projector: Projector | FieldProjector, schema: ContextSchema) -> Projector:
    if not isinstance(projector, FieldProjector):
        return projector
    return lambda arguments, result: projector.project(schema, arguments, result)
