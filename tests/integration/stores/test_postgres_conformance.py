"""PostgreSQL keeps the port's promises, used by a role that row-level security holds."""

import pytest

from stores.conformance.scenario import SIGNING_KEY, STORE_KEY
from stores.open import open_store
from stores.testing import ContextStoreConformance, GenerationStoreConformance, InboxConformance


class TestPostgres(ContextStoreConformance, GenerationStoreConformance, InboxConformance):
    """A real server; without waiting for the disk, which changes nothing but speed."""

    def open(self, url, signing_keys=(SIGNING_KEY,), store_keys=(STORE_KEY,)):
        return open_store(url, signing_keys=signing_keys, store_keys=store_keys, synchronous="OFF")

    @pytest.fixture
    def store_url(self, database):
        return database.url
