"""An answer on its way out: what is noted of it, and the last look at the consent before it leaves.

Each request is marked before it is made. A request that may be out is never followed by another
answer; one that is certainly not (its token was turned down) is as if it had never been marked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from local_agent.line.plan import MOST_MESSAGES, Plan
from stores.errors import PreferenceChanged
from stores.inbox import Claim, HeldPlan, Inbox
from stores.ports import ContextStore
from stores.records import Owner

_ANY_LENGTH: Final = range(1, MOST_MESSAGES + 1)


@dataclass
class Departure:
    """How far the answer to a claimed event has got.

    Attributes:
        inbox: Where it is noted.
        store: Asked for the person's revision.
        clock: Milliseconds since the epoch.
        claim: The event.
        plan: The answer that is about to leave.
        marked: It may be out.
        key: The retry key under which it was marked; None is a reply.
        with_held: Ids of held answers that may be out together with it.
    """

    inbox: Inbox
    store: ContextStore
    clock: Callable[[], int]
    claim: Claim
    plan: Plan | None = None
    marked: bool = False
    key: str | None = None
    with_held: tuple[str, ...] = ()
    _looked: bool = field(default=False, repr=False)

    @property
    def repeatable(self) -> bool:
        """Whether it may leave again: a push under its key, of a plan that was kept."""
        return self.key is not None and self.plan is not None and not self.plan.personal

    def settled(self, retry_key: str | None) -> None:
        """Note that the transaction that wrote the journal marked it, and looked as well."""
        self.marked, self.key, self._looked = True, retry_key, True

    async def mark(self, retry_key: str | None, riding: tuple[str, ...] = ()) -> None:
        """Note durably that a request is about to leave; then look at the consent.

        Args:
            retry_key: Of the request; another one than before says that what was marked before is
                not out.
            riding: Event ids of held answers that leave with it.

        Raises:
            PreferenceChanged: The answer was made under another revision; it may not leave.
            StoreError: It could not be noted, or looked at.
        """
        if not self.marked or self.key != retry_key:
            self.marked = self._looked = False
            await self.inbox.sending(self.claim, retry_key=retry_key, now_ms=self.clock())
        if not self._looked:
            await self._look()
        self._looked = False  # another request under the same mark is another moment
        self.marked, self.key, self.with_held = True, retry_key, riding

    async def _look(self) -> None:
        plan, person = self.plan, self.claim.person
        if plan is None or plan.revision is None:
            return
        if plan.revision != await revision_of(self.store, self.inbox.tenant, person, self.clock()):
            raise PreferenceChanged


async def revision_of(
    store: ContextStore, tenant: str, person: str | None, now_ms: int
) -> int | None:
    """Return a person's revision as it is now; None for nobody."""
    if person is None:
        return None
    return (await store.snapshot(Owner(tenant=tenant, person=person), now_ms=now_ms)).revision


def riders(held: tuple[HeldPlan, ...], messages: int) -> tuple[HeldPlan, ...]:
    """Return which held answers find room in a reply that has so many messages of its own."""
    riding: list[HeldPlan] = []
    for one in held:
        earlier = messages_of(one)
        if earlier is not None and messages + len(earlier) <= MOST_MESSAGES:
            riding.append(one)
            messages += len(earlier)
    return tuple(riding)


def messages_of(held: HeldPlan) -> tuple[dict[str, object], ...] | None:
    """Return a held answer's messages; None for one that another version wrote."""
    try:
        return Plan.model_validate_json(held.plan).messages
    except ValidationError:
        return None


def may_have_ridden(claim: Claim) -> tuple[str, ...]:
    """Return ids of held answers that may be out with what a lost worker was sending.

    A push takes none along. Of an answer that was not kept the number of messages is not known, and
    one that was kept may have been replaced by a sentence.
    """
    if claim.retry_key is not None:
        return ()
    lengths = list(_ANY_LENGTH)
    if claim.plan is not None:
        kept = messages_of(HeldPlan(event_id=claim.event_id, plan=claim.plan))
        lengths = lengths if kept is None else [1, len(kept)]
    ids = {one.event_id for length in lengths for one in riders(claim.held, length)}
    return tuple(one.event_id for one in claim.held if one.event_id in ids)
