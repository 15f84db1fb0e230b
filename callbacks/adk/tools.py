"""Tool calls: consent filled in where a tool runs, taken out again, what it settled noted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from callbacks.adk.injection import RECEIPT, Filled, Preference, clean_actions, fill, running, scrub
from callbacks.adk.internals import invocation_of, streams
from callbacks.adk.keeper import TurnKeeper, failed
from callbacks.adk.refusal import Refusal, RefusalText
from callbacks.adk.report import PrivateResult, ToolRecord
from callbacks.adk.toolgate import RunTool, arm, gate_tool, without_content
from callbacks.adk.tree import PreferenceInPrompt, ToolNotGated, asks_model
from callbacks.adk.turn import Turn
from callbacks.context.projecting import FieldProjector
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema
from stores.records import Preferences

Projector = Callable[[Mapping[str, Any], Mapping[str, Any]], Projection | None]
"""(proposed arguments, result) -> what the exchange leaves behind, or None."""

Projectors = Mapping[str, Projector | FieldProjector]
"""Tool name -> its projector: a function of yours, or `project_fields(...)`."""


class ToolCalls:
    """What happens around each running tool.

    A call is known by its own context object: models may give one id to two calls. Whether it may
    run is decided in a callback, while others can still answer in its place; all else happens in
    the tool itself, so that no callback, span or log of anybody's sees a value.
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
        self._filled = frozenset(tool for tool, _ in filled)
        self._sentence = sentence

    async def before(self, tool: BaseTool, tool_context: ToolContext) -> dict[str, Any] | None:
        """Let a tool run with what the person consented to; a result instead when refused.

        Nothing is filled in yet: other callbacks and a question for confirmation come after this,
        and see the arguments as the model gave them.
        """
        context = invocation_of(tool_context)
        try:
            turn = await self._keeper.open(context)
            if turn.root.refusal is not None:
                return turn.root.refusal.as_tool_result(self._sentence)
            remembered = await self._keeper.preferences(turn)
            self._gate(tool)
        except Exception as error:  # noqa: BLE001 - the store failed or moved on: the tool does not run
            turn = self._keeper.stateless(context)
            return turn.refuse(failed(error)).as_tool_result(self._sentence)
        arm(tool_context, tool, partial(self._run, _Call(turn, tool, remembered)))
        return None

    def _gate(self, tool: BaseTool) -> None:
        if tool.name in self._filled and asks_model(tool):
            raise PreferenceInPrompt([tool.name])
        guarded = tool.name in self._filled or tool.name in self._private
        if (guarded and streams(tool)) or not gate_tool(tool):
            raise ToolNotGated([tool.name])

    async def _run(
        self, call: _Call, run: RunTool, args: dict[str, Any], tool_context: ToolContext
    ) -> Any:
        """Run one call, innermost; what leaves holds nothing that was filled in."""
        turn, tool, name = call.turn, call.tool, call.tool.name
        filled = fill(self._preferences, call.remembered, name, args)
        turn.root.report.tool_calls.append(
            ToolRecord(
                tool=name,
                proposed_arguments=filled.proposed,
                effective_arguments=filled.effective,
                preference_origin=filled.origin,
                memory_revision=None if turn.owner is None else turn.revision,
            )
        )
        private = name in self._private
        self._keeper.enter_tool(turn)
        try:
            if private or filled.arguments:
                ran = await self._run_guarded(call, filled, private, run, tool_context)
            else:
                result = await run(args=args, tool_context=tool_context)
                ran = _Ran(result, result)
        finally:
            self._keeper.leave_tool(turn)
        if ran.failure is not None:
            return ran.failure.as_tool_result(self._sentence)
        try:
            await self._keeper.preferences(turn)
            if isinstance(ran.clean, Mapping):
                if not private:
                    # What was filled in is no ground: the person did not say it here.
                    self._keeper.returned(turn, name, ran.clean)
                projector = self._projectors.get(name)
                noted = projector(filled.proposed, ran.clean) if projector is not None else None
                if noted is not None:
                    self._keeper.note(turn, noted)
        except Exception as error:  # noqa: BLE001 - a result that may not be used does not leave
            return turn.refuse(failed(error)).as_tool_result(self._sentence)
        if not private or (tool.is_long_running and not ran.result):
            # Nothing from a long-running tool says that its answer comes later.
            return ran.clean
        report = turn.root.report
        report.private_results.append(PrivateResult(name, filled.effective, ran.result))
        return dict(RECEIPT)

    async def _run_guarded(
        self, call: _Call, filled: Filled, private: bool, run: RunTool, tool_context: ToolContext
    ) -> _Ran:
        """Run a call that holds private things, and clean all that it leaves."""
        turn = call.turn
        given, live = tool_context.actions, invocation_of(tool_context).session.state
        stopped: BaseException | None = None
        failure: Refusal | None = None
        result = clean = None
        try:
            if private:
                turn.private_state.enter(live)
        except Exception as error:  # noqa: BLE001 - what could not be put back is not let happen
            return _Ran(None, None, turn.refuse(failed(error)))
        try:
            with running(call.tool.name, filled):
                result = await run(args=filled.effective, tool_context=tool_context)
        except BaseException as error:  # noqa: BLE001 - whatever it is, its text and traceback hold values
            stopped, failure = without_content(error), Refusal("TOOL_FAILED")
        try:
            if failure is None:
                # Before its other writings are cleaned: a generator runs only now.
                clean = scrub(result, filled)
        except Exception as error:  # noqa: BLE001 - what cannot be made safe does not leave
            failure = turn.refuse(failed(error))
        except BaseException as error:  # noqa: BLE001 - as above
            stopped, failure = without_content(error), Refusal("TOOL_FAILED")
        try:
            if private:
                turn.private_state.leave(live)
            # A tool may have put other actions in their place; those are what is persisted.
            for actions in (given, tool_context.actions):
                clean_actions(actions, live, filled, private=private)
        except Exception as error:  # noqa: BLE001 - nothing it wrote may stay where that cannot be told
            for actions in (given, tool_context.actions):
                actions.state_delta.clear()
            live.clear()
            failure = turn.refuse(failed(error))
        if stopped is not None:
            # Outside of every `except`, so that it has no context.
            raise stopped
        return _Ran(result, clean, failure)


@dataclass(frozen=True)
class _Call:
    """A call that may run, with what the person consented to."""

    turn: Turn
    tool: BaseTool
    remembered: Preferences | None = field(repr=False)


@dataclass(frozen=True)
class _Ran:
    """What a call gave: as the tool gave it, without what was filled in, or a failure."""

    result: Any = field(repr=False)
    clean: Any = field(repr=False)
    failure: Refusal | None = None


def _bound(projector: Projector | FieldProjector, schema: ContextSchema) -> Projector:
    if not isinstance(projector, FieldProjector):
        return projector
    return lambda arguments, result: projector.project(schema, arguments, result)
