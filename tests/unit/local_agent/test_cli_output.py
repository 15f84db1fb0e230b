"""What the command prints with: tables for wide characters, and log lines without content."""

import io
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent import logs
from local_agent.table import aligned, width
from tests.support.logs import logging_restored


@pytest.fixture
def logged():
    """A stream that is logged to, at INFO; what was set up before comes back."""
    stream = io.StringIO()
    with logging_restored():
        logs.set_up("INFO", stream)
        yield stream


def test_chinese_characters_are_two_columns_wide():
    """Wide and full-width characters take two columns, combining ones none."""
    assert [width(text) for text in ("abc", "花壇", "ｙ", "e\u0301", "")] == [3, 4, 2, 1, 0]


@given(st.lists(st.tuples(st.text("a花　ｙ1"), st.text("b壇"), st.text("9")), min_size=1))
def test_columns_begin_at_the_same_place(rows):
    """Every column but the last begins in every row at the same column of the terminal."""
    marked = [(first, second, f"|{third}") for first, second, third in rows]
    starts = {width(line[: line.index("|")]) for line in aligned(marked)}
    assert len(starts) == 1


def test_numbers_are_flush_right():
    """A column of numbers ends at the same place in every row."""
    assert aligned([("花", "5"), ("ab", "10,000")], numbers=[1]) == ["花       5", "ab  10,000"]


def test_our_lines_are_fields_on_one_line(logged):
    """Our messages stand in the line as they are, line breaks apart."""
    logging.getLogger("local_agent.x").info("event=a reason=%s", "b\nc")
    line = logged.getvalue()
    assert line.endswith("level=INFO logger=local_agent.x event=a reason=b c\n")
    assert line.startswith("time=")


def test_libraries_are_named_and_not_quoted(logged):
    """Invariant 4: of a library's message only its place is logged, whatever it says."""
    logging.getLogger("google_adk.x").warning("request: %s", "花壇 vegetarian")
    logging.getLogger("google_adk.x").info("request: 花壇")
    logging.getLogger("google_adk.y").warning("Skipping missing token usage metadata for %s", "a")
    lines = logged.getvalue().splitlines()
    assert len(lines) == 1
    assert (
        "level=WARNING logger=google_adk.x event=library_message at=test_cli_output.py:" in lines[0]
    )
    assert "花壇" not in lines[0]
    assert "vegetarian" not in lines[0]


def test_tracebacks_are_left_out(logged):
    """Invariant 4: an exception is logged by its type, since its lines may quote a value."""
    try:
        int("vegetarian")  # its error quotes what it was given
    except ValueError:
        logging.getLogger("callbacks.x").exception("event=failed")
    assert "error_type=ValueError" in logged.getvalue()
    assert "vegetarian" not in logged.getvalue()
    assert len(logged.getvalue().splitlines()) == 1


def test_set_up_twice_logs_once(logged):
    """A second set-up takes the place of the first."""
    other = io.StringIO()
    logs.set_up("ERROR", other)
    logging.getLogger("stores.x").error("event=once")
    logging.getLogger("stores.x").info("event=quiet")
    assert logged.getvalue() == ""
    assert other.getvalue().count("event=once") == 1
    assert "quiet" not in other.getvalue()


def test_also_to_goes_as_it_came(logged):
    """While it is open, a second stream gets lines at its own level; then all is as before."""
    logs.set_up("WARNING", logged)
    second = io.StringIO()
    with logs.also_to(second, "INFO"):
        logging.getLogger("local_agent.x").info("event=inside")
    logging.getLogger("local_agent.x").info("event=outside")
    assert "event=inside" in second.getvalue()
    assert logged.getvalue() == ""
    assert "outside" not in second.getvalue()


def test_stderr_is_the_default(logged, monkeypatch):
    """Without a stream lines go to stderr."""
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    logs.set_up("INFO")
    logging.getLogger("stores").warning("event=x")
    assert "event=x" in err.getvalue()
