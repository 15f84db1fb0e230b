"""Errors of a store: one sentence for a person, a code and numbers for a program.

The sentence never holds a value, a key, a path or an id of anybody: what a program needs
stands beside it, in ``numbers``.
"""

from __future__ import annotations

from typing import ClassVar


class StoreError(Exception):
    """Base of everything a store raises.

    Attributes:
        error_code: Stable code of the condition; one code a class.
        numbers: Machine-readable details (counts, reasons, field names), never content.
    """

    error_code: ClassVar[str] = "STORE_ERROR"
    sentence: ClassVar[str] = "The store refused this."

    def __init__(self, sentence: str | None = None, /, **numbers: int | str) -> None:
        """Build the error with its own sentence, or with the one of its class."""
        super().__init__(sentence or self.sentence)
        self.numbers: dict[str, int | str] = numbers
        self.add_note(f"error_code: {self.error_code}")  # a traceback prints it, `str` does not


class StoreUnavailable(StoreError):
    """The store cannot be reached or written now; ``numbers["reason"]`` says why.

    Reasons: ``locked``, ``read_only``, ``not_a_database``, ``missing_folder``, ``cannot_open``,
    ``full``, ``disk``, ``damaged``, ``closed``, ``forked``, ``failed``; of a server also
    ``unreachable``, ``lost``, ``not_admitted``, ``not_allowed``, ``busy``, ``driver_missing``,
    ``other_loop``.
    """

    error_code = "STORE_UNAVAILABLE"
    sentence = "The store cannot be used at the moment."


class SchemaTooNew(StoreError):
    """The database was written by a newer version of this package; nothing was changed in it."""

    error_code = "STORE_SCHEMA_TOO_NEW"
    sentence = "The store was written by a newer version of this program; update it to open it."


class PreferenceChanged(StoreError):
    """The person's consent changed after this work began; it must not be kept (invariant 7)."""

    error_code = "PREFERENCE_CHANGED"
    sentence = "The person's preferences changed while this was being worked on."


class ConversationChanged(StoreError):
    """Somebody else moved the conversation on first (compare and swap by generation)."""

    error_code = "CONVERSATION_CHANGED"
    sentence = "The conversation was changed by another turn in the meantime."


class SigningKeyMissing(StoreError):
    """Consent cards need a signing key, and this store was opened without one."""

    error_code = "SIGNING_KEY_MISSING"
    sentence = "Consent cards need a signing key; open the store with one."


class StoreKeyMissing(StoreError):
    """A value cannot be sealed or opened, as the key ring is empty or lacks the key it needs."""

    error_code = "STORE_KEY_MISSING"
    sentence = "Remembered values need the store key they were sealed with; open the store with it."


class InvalidInput(StoreError):
    """An argument has the wrong type, is blank or too long; ``numbers["field"]`` names it."""

    error_code = "INVALID_STORE_INPUT"
    sentence = "The store refuses an argument that is blank, too long or of the wrong type."


class UnsupportedStoreUrl(StoreError):
    """The URL names no backend that this package has."""

    error_code = "UNSUPPORTED_STORE_URL"
    sentence = (
        "A store's URL looks like sqlite+aiosqlite:///file.db, "
        "postgresql+asyncpg://user@host/database or firestore://project/namespace."
    )
