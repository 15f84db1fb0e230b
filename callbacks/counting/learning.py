"""Asks the probes of a model."""

import asyncio

from google.genai import types

from callbacks.context.errors import ContextError, CounterFailed
from callbacks.counting import probes
from callbacks.counting.costs import Costs, learn
from callbacks.counting.request import CountRequest
from callbacks.counting.verdict import AskingCounter

AT_ONCE = 4
"""Probes asked at the same time."""

_UNDER_TREES = ("call/", "response/", "exchange", "text/control")
"""Probes that a service may decline (HTTP 400); what depends on them is then asked."""


async def learn_costs(counter: AskingCounter, model: str) -> Costs | None:
    """Return what a model's requests cost; None where nothing may be proven.

    Raises:
        CounterFailed: The service did not answer; nothing is concluded from that.
        InvalidCount: It answered with something that is no count.
    """
    config = types.GenerateContentConfig()
    plan = probes.plan()
    bare = CountRequest(model, config, ())
    gate = asyncio.Semaphore(AT_ONCE)
    counts: dict[str, int] = {}

    async def ask(name: str) -> None:
        async with gate:
            try:
                counts[name] = await counter.count(bare.with_contents(plan[name]))
            except CounterFailed as error:
                declined = error.numbers.get("cause") == "http_400"
                if not declined or not name.startswith(_UNDER_TREES):
                    raise

    failures: list[BaseException] = []
    try:
        async with asyncio.TaskGroup() as group:
            for name in plan:
                group.create_task(ask(name))
    except* ContextError as group_error:
        failures.extend(group_error.exceptions)
    if failures:
        raise failures[0]  # the others say the same
    return learn(counts)
