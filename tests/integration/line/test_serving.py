"""`local-agent serve`, `work` and `inbox` as processes, the way an operator runs them."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from benchmarks.line.processes import SECRET, TOKEN, Process, environment, free_port
from local_agent.line.peer import LinePeer
from local_agent.line.peer_events import line_id
from local_agent.logs import reference
from stores.inbox import Arrival, State
from stores.open import open_store
from tests.support import postgres
from tests.support.line import sqlite_url, until

ANN = line_id("user", 1)
ENDED = (0, -signal.SIGTERM)
"""uvicorn passes the signal on to itself once everything is closed."""


@pytest.fixture
async def peer():
    async with LinePeer(channel_secret=SECRET, channel_token=TOKEN) as started:
        yield started


def run(env, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "local_agent.cli", *arguments],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


async def test_serve_answers_and_stops_when_asked(tmp_path, peer):
    """One process takes webhooks in and answers them; SIGTERM ends it in good order."""
    process = Process("both", environment(sqlite_url(tmp_path), peer.url, tmp_path), tmp_path, "s")
    process.start()
    await process.ready()
    assert await peer.post(process.url, peer.events.text("花壇有什麼吃的？", user=ANN)) == 200
    await until(lambda: len(peer.said(ANN)) == 1, "it is answered")
    assert process.stop() in ENDED
    log = process.log.read_text(encoding="utf-8")
    assert "event=worker_stopped" in log
    assert "Traceback" not in log


async def test_a_worker_beside_the_gateway_finds_what_it_did_not_see_come(tmp_path, peer):
    """With `serve --processing elsewhere`, `work` in another process answers."""
    env = environment(sqlite_url(tmp_path), peer.url, tmp_path)
    gateway = Process("gateway", env, tmp_path, "gateway")
    worker = Process("worker", env, tmp_path, "worker")
    gateway.start()
    await gateway.ready()
    assert await peer.post(gateway.url, peer.events.text("花壇有什麼吃的？", user=ANN)) == 200
    worker.start()
    await worker.ready()
    await until(lambda: len(peer.said(ANN)) == 1, "it is answered")
    assert await peer.post(gateway.url, peer.events.text("鹿港呢？", user=ANN)) == 200
    await until(lambda: len(peer.said(ANN)) == 2, "and so is the next one")
    assert worker.stop() == 0
    assert gateway.stop() in ENDED


async def test_several_processes_on_a_server(tmp_path, peer):
    """LOCAL_WORKERS=2 starts two of them; together they answer every message once."""
    with postgres.running() as server:
        url = server.url(user=postgres.OWNER)
        async with open_store(url):
            pass
        env = environment(url, peer.url, tmp_path, LOCAL_WORKERS="2")
        process = Process("both", env, tmp_path, "s")
        process.start()
        await process.ready()
        users = [line_id("user", number) for number in range(20)]
        texts = [peer.events.text("花壇有什麼吃的？", user=user) for user in users]
        statuses = await asyncio.gather(*(peer.post(process.url, text) for text in texts * 2))
        assert set(statuses) == {200}
        await until(lambda: len(peer.chats) == len(users), "all are answered")
        # One may have answered everything before the other had come up.
        await until(
            lambda: process.log.read_text(encoding="utf-8").count("event=worker_started") == 2,
            "both have started",
        )
        assert process.stop() in ENDED
        assert all(len(peer.said(user)) == 1 for user in users)


_NEEDED = ("LOCAL_LINE_CHANNEL_SECRET", "LOCAL_LINE_CHANNEL_TOKEN")


@pytest.mark.parametrize("missing", [_NEEDED[:1], _NEEDED[1:], _NEEDED])
@pytest.mark.parametrize("command", ["serve", "work"])
def test_what_is_missing_is_said_in_one_sentence(tmp_path, command, missing):
    """Without the channel's secret or token nothing starts: all are named in one sentence."""
    env = environment(sqlite_url(tmp_path), "http://127.0.0.1:9", tmp_path)
    ended = run({k: v for k, v in env.items() if k not in missing}, command)
    assert ended.returncode == 2
    named = " and ".join(missing)
    assert ended.stderr == f"{named} must be set to serve LINE. [SETTINGS_INVALID]\n"
    assert not (tmp_path / "line.db").exists()


def test_a_port_in_use_is_said_in_one_sentence(tmp_path):
    """What the system refuses is told before anything is started, with the address and a code."""
    env = environment(sqlite_url(tmp_path), "http://127.0.0.1:9", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run(env, "serve", "--port", port)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert port in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.endswith("[SYSTEM_REFUSED]\n")
    assert not (tmp_path / "line.db").exists()


def test_serve_says_where_it_listens(tmp_path):
    """With port 0 the free one that was taken is told, and there it is that health is told."""
    env = environment(sqlite_url(tmp_path), "http://127.0.0.1:9", tmp_path)
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "local_agent.cli", "serve", "--port", "0"],
            env=env,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            told = process.stdout.readline().split()[1]
            assert told.endswith("/callback;")
            assert _healthy(told.removesuffix("/callback;"))
        finally:
            process.terminate()
            assert process.wait(timeout=60) in ENDED


def _healthy(url):
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=5) as answer:  # noqa: S310 - http
                return answer.status == 200
        except OSError:  # it is not up yet
            time.sleep(0.1)
    return False


def test_uvicorn_says_what_is_missing(tmp_path):
    """Started by uvicorn itself, the application names the setting too, without a traceback."""
    env = environment(sqlite_url(tmp_path), "http://127.0.0.1:9", tmp_path)
    del env["LOCAL_LINE_CHANNEL_TOKEN"]
    ended = subprocess.run(
        [sys.executable, "-m", "uvicorn", "examples.day15.main:app", "--port", str(free_port())],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode != 0
    said = ended.stderr
    assert "LOCAL_LINE_CHANNEL_TOKEN must be set to serve LINE. [SETTINGS_INVALID]" in said
    assert "Traceback" not in said


async def _dead_letter(url, key):
    """Put an event among the dead."""
    async with open_store(url, store_keys=[key.encode()]) as store:
        inbox = store.inbox("local")
        body = "我的秘密".encode()
        arrival = Arrival(event_id="01HDEAD", chat="chat", said_at_ms=1, body=body)
        await inbox.accept((arrival,), now_ms=1)
        (claim,) = await inbox.claim("w", now_ms=1, lease_ms=1)
        state = await inbox.release(
            claim, now_ms=1, retry_at_ms=1, error_code="MODEL_FAILED", most_attempts=1
        )
        assert state is State.DEAD


def test_the_inbox_is_looked_after(tmp_path):
    """`inbox` counts, lists and retries the dead, and shows nobody's text or name."""
    url = sqlite_url(tmp_path)
    env = environment(url, "http://127.0.0.1:9", tmp_path)
    asyncio.run(_dead_letter(url, env["LOCAL_STORE_KEYS"]))
    counted = run(env, "inbox", "counts", "--json")
    assert json.loads(counted.stdout)["dead"] == 1
    listed = run(env, "inbox", "list")
    assert "01HDEAD" in listed.stdout
    assert "MODEL_FAILED" in listed.stdout
    (row,) = json.loads(run(env, "inbox", "list", "--json").stdout)
    assert (row["event_id"], row["attempts"], row["state"]) == ("01HDEAD", 1, "dead")
    assert "chat" not in row
    assert "我的秘密" not in listed.stdout
    assert row["ref"] == reference("01HDEAD")
    assert listed.stdout.splitlines()[1].startswith(row["ref"])
    assert run(env, "inbox", "retry", row["ref"]).returncode == 0
    again = run(env, "inbox", "retry", "01HDEAD")
    assert (again.returncode, again.stderr) == (
        2,
        "No dead event has this id or ref. [EVENT_NOT_DEAD]\n",
    )
    assert ["waiting", "1"] in [
        line.split() for line in run(env, "inbox", "counts").stdout.splitlines()
    ]
    assert run(env, "inbox", "list").stdout == "No event is dead.\n"


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("mysql://u:p@h/x", "UNSUPPORTED_STORE_URL"),
        ("sqlite:///local.db", "UNSUPPORTED_STORE_URL"),
        ("sqlite+aiosqlite:////nope/dir/local.db", "STORE_UNAVAILABLE"),
        ("postgresql+asyncpg://u:p@127.0.0.1:9/x", "STORE_UNAVAILABLE"),
    ],
)
def test_a_store_that_cannot_be_opened_is_said_before_serving(tmp_path, url, code, workers):
    """The sentence and the code that other commands give, and no status of success."""
    env = environment(url, "http://127.0.0.1:9", tmp_path)
    served = run(env, "serve", "--port", "0", "--workers", workers)
    assert served.returncode in {1, 2}
    last = served.stderr.splitlines()[-1]
    assert last.endswith(f"[{code}]")
    assert "u:p" not in served.stderr
    looked = run(env, "work")
    assert looked.stderr.splitlines()[-1] == last


def test_another_server_is_told_why_in_the_log(tmp_path):
    """Under uvicorn alone the log has the sentence, for uvicorn's own words are not kept."""
    env = environment("sqlite+aiosqlite:////nope/dir/local.db", "http://127.0.0.1:9", tmp_path)
    command = [sys.executable, "-m", "uvicorn", "local_agent.line.app:app", "--port", "0"]
    ended = subprocess.run(
        command, check=False, env=env, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode != 0
    assert "event=not_started error_code=STORE_UNAVAILABLE" in ended.stderr


def test_a_bad_port_in_the_environment_is_named(tmp_path):
    """Nobody typed --port: the variable is what to mend."""
    env = {**environment(sqlite_url(tmp_path), "http://127.0.0.1:9", tmp_path), "PORT": "abc"}
    served = run(env, "serve")
    assert served.returncode == 2
    assert served.stderr.startswith("$PORT: ")
