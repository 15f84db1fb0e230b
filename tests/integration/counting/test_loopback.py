"""The loopback service of the benchmark speaks the protocol that the counters speak."""

import json

import pytest
from click.testing import CliRunner
from google import genai
from google.genai import types

from benchmarks import counting as benchmark
from benchmarks.countserver.server import serving
from benchmarks.countserver.tokens import ByteTokens
from benchmarks.countserver.turns import PICTURE_TOKENS
from callbacks.counting.certified import CertifiedCounter
from callbacks.counting.gemini import GeminiTokenCounter
from callbacks.counting.probes import exchange, plan, said
from callbacks.counting.request import CountRequest
from tests.support.rendered import RenderedCounter

CONFIG = types.GenerateContentConfig(system_instruction="規則")
LOOP = (said("user", "花壇？"), *exchange({"area": "花壇鄉"}, {"places": [{"name": "蔬食"}]}))


def client(server, style: str, *, vertex: bool = False) -> genai.Client:
    return genai.Client(
        vertexai=vertex,
        api_key="no-key",
        http_options=types.HttpOptions(base_url=server.url(style)),
    )


@pytest.mark.parametrize("vertex", [False, True])
async def test_both_backends_get_the_same_count_of_the_whole_request(vertex: bool):
    """Instruction and contents are counted on the Developer API and on Vertex alike."""
    request = CountRequest("gemini-flash-latest", CONFIG, LOOP)
    with serving(ByteTokens()) as server:
        asking = client(server, "xml-gemma", vertex=vertex)
        counter = GeminiTokenCounter(asking, approve_external=True)
        assert await counter.count(request) == RenderedCounter("xml-gemma").truth(request)
        await asking.aio.aclose()


async def test_a_picture_costs_what_the_service_says():
    """A picture of 1 MB costs its tokens, and not its Base64."""
    picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"1" * 1_000_000))
    request = CountRequest("m", CONFIG, [types.Content(role="user", parts=[picture])])
    with serving(ByteTokens()) as server:
        asking = client(server, "compact-gemma")
        counter = CertifiedCounter(GeminiTokenCounter(asking, approve_external=True), learn="never")
        await counter.warm_up("m")
        verdict = await counter.decide(request, 2000)
        assert verdict.decision == "counted"
        assert verdict.units is not None
        assert PICTURE_TOKENS < verdict.units < 1000
        await asking.aio.aclose()


async def test_proofs_hold_over_the_wire():
    """Probes, envelope and proofs through real sockets: one question a new envelope."""
    with serving(ByteTokens()) as server:
        asking = client(server, "escaped-chat")
        counter = CertifiedCounter(GeminiTokenCounter(asking, approve_external=True), learn="never")
        assert await counter.warm_up("m")
        for _ in range(20):
            verdict = await counter.decide(CountRequest("m", CONFIG, LOOP), 8192)
            assert verdict.decision == "proven"
        assert server.asked == {"escaped-chat": len(plan()) + 1}
        assert server.connections <= 5
        await asking.aio.aclose()


def test_the_benchmark_is_skipped_by_name_without_a_tokenizer(monkeypatch, tmp_path):
    """Where the vocabulary cannot be had, the benchmark says so and shows no figures."""
    monkeypatch.setattr(benchmark, "fetched", lambda allowed: False)
    out = tmp_path / "result.json"
    found = CliRunner().invoke(benchmark.main, ["--json", "--no-fetch", "--out", str(out)])
    assert found.exit_code == 0
    result = json.loads(found.stdout)
    assert list(result) == ["skipped"]
    assert "tokenizer" in result["skipped"]
    assert json.loads(out.read_text(encoding="utf-8")) == result
