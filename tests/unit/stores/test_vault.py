"""The vault packs values into slots of one size and finds damage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.checks import VALUE_MAX_BYTES
from stores.errors import StoreUnavailable
from stores.records import Owner
from stores.sql import vault
from stores.sql.tables import OWNER_TAG_BYTES, SLOT_BYTES

SALT = bytes(range(16))
values = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60
).filter(lambda text: len(text.encode()) <= VALUE_MAX_BYTES)


@given(values, st.binary(min_size=16, max_size=16))
def test_every_slot_has_one_size(value, salt):
    """Any value fits a slot of the same size, so that to forget is to overwrite in place (8)."""
    body = vault.pack(salt, value)
    assert len(body) == SLOT_BYTES
    assert vault.unpack(body) == (salt, value)


def test_the_longest_value_fits():
    """The longest value a proposal takes fits a slot."""
    value = "v" * VALUE_MAX_BYTES
    assert vault.unpack(vault.pack(SALT, value)) == (SALT, value)


@pytest.mark.parametrize(
    "body",
    [
        None,
        b"",
        bytes(SLOT_BYTES),
        vault.pack(SALT, "tea")[:-1],
        vault.pack(SALT, "tea")[:-1] + b"x",
        SALT + b"\xff\xff" + bytes(SLOT_BYTES - 18),
        SALT + b"\x00\x02\xff\xfe" + bytes(SLOT_BYTES - 20),
        SALT + b"\x01\x00" + b"v" * (SLOT_BYTES - 18),
    ],
)
def test_damage_is_told(body):
    """A slot that is missing, empty, too long or no text is damage, not a value."""
    with pytest.raises(StoreUnavailable) as caught:
        vault.unpack(body)
    assert caught.value.numbers["reason"] == "damaged"


@given(st.data())
def test_owners_have_tags_of_their_own(data):
    """The tag tells tenants and people apart, also where their ids read the same joined (11)."""
    ids = st.text("ab", min_size=1, max_size=3)
    first = Owner(tenant=data.draw(ids), person=data.draw(ids))
    second = Owner(tenant=data.draw(ids), person=data.draw(ids))
    assert (vault.tag_of(first) == vault.tag_of(second)) == (first == second)
    assert len(vault.tag_of(first)) == OWNER_TAG_BYTES
