"""What a tool filled in must not give back: every way to spell a value, and every value."""

from __future__ import annotations

import base64
import html
import json
import unicodedata
from typing import Any
from urllib.parse import quote

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from callbacks.adk.injection import MARKER, Filled, scrub


def filled(*secrets: str) -> Filled:
    return Filled(
        proposed={}, effective={}, origin="consented_memory", arguments=(), secrets=secrets,
        neutral=(),
    )  # fmt: skip


PARTS = [MARKER[start:end] for start in range(len(MARKER)) for end in range(start + 1, 11)]


@given(secret=st.sampled_from([part for part in PARTS if part.strip()]), text=st.text(max_size=20))
def test_a_value_that_is_part_of_the_marker_ends(secret: str, text: str) -> None:
    """Invariant 6: a value such as "it" is taken out once, and its marker is not taken apart."""
    once = scrub(f"{text}{secret}", filled(secret))
    assert secret.lower() not in once.replace(MARKER, "").lower()
    assert scrub(once, filled(secret)) == once


def test_several_values_leave_no_trace_of_one_another() -> None:
    """Invariant 6: one value's marker is no place of another's; what overlaps goes together."""
    assert scrub("a held b it c", filled("held", "it")) == f"a {MARKER} b {MARKER} c"
    assert scrub("xababay", filled("aba")) == f"x{MARKER}y"


@pytest.mark.parametrize("secret", ["zzveganzz", "純素食", "café <au lait>", "a+b/c d"])
def test_no_format_hides_a_value(secret: str) -> None:
    """Invariant 6: JSON in JSON, URLs, HTML, base64 and other normal forms are echoes as well."""
    for before in ("", "d", "di", "diet="):
        plain = f"{before}{secret};".encode()
        spelled = [
            json.dumps(json.dumps(before + secret)),
            quote(before + secret, safe=""),
            html.escape(before + secret),
            unicodedata.normalize("NFD", before + secret),
            base64.b64encode(plain).decode(),
            base64.urlsafe_b64encode(plain).decode(),
        ]
        for one in spelled:
            assert MARKER in scrub(one, filled(secret)), one
        for code in ("utf-8", "utf-16", "utf-16-be"):
            assert scrub((before + secret).encode(code), filled(secret)) == MARKER


def test_bytes_inside_an_object_are_looked_into() -> None:
    """Invariant 6: an object's bytes become base64 in its JSON form, and hold the value there."""
    part = types.Part(inline_data=types.Blob(data=b"for zzveganzz alone", mime_type="text/plain"))
    clean = str(scrub({"part": part}, filled("zzveganzz")))
    assert base64.b64encode(b"for zzveganzz alone").decode() not in clean
    assert MARKER in clean


@pytest.mark.parametrize(
    ("secret", "echo"),
    [("5", 5), ("5", 5.0), ("2.50", 2.5), ("true", True), ("False", False), ("1e3", 1000)],
)
def test_a_number_is_an_echo_however_it_is_written(secret: str, echo: Any) -> None:
    """Invariant 6: a tool that reads its argument as a number gives it back as one."""
    assert scrub({"n": echo, "m": [echo, None, 7]}, filled(secret)) == {
        "n": MARKER,
        "m": [MARKER, None, 7],
    }
