"""SQLite, in a file and in memory, keeps the port's promises."""

import pytest

from stores.conformance.scenario import SIGNING_KEY, STORE_KEY
from stores.open import open_store
from stores.testing import ContextStoreConformance, GenerationStoreConformance, InboxConformance


class TestSqliteFile(ContextStoreConformance, GenerationStoreConformance, InboxConformance):
    """A store in a file; without waiting for the disk, which changes nothing but speed."""

    def open(self, url, signing_keys=(SIGNING_KEY,), store_keys=(STORE_KEY,)):
        return open_store(url, signing_keys=signing_keys, store_keys=store_keys, synchronous="OFF")

    @pytest.fixture
    def store_url(self, tmp_path):
        return f"sqlite+aiosqlite:///{tmp_path}/store.db"
