"""What buttons carry; what comes back may be anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.areas import AREAS
from local_agent.line.buttons import DATA_MAX, Act, Press, data_of, read
from stores.records import TOKEN_MAX

tokens = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=TOKEN_MAX)
presses = st.one_of(
    st.builds(Press, st.sampled_from([Act.APPROVE, Act.CANCEL]), token=tokens),
    st.builds(Press, st.sampled_from([Act.PLACES, Act.EVENTS]), town=st.sampled_from(["", *AREAS])),
    st.builds(Press, st.sampled_from([Act.INSPECT, Act.FORGET])),
)


@given(presses)
def test_a_button_reads_as_it_was_written(press: Press) -> None:
    """Every press fits into a postback and comes back as itself, with the longest token too."""
    data = data_of(press)
    assert len(data) <= DATA_MAX
    assert read(data) == press


@given(st.text(max_size=400))
def test_foreign_data_is_no_press(data: str) -> None:
    """Any text is read without failing, and what is read at all is one of our own buttons."""
    press = read(data)
    assert press is None or data_of(press) == data


@given(presses, st.text(min_size=1, max_size=20), st.integers(min_value=0))
def test_altered_data_is_never_another_shape(press: Press, noise: str, at: int) -> None:
    """Whatever is put into a button's data, it reads as one of ours in full, or as nothing."""
    data = data_of(press)
    place = at % (len(data) + 1)
    altered = data[:place] + noise + data[place:]
    found = read(altered)
    assert found is None or data_of(found) == altered


@pytest.mark.parametrize(
    "data",
    [
        "",
        " ",
        "local.1",
        "local.1 ",
        "local.1 approve",
        "local.1 approve ",
        "local.1 approve a b",
        "local.1 approve a\n",
        "local.1 approve 字",
        f"local.1 approve {'x' * (TOKEN_MAX + 1)}",
        "local.1 inspect me",
        "local.1 inspect ",
        "local.1 places 台北市",
        "local.1 places ",
        "local.1 places",
        "local.1  places 花壇鄉",
        "local.2 inspect",
        "LOCAL.1 inspect",
        "local.1 grant x",
        "action=approve&token=x",
        "x" * 301,
        "\ud83e",
        "\x00",
    ],
)
def test_malformed_data_is_no_press(data: str) -> None:
    """What only looks like a button of ours is nothing."""
    assert read(data) is None


def test_a_button_without_its_argument_cannot_be_made() -> None:
    """A card's button without a token is a programming error, and not a dead button."""
    with pytest.raises(ValueError, match="known presses"):
        data_of(Press(Act.APPROVE))
    with pytest.raises(ValueError, match="known presses"):
        data_of(Press(Act.PLACES, town="台北市"))
