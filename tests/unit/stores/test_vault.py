"""The vault keeps sealed bytes in slots of owners, and tells owners apart."""

from hypothesis import given
from hypothesis import strategies as st

from stores.records import Owner
from stores.sql import vault
from stores.sql.tables import OWNER_TAG_BYTES


@given(st.data())
def test_owners_have_tags_of_their_own(data):
    """The tag tells tenants and people apart, also where their ids read the same joined (11)."""
    ids = st.text("ab", min_size=1, max_size=3)
    first = Owner(tenant=data.draw(ids), person=data.draw(ids))
    second = Owner(tenant=data.draw(ids), person=data.draw(ids))
    assert (vault.tag_of(first) == vault.tag_of(second)) == (first == second)
    assert len(vault.tag_of(first)) == OWNER_TAG_BYTES
