"""What is done now and then: people who left long ago are erased, finished events forgotten."""

from __future__ import annotations

import logging
from collections.abc import Callable

from stores.inbox import PURGED_AT_ONCE, Inbox, InboxStore, State

logger = logging.getLogger("local_agent.line")


async def sweep(store: InboxStore, inbox: Inbox, *, clock: Callable[[], int]) -> None:
    """Erase who is due, drop what is kept no longer, and tell the operator what waits for them.

    Raises:
        StoreError: The store failed half-way; doing it again is safe.
    """
    for owner in await inbox.leavers(now_ms=clock()):
        erased = await store.erase_leaver(owner, now_ms=clock(), channel="line")
        if erased is None:  # they came back in the meantime
            logger.info("event=leaver_stayed")
        else:
            logger.info("event=leaver_erased complete=<%s>", erased.complete)
    dropped = last = await inbox.purge(now_ms=clock())
    while last == PURGED_AT_ONCE:
        last = await inbox.purge(now_ms=clock())
        dropped += last
    out = await store.sweep(inbox.tenant, now_ms=clock())
    counts = await inbox.counts()
    dead, held = counts.get(State.DEAD, 0), counts.get(State.HELD, 0)
    level = logging.WARNING if dead or held else logging.DEBUG
    logger.log(
        level, "event=swept purged=<%d> expired=<%d> dead=<%d> held=<%d>", dropped, out, dead, held
    )
