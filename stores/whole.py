"""The port of everything that a store of this package does."""

from __future__ import annotations

from typing import Protocol

from stores.generations import GenerationStore
from stores.inbox import InboxStore


class WholeStore(InboxStore, GenerationStore, Protocol):
    """Windows, consent, inboxes and records of generations: what ``open_store`` returns."""
