"""A local tokenizer gives an estimate, says so, and refuses what it cannot know."""

import sys

import pytest
from google.genai import types

from benchmarks.countserver.tokens import GEMMA, available
from callbacks.context.errors import CounterFailed, InvalidSetting
from callbacks.counting.probes import exchange, said
from callbacks.counting.request import CountRequest
from callbacks.counting.tokenizer import TokenizerCounter

CONFIG = types.GenerateContentConfig(system_instruction="規則")
LOOP = CountRequest("m", CONFIG, (said("user", "花壇"), *exchange({"a": "花"}, {"b": 1})))


def by_bytes(text: str) -> int:
    return len(text.encode())


async def test_the_margin_is_added_to_the_whole():
    """An estimate is the sum of its parts and the stated share on top, rounded up."""
    plain = await TokenizerCounter(by_bytes, margin=0).count(LOOP)
    assert await TokenizerCounter(by_bytes, margin=0.5).count(LOOP) == -(-plain * 3 // 2)
    assert await TokenizerCounter(by_bytes, margin=0, per_content=0).count(LOOP) == plain - 48


async def test_nothing_of_the_request_is_left_out():
    """Instruction, declarations, texts, arguments and results all add to the estimate."""
    seen: list[str] = []

    def count(text: str) -> int:
        seen.append(text)
        return len(text)

    await TokenizerCounter(count, margin=0.1).count(LOOP)
    together = "".join(seen)
    for piece in ("規則", "花壇", "\\u82b1", '"b"'):
        assert piece in together


def test_there_is_no_default_margin():
    """Whoever estimates states by how much the estimate may be off."""
    with pytest.raises(TypeError):
        TokenizerCounter(by_bytes)  # type: ignore[call-arg]  # the test
    for margin in (-0.1, float("nan"), float("inf")):
        with pytest.raises(InvalidSetting):
            TokenizerCounter(by_bytes, margin=margin)


async def test_media_is_refused():
    """No tokenizer knows what a picture costs: it is refused, not dropped and not read as text."""
    picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"1" * 1_000_000))
    content = types.Content(role="user", parts=[types.Part(text="?"), picture])
    with pytest.raises(CounterFailed) as caught:
        await TokenizerCounter(by_bytes, margin=0.1).count(LOOP.with_contents([content]))
    assert caught.value.numbers["cause"] == "media"


def test_it_is_marked_as_an_estimate_in_tokens():
    """Nobody takes it for a count of the provider's."""
    counter = TokenizerCounter(by_bytes, margin=0.1)
    assert counter.estimate
    assert counter.unit == "tokens"
    assert counter.margin == 0.1


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path):
    """The refusal does not name the file."""
    pytest.importorskip("tokenizers", reason="extra [bench]")
    path = tmp_path / "secret.json"
    path.write_text("{}")
    with pytest.raises(InvalidSetting) as caught:
        TokenizerCounter.from_file(path, margin=0.1)
    assert "secret" not in str(caught.value)


def test_a_missing_library_is_named(monkeypatch):
    """Without the optional package, the sentence says what to install."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InvalidSetting, match="Install tokenizers"):
        TokenizerCounter.from_file("tokenizer.json", margin=0.1)


@pytest.mark.skipif(not available(), reason="tokenizer: run scripts/tokenizer.sh")
async def test_a_real_file_counts():
    """A tokenizer.json counts through the PyPI package tokenizers."""
    counter = TokenizerCounter.from_file(GEMMA, margin=0.1)
    assert 10 < await counter.count(LOOP) < 300
