"""Firestore keeps the port's promises, on the real emulator."""

import itertools

import pytest

from stores.conformance.scenario import SIGNING_KEY, STORE_KEY
from stores.open import open_store
from stores.testing import ContextStoreConformance
from tests.support import firestore

_names = itertools.count()


@pytest.fixture(scope="module")
def emulator():
    """The emulator's host and port; skips by name where there is no emulator."""
    if firestore.jar() is None:
        pytest.skip(firestore.MISSING)
    with firestore.emulator() as host:
        yield host


class TestFirestore(ContextStoreConformance):
    """A namespace of its own for each test."""

    def open(self, url, signing_keys=(SIGNING_KEY,), store_keys=(STORE_KEY,)):
        return open_store(url, signing_keys=signing_keys, store_keys=store_keys)

    @pytest.fixture
    def store_url(self, emulator, monkeypatch):
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator)
        return f"firestore://project-of-tests/n{next(_names)}"
