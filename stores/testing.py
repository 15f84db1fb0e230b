"""The behaviour every store shares, as a pytest class to subclass.

Example::

    class TestMyStore(ContextStoreConformance):
        @pytest.fixture
        def store_url(self, tmp_path):
            return f"sqlite+aiosqlite:///{tmp_path}/store.db"

A store that ``open_store`` does not know overrides ``open`` as well. ``store_url`` names an empty
store, a new one for each test; each test runs in event loops of its own and needs no plugin. Call
``pytest.register_assert_rewrite("stores.conformance")`` in a conftest for telling assertions.
"""

from __future__ import annotations

from stores.conformance.cards import CardSuite
from stores.conformance.forgetting import ForgettingSuite
from stores.conformance.generations import GenerationSuite
from stores.conformance.inbox import InboxSuite
from stores.conformance.inbox_days import InboxDaysSuite
from stores.conformance.inbox_people import InboxPeopleSuite
from stores.conformance.inbox_stuck import InboxStuckSuite
from stores.conformance.keeping import KeepingSuite
from stores.conformance.life import LifeSuite
from stores.conformance.owners import OwnerSuite
from stores.conformance.windows import WindowSuite


class ContextStoreConformance(
    WindowSuite, CardSuite, ForgettingSuite, KeepingSuite, OwnerSuite, LifeSuite
):
    """What a PersonalStore does, seen through its port alone."""


class GenerationStoreConformance(GenerationSuite):
    """What a PersonalStore does that keeps generations as well (``stores.generations``)."""


class InboxConformance(InboxSuite, InboxStuckSuite, InboxPeopleSuite, InboxDaysSuite):
    """What a store does that has inboxes as well (``stores.inbox.InboxStore``)."""


__all__ = ["ContextStoreConformance", "GenerationStoreConformance", "InboxConformance"]
