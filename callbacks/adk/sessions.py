"""How a channel runs turns on a persistent session: little loaded, one at a time, answers sorted.

ADK's Runner does three things before any plugin is asked, so no plugin can mend them: it loads
the whole session, it raises where a message answers calls of two turns, and it raises where a
message answers a call that is not there. And nothing keeps two runs of one chat apart. This is the
thin layer between a channel and the Runner that does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from weakref import WeakValueDictionary

from google.adk.agents.run_config import RunConfig
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

from callbacks.adk.exchanges import call_key
from callbacks.adk.refusal import Refusal, RefusalText, english

logger = logging.getLogger("local_agent.context")


def bounded_run_config(
    message: types.Content, run_config: RunConfig | None = None, *, recent_events: int = 0
) -> RunConfig:
    """Return a run's settings that load no more of the session than the turn needs.

    The plugin takes the past out of every request, so what was loaded for nothing costs time
    alone: with 0 events a turn of a session of 5,000 events took 30 ms instead of 1,795. A message
    that answers a call (a confirmation, a long-running result) needs that call, wherever it
    stands: then everything is loaded.

    Args:
        message: What is about to be run.
        run_config: The channel's own settings; a loading rule in them is replaced.
        recent_events: How many of the newest events an ordinary turn loads; an agent that was
            transferred to is found again only among these.

    Raises:
        ValueError: `recent_events` is negative.
    """
    load = None if _answers(message) else GetSessionConfig(num_recent_events=recent_events)
    return (run_config or RunConfig()).model_copy(update={"get_session_config": load})


def sorted_answers(
    events: Sequence[Event], message: types.Content
) -> tuple[list[types.Content], int]:
    """Split a message into those that the Runner can resume with, oldest turn first.

    Args:
        events: The session's events.
        message: What came in; one without answers is returned as it is.

    Returns:
        A message for each turn that is answered, holding for each call the newest answer, and one
        with whatever else was said; and how many answers belong to no call of this session.
    """
    turn_of = {
        call_key(call): event.invocation_id
        for event in events
        for call in event.get_function_calls()
    }
    by_turn: dict[str, dict[object, types.Part]] = {turn: {} for turn in turn_of.values()}
    rest: list[types.Part] = []
    unknown = 0
    for part in message.parts or []:
        if part.function_response is None:
            rest.append(part)
            continue
        key = call_key(part.function_response)
        turn = turn_of.get(key)
        if turn is None or part.function_response.id is None:
            unknown += 1
        else:
            by_turn[turn][key] = part
    messages = [[*answers.values()] for answers in by_turn.values() if answers]
    if rest:
        messages.append(rest)
    return [types.Content(role="user", parts=parts) for parts in messages], unknown


class SessionTurns:
    """Runs the turns of persistent sessions, those of one session one after the other.

    In one process. Between processes the journal's generation refuses the slower of two turns
    (`CONVERSATION_CHANGED`); a channel with several workers keeps a chat in order itself.
    """

    def __init__(
        self, runner: Runner, *, recent_events: int = 0, refusal_text: RefusalText = english
    ) -> None:
        """Run on `runner`.

        Args:
            runner: ADK's runner, with this package's plugin in its app.
            recent_events: How many of the newest events an ordinary turn loads.
            refusal_text: Code -> the sentence a person reads.
        """
        self._runner = runner
        self._recent_events = recent_events
        self._sentence = refusal_text
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def run(
        self,
        *,
        user_id: str,
        session_id: str,
        message: types.Content,
        run_config: RunConfig | None = None,
    ) -> AsyncIterator[Event]:
        """Run one message and give out its events.

        A message that answers calls of several turns is run once for each of them. Answers whose
        call is not there any more are not run: if nothing else is left, a refusal with
        `ANSWER_WITHOUT_CALL` is given out instead.

        Raises:
            ValueError: What the Runner itself raises (no such session).
        """
        key = (user_id, session_id)
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            messages, unknown = [message], 0
            if _answers(message):
                messages, unknown = sorted_answers(await self._events(*key), message)
            if unknown:
                logger.warning("event=answers_without_call dropped=%d", unknown)
            if not messages:
                yield self._expired(unknown)
            for one in messages:
                config = bounded_run_config(one, run_config, recent_events=self._recent_events)
                async with aclosing(
                    self._runner.run_async(
                        user_id=user_id, session_id=session_id, new_message=one, run_config=config
                    )
                ) as events:
                    async for event in events:
                        yield event

    async def _events(self, user_id: str, session_id: str) -> list[Event]:
        session = await self._runner.session_service.get_session(
            app_name=self._runner.app_name, user_id=user_id, session_id=session_id
        )
        return session.events if session is not None else []

    def _expired(self, answers: int) -> Event:
        refusal = Refusal("ANSWER_WITHOUT_CALL", {"answers": answers})
        response = refusal.as_llm_response(self._sentence)
        return Event(
            author="model",
            content=response.content,
            error_code=response.error_code,
            error_message=response.error_message,
            custom_metadata=response.custom_metadata,
        )


def _answers(message: types.Content) -> bool:
    return any(part.function_response is not None for part in message.parts or [])
