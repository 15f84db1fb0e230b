"""Sealed values open for their person, preference and keys alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.checks import VALUE_MAX_BYTES
from stores.errors import InvalidInput, StoreKeyMissing, StoreUnavailable
from stores.records import Owner
from stores.sealing import SEALED_BYTES, KeyRing, open_sealed

ANN = Owner(tenant="town", person="ann")
SALT = bytes(range(16))
OLD, NEW = b"o" * 32, b"n" * 32
values = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60
).filter(lambda text: len(text.encode()) <= VALUE_MAX_BYTES)
names = st.text("ab", min_size=1, max_size=3)


@given(values, st.binary(min_size=16, max_size=16))
def test_everything_sealed_has_one_size(value, salt):
    """Any value and any data key are sealed to one size, so they are overwritten in place (8)."""
    ring = KeyRing([OLD])
    data_key = ring.new_data_key()
    body, wrapped = ring.seal(data_key, ANN, "drink", salt, value), ring.wrap(ANN, data_key)
    assert (len(body), len(wrapped)) == (SEALED_BYTES, SEALED_BYTES)
    assert value.encode() not in body + wrapped or len(value.encode()) < 4
    assert open_sealed(ring.unwrap(ANN, wrapped), ANN, "drink", body) == (salt, value)


@given(st.data())
def test_it_opens_for_nobody_else(data):
    """Another tenant, person, preference or data key opens nothing (11)."""
    draw = data.draw
    ring = KeyRing([OLD])
    owner, other = (Owner(tenant=draw(names), person=draw(names)) for _ in range(2))
    key, another = draw(names), draw(names)
    data_key = ring.new_data_key()
    body, wrapped = ring.seal(data_key, owner, key, SALT, "tea"), ring.wrap(owner, data_key)
    if (owner, key) != (other, another):
        with pytest.raises(StoreUnavailable):
            open_sealed(data_key, other, another, body)
    if owner != other:
        with pytest.raises(StoreUnavailable):
            ring.unwrap(other, wrapped)
    with pytest.raises(StoreUnavailable):
        open_sealed(ring.new_data_key(), owner, key, body)


@given(st.integers(0, SEALED_BYTES - 1), st.integers(1, 255))
def test_no_bit_can_be_changed(at, flip):
    """Whatever byte is changed, what was sealed does not open any more (7)."""
    ring = KeyRing([OLD])
    data_key = ring.new_data_key()

    def changed(body):
        return body[:at] + bytes([body[at] ^ flip]) + body[at + 1 :]

    with pytest.raises(StoreUnavailable):
        open_sealed(data_key, ANN, "drink", changed(ring.seal(data_key, ANN, "drink", SALT, "tea")))
    with pytest.raises((StoreUnavailable, StoreKeyMissing)):
        ring.unwrap(ANN, changed(ring.wrap(ANN, data_key)))


@pytest.mark.parametrize("body", [b"", b"short", bytes(SEALED_BYTES)])
def test_damage_is_told(body):
    """What is no sealed thing at all is damage, not a value."""
    with pytest.raises(StoreUnavailable) as caught:
        open_sealed(OLD, ANN, "drink", body)
    assert caught.value.numbers["reason"] == "damaged"
    assert caught.value.__context__ is None


def test_the_ring_rotates():
    """The newest key wraps, every key of the ring unwraps, and one that left opens nothing."""
    old, both, new = KeyRing([OLD]), KeyRing([NEW, OLD]), KeyRing([NEW])
    data_key = old.new_data_key()
    before, after = old.wrap(ANN, data_key), both.wrap(ANN, data_key)
    assert both.newest == new.newest != old.newest
    assert both.unwrap(ANN, before) == both.unwrap(ANN, after) == new.unwrap(ANN, after) == data_key
    for ring, wrapped in ((new, before), (old, after)):
        with pytest.raises(StoreKeyMissing) as caught:
            ring.unwrap(ANN, wrapped)
        assert caught.value.error_code == "STORE_KEY_MISSING"


def test_an_empty_ring_seals_nothing():
    """Without a key there is nothing to seal with, and a code says so."""
    assert not KeyRing()
    with pytest.raises(StoreKeyMissing):
        KeyRing().wrap(ANN, OLD)


@pytest.mark.parametrize(
    "keys", [[b"short"], ["text of more than thirty-two characters"], b"x" * 40]
)
def test_a_bad_key_is_refused(keys):
    """A ring key is bytes of a certain length; the error says which, and does not quote it."""
    with pytest.raises(InvalidInput, match="at least 32 bytes") as caught:
        KeyRing(keys)
    assert caught.value.numbers == {"field": "store_keys", "least_bytes": 32}


@given(raw=st.binary(max_size=2_000))
def test_what_passes_comes_back_byte_for_byte(raw):
    """What is kept for a while opens as it was, in steps of 256 bytes, for what it is bound to."""
    ring = KeyRing([OLD])
    sealed = ring.seal_passing(b"event 1", raw)
    assert ring.open_passing(b"event 1", sealed) == raw
    assert len(sealed) % 256 == len(ring.seal_passing(b"", b"")) % 256
    with pytest.raises(StoreUnavailable):
        ring.open_passing(b"event 2", sealed)
    with pytest.raises(StoreUnavailable):
        ring.open_passing(b"event 1", sealed[:-1] + bytes([sealed[-1] ^ 1]))


def test_what_passes_needs_its_key():
    """Another ring says that it lacks the key; a newer key in front still opens, and is told."""
    sealed = KeyRing([OLD]).seal_passing(b"event", b"raw")
    both = KeyRing([NEW, OLD])
    assert both.open_passing(b"event", sealed) == b"raw"
    assert (both.is_newest(sealed), both.has_key_of(sealed)) == (False, True)
    assert KeyRing([OLD]).is_newest(sealed)
    assert not KeyRing([NEW]).has_key_of(sealed)
    for ring in (KeyRing([NEW]), KeyRing()):
        with pytest.raises(StoreKeyMissing):
            ring.open_passing(b"event", sealed)
    with pytest.raises(StoreKeyMissing):
        KeyRing().seal_passing(b"event", b"raw")
