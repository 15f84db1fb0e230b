"""The console's routes on its real stage: gateway, inbox, worker and a loopback LINE."""

import asyncio
import hashlib
import signal
import sqlite3
from typing import Any

import httpx
import pytest

from local_agent.console import words
from local_agent.console.app import create_console
from local_agent.console.guard import TOKEN_HEADER
from local_agent.console.stage import Stage
from tests.support.console import console

Json = dict[str, Any]
TOKEN = "a-token"
LIMIT_SECONDS = 60.0
"""The longest wait for anything; a slow machine needs a second."""


class Client:
    """A page without a browser."""

    def __init__(self, http: httpx.AsyncClient, stage: Stage) -> None:
        self.http, self.stage = http, stage

    async def get(self, path: str) -> Json:
        answer = await self.http.get(path)
        assert answer.status_code == 200
        return answer.json()

    async def post(self, path: str, **body: object) -> str:
        answer = await self.http.post(path, json=body, headers={TOKEN_HEADER: TOKEN})
        assert answer.status_code == 200
        return answer.json()["notice"]

    async def until(self, true) -> Json:
        """Ask for news, as the page does, until something is true of the state."""
        state = await self.get("/api/state?since=0")
        async with asyncio.timeout(LIMIT_SECONDS):
            while not true(state):
                state = await self.get(f"/api/state?since={state['version']}")
        return state

    async def settled(self, turns: int) -> Json:
        """Wait until so many turns are there, and none of them waits."""
        return await self.until(
            lambda state: (
                len(state["turns"]) == turns
                and all(turn["state"] != "waiting" for turn in state["turns"])
            )
        )


@pytest.fixture
async def client(tmp_path):
    """The console's app over a stage of its own."""
    async with Stage(tmp_path) as stage:
        transport = httpx.ASGITransport(create_console(stage, name="127.0.0.1", token=TOKEN))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            page = Client(http, stage)
            await page.until(lambda state: state["chat"])  # the welcome
            yield page


def said(state: Json) -> list[str]:
    """What LOCAL's side of the chat holds, as text."""
    return [str(bubble["message"]) for bubble in state["chat"] if not bubble["mine"]]


async def test_a_message_goes_through_the_gateway(client):
    """A message is signed, kept, answered and explained; its request is served byte by byte."""
    assert await client.post("/api/say", text="花壇有什麼吃的？") == ""
    state = await client.settled(1)
    assert "花壇" in said(state)[-1]
    turn = await client.get("/api/turns/1")
    (request,) = turn["requests"]
    exact = await client.http.get(f"/{request['exact']}")
    assert hashlib.sha256(exact.content).hexdigest() == request["fingerprint"]
    assert (await client.http.get("/api/plot.svg")).headers["content-type"] == "image/svg+xml"


async def test_the_status_settles(client):
    """Once all is answered the inbox shows nothing under way, and a waiting page is told."""
    await client.post("/api/say", text="花壇有什麼吃的？")
    sent = f"{words.INBOX_STATES['sent']} 2"  # the welcome as well

    def settled(state: Json) -> bool:
        return {"name": "inbox", "label": words.SWITCHES["inbox"], "value": sent} in state["status"]

    await client.until(settled)


async def test_the_inbox_keeps_each_event_once(client):
    """Invariant 9: an event that is delivered again, even to another worker, is answered once."""
    await client.post("/api/say", text="花壇有什麼吃的？")
    state = await client.settled(1)
    before = len(said(state))
    await client.post("/api/drills/restart")
    notice = await client.post("/api/drills/redeliver", turn=1)
    assert notice == words.REDELIVERED.format(deliveries=2, answers=1)
    await client.post("/api/say", text="我的偏好")
    state = await client.settled(2)
    assert len(said(state)) == before + 1


async def test_a_paused_worker_loses_nothing(client):
    """What arrives while no worker runs waits in the inbox, in order, and is answered after."""
    assert await client.post("/api/drills/pause") == words.PAUSED
    for text in ("花壇有什麼吃的？", "剛才那個鄉鎮有活動嗎？"):
        await client.post("/api/say", text=text)
    state = await client.get("/api/state")
    waiting = {row["name"]: row["value"] for row in state["status"]}["inbox"]
    assert f"{words.INBOX_STATES['waiting']} 2" in waiting
    assert await client.post("/api/drills/pause") == words.RESUMED
    await client.settled(2)
    second = await client.get("/api/turns/2")
    assert "花壇鄉" in "".join(second["requests"][0]["layers"]["window"])


async def test_budgets_are_switched_and_switched_back(client):
    """A pressed budget holds for the next turn; pressed again, the usual one is back."""
    assert await client.post("/api/drills/tight") == words.NO_TURN
    await client.post("/api/drills/tiny")
    await client.post("/api/say", text="花壇有什麼吃的？")
    assert (await client.settled(1))["turns"][0]["state"] == "refused"
    await client.post("/api/drills/tiny")
    await client.post("/api/say", text="鹿港有什麼吃的？")
    state = await client.settled(2)
    assert state["turns"][1]["state"] == "answered"
    await client.post("/api/drills/tight")
    state = await client.get("/api/state")
    assert (state["pressed"]["tight"], state["pressed"]["tiny"]) == (True, False)
    await client.post("/api/drills/tiny")
    state = await client.get("/api/state")
    assert (state["pressed"]["tight"], state["pressed"]["tiny"]) == (False, True)


async def test_full_history_is_measured_beside(client):
    """Each answered turn is repeated through ADK as it comes; what was refused is not."""
    await client.post("/api/say", text="花壇有什麼吃的？")
    await client.settled(1)
    await client.post("/api/drills/counter")
    await client.post("/api/say", text="鹿港有什麼吃的？")
    await client.settled(2)
    await client.post("/api/drills/counter")
    await client.post("/api/say", text="田中有什麼吃的？")
    state = await client.until(
        lambda state: (
            len(state["measured"]["rows"]) == 3 and state["measured"]["rows"][2][1] != words.NOTHING
        )
    )
    rows = state["measured"]["rows"]
    assert rows[1][1:] == [words.NOTHING, words.NOT_SENT]
    first, third = (int(rows[at][1].replace(",", "")) for at in (0, 2))
    assert third > first


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/say", {"text": ""}),
        ("/api/say", {"text": "長" * 5_001}),
        ("/api/say", {}),
        ("/api/press", {"data": "x" * 301}),
        ("/api/drills/redeliver", {"turn": "one"}),
        ("/api/drills/tiny", {"unknown": 1}),
    ],
)
async def test_what_is_malformed_is_refused(client, path, body):
    """A body of another form gets 400 and moves nothing."""
    answer = await client.http.post(path, json=body, headers={TOKEN_HEADER: TOKEN})
    assert answer.status_code == 400
    assert (await client.get("/api/state"))["turns"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/api/turns/1",
        "/api/turns/1/requests/0",
        "/api/turns/" + "9" * 5_000,
        "/api/turns/one",
        "/api/turns/-1/requests/-1",
        "/api/plot.svg",
        "/static/none.js",
        "/static/../app.py",
        "/static/%2e%2e%2fapp.py",
        "/docs",
        "/callback",
    ],
)
async def test_what_is_not_there_is_not_found(client, path):
    """Nothing but the page's own files and data is given out; the webhook is on another port."""
    assert (await client.http.get(path)).status_code == 404


@pytest.mark.parametrize("since", ["9" * 5_000, "²", "-1", "", "one"])
async def test_a_strange_number_is_no_error(client, since):
    """A page that asks for news since anything at all gets the state."""
    assert "turns" in await client.get(f"/api/state?since={since}")


async def test_an_unknown_drill_is_not_found(client):
    """Drills are a closed set."""
    answer = await client.http.post("/api/drills/erase", json={}, headers={TOKEN_HEADER: TOKEN})
    assert answer.status_code == 404


async def test_a_strange_button_is_answered_like_any_other(client):
    """A postback that no button of ours carries goes through the gateway and does nothing."""
    await client.post("/api/press", data="anything at all", shown="")
    state = await client.settled(1)
    assert state["turns"][0]["said"] == words.PRESSED


async def test_a_store_that_is_left_holds_no_sentence(client, tmp_path):
    """Invariant 4: after the turns no sentence of theirs is in the console's files."""
    sentence = "花壇鄉有沒有靠近車站的早餐店"
    await client.post("/api/say", text=sentence)
    await client.settled(1)
    await client.stage._stop_worker()
    files = [path.read_bytes() for path in tmp_path.iterdir()]
    assert files
    assert [sentence.encode() in content for content in files] == [False] * len(files)
    with sqlite3.connect(tmp_path / "console.db") as database:
        states = database.execute("SELECT DISTINCT state FROM store_inbox").fetchall()
    assert states == [("sent",)]
    database.close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_nothing_behind(tmp_path, how):
    """Asked to stop while a page waits for news, it ends at once, without error, folder and all."""
    with console(tmp_path) as running:
        (folder,) = tmp_path.glob("local-console-*")
        assert folder.stat().st_mode & 0o077 == 0
        page = httpx.get(running.url)
        assert page.status_code == 200
        assert words.exposed("127.0.0.1") not in running.said
        status, said_last, complained = running.stop(how)
    assert (status, complained) == (0, "")
    assert words.GOODBYE in said_last
    assert list(tmp_path.glob("local-console-*")) == []


def test_another_address_than_loopback_is_told(tmp_path):
    """Whoever opens it to others reads so before anything else."""
    with console(tmp_path, "--host", "0.0.0.0") as running:  # noqa: S104 - what is tested
        assert running.said.startswith(words.exposed("0.0.0.0"))  # noqa: S104 - as above
        assert httpx.get(running.url).status_code == 200
        rebound = httpx.get(running.url, headers={"host": "attacker.example"})
        assert rebound.status_code == 421
