"""The port of what a person may ask about themselves, and what an operator does for them."""

from __future__ import annotations

from typing import Protocol

from stores.ledger import Inspection, KeyRotation
from stores.ports import ContextStore
from stores.records import DIRECT, ForgetResult, Owner


class PersonalStore(ContextStore, Protocol):
    """A ContextStore that also shows, erases and looks after what it holds."""

    async def inspect(self, owner: Owner, *, now_ms: int) -> Inspection:
        """Read everything that is held of a person, the ledger included, in one transaction."""

    async def erase(
        self, owner: Owner, *, now_ms: int, keep_ledger: bool = False, channel: str = DIRECT
    ) -> ForgetResult:
        """Take a person out: values, cards, window and, unless the policy keeps it, the ledger.

        What stays is a tombstone without content (revision, generation, time), so that a writer
        who began before cannot bring anything back.
        """

    async def sweep(self, tenant: str, *, now_ms: int) -> int:
        """Take away what ran out in a tenant, whoever's it is; return of how many people.

        Writes do a little of it on their way; this is for a clock. At most 100 people a call.
        """

    async def rotate_keys(self, tenant: str) -> KeyRotation:
        """Wrap each data key of a tenant by the newest key of the ring.

        Afterwards older ring keys can be destroyed, and with them what backups still hold.
        """
