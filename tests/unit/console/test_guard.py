"""Who may talk to the console."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from local_agent.console.guard import TOKEN_HEADER, Guard, is_loopback, is_own_host

TOKEN = "a-token"


@pytest.fixture
async def client():
    """A client of a guarded app that was bound to loopback."""

    async def touched(_):
        return PlainTextResponse("touched")

    app = Starlette(routes=[Route("/", touched, methods=["GET", "POST", "DELETE"])])
    guarded = Guard(app, name="127.0.0.1", token=TOKEN)
    transport = httpx.ASGITransport(guarded)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1:8000", True),
        ("LOCALHOST:8000", True),
        ("[::1]:8000", True),
        ("192.0.2.7:8000", True),
        ("console.example:8000", True),
        ("attacker.example", False),
        ("attacker.example:8000", False),
        ("127.0.0.1.attacker.example", False),
        ("localhost.attacker.example", False),
        ("", False),
        (":8000", False),
        ("[::1", True),
        ("[attacker.example]", False),
    ],
)
def test_only_names_of_the_console_are_its_own(host, own):
    """An address, localhost and the name it was bound to; any other name may be rebound to it."""
    assert is_own_host(host, "console.example") is own


def test_without_a_name_no_empty_host_is_let_in():
    """A console bound to no name at all takes no empty Host for its own."""
    assert not is_own_host("", "")


@pytest.mark.parametrize(
    ("host", "only_here"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - judged, not bound
        ("192.0.2.7", False),
        ("::", False),
        ("a-name.example", False),
    ],
)
def test_what_others_can_reach_is_known(host, only_here):
    """Only loopback is taken for loopback."""
    assert is_loopback(host) is only_here


async def test_a_rebound_name_is_turned_away(client):
    """A Host that is a stranger's name gets 421, whatever else the request brings."""
    answer = await client.get("/", headers={"host": "attacker.example"})
    assert (answer.status_code, "touched" in answer.text) == (421, False)


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_change_needs_the_token(client, method):
    """Without the page's token, with another or with no ASCII, nothing is touched."""
    for headers in ({}, {TOKEN_HEADER: "another"}, {TOKEN_HEADER: ""}):
        answer = await client.request(method, "/", headers=headers)
        assert answer.status_code == 403
    answer = await client.request(method, "/", headers=[(TOKEN_HEADER.encode(), b"\xff\xfe")])
    assert answer.status_code == 403
    answer = await client.request(method, "/", headers={TOKEN_HEADER: TOKEN})
    assert (answer.status_code, answer.text) == (200, "touched")


async def test_another_site_gets_nothing(client):
    """A request that another site caused is refused, unless somebody follows a link to the page."""
    for site in ("cross-site", "same-site"):
        sent = {"sec-fetch-site": site, TOKEN_HEADER: TOKEN}
        assert (await client.get("/", headers=sent)).status_code == 403
        assert (await client.post("/", headers=sent)).status_code == 403
        followed = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
        assert (await client.get("/", headers=followed)).status_code == 200
        sent = {**followed, TOKEN_HEADER: TOKEN}
        assert (await client.post("/", headers=sent)).status_code == 403


async def test_every_answer_has_its_headers(client):
    """Policy, no sniffing, no frame, no cache: on what is let by and on what is refused."""
    for headers in ({}, {"host": "attacker.example"}):
        answer = await client.get("/", headers=headers)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
