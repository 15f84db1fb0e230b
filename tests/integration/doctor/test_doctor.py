"""`local-agent doctor` against real files, a real store and the loopback LINE."""

import asyncio
import json
import os
import sqlite3

import pytest

from local_agent.check import Check
from local_agent.cli import main
from local_agent.doctor import SKEW_FAIL_MS, SKEW_WARN_MS, _clock, examine
from local_agent.line.peer import LinePeer
from local_agent.settings import load_settings
from stores.open import open_store
from stores.probe import Probe
from stores.records import Owner, Proposal

NOW = 1_790_000_000_000
SECRET, TOKEN = "0123456789abcdef0123456789abcdef", "a-token-of-this-test"
KEYS = [f"key-{number}-of-this-test-that-nobody-ever-drew" for number in range(4)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to stand in, as somebody who has just installed it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def looked(*, live: bool = False) -> dict[str, Check]:
    """What the doctor finds, by the name of the check."""
    return {check.name: check for check in asyncio.run(examine(live=live, clock=lambda: NOW))}


def test_an_empty_folder_is_healthy_and_stays_empty(here):
    """With defaults nothing fails, nothing is advised, and no key or database is made."""
    found = looked()
    assert {check.status for check in found.values()} == {"ok"}
    assert {check.advice for check in found.values()} == {""}
    assert list(here.iterdir()) == []


def test_a_wrong_setting_is_named_and_never_quoted(here, monkeypatch):
    """Of a value that cannot be used only the variable is told."""
    monkeypatch.setenv("LOCAL_CONSENT_KEYS", "hunter2")
    (check,) = looked().values()
    assert (check.name, check.status) == ("settings", "fail")
    assert check.found.startswith("LOCAL_CONSENT_KEYS must be")
    assert "hunter2" not in repr(check)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("LOCAL_MAX_TRUNS", "LOCAL_MAX_TURNS"), ("LOCAL_STORE_KEY", "LOCAL_STORE_KEYS")],
)
def test_a_misspelt_setting_is_told(here, monkeypatch, slip, meant):
    """A variable that nobody reads and that is nearly a setting is named, and what was meant."""
    monkeypatch.setenv("LOCAL_RANK", "0")  # somebody else's
    assert looked()["settings"].status == "ok"
    monkeypatch.setenv(slip, "hunter2")
    check = looked()["settings"]
    assert (check.status, check.advice) == ("warn", f"Did you mean {meant}?")
    assert "hunter2" not in repr(check)


def test_without_a_channel_it_is_told_what_serving_needs(here):
    """Nothing is wrong without a channel; both variables are named for whoever wants to serve."""
    found = looked()["line"].found
    assert "LOCAL_LINE_CHANNEL_SECRET and LOCAL_LINE_CHANNEL_TOKEN" in found


def test_no_secret_is_shown(here, monkeypatch):
    """Keys, token, secret and a password in the URL are in nothing that is found or advised."""
    secrets = dict(
        zip(("LOCAL_CONSENT_KEYS", "LOCAL_STORE_KEYS", "LOCAL_PSEUDONYM_KEY"), KEYS, strict=False),
        LOCAL_LINE_CHANNEL_SECRET=SECRET,
        LOCAL_LINE_CHANNEL_TOKEN=TOKEN,
        LOCAL_DATABASE_URL="postgresql+asyncpg://user:hunter2@127.0.0.1:1/none",
    )
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    found = looked()
    told = json.dumps([check.as_dict() for check in found.values()])
    assert [value for value in (*secrets.values(), "hunter2") if value in told] == []
    assert found["store"].status == "fail"
    assert "unreachable" in found["store"].found


def test_a_key_that_others_can_read_fails(here):
    """A key file needs mode 0600, and the advice is the command that gives it."""
    path = here / "local_store.key"
    path.write_text(KEYS[0])
    path.chmod(0o640)
    check = looked()["store key"]
    assert (check.status, check.advice) == ("fail", "chmod 600 local_store.key")
    path.chmod(0o600)
    assert looked()["store key"].status == "ok"


def remembered(keys):
    """Let somebody remember something in the folder's store, under the first of these keys."""

    async def remember():
        url = load_settings().database_url.get_secret_value()
        store_keys = [key.encode() for key in keys]
        async with open_store(url, signing_keys=[b"s" * 32], store_keys=store_keys) as store:
            owner = Owner(tenant="local", person=f"person-{keys[0]}")
            tea = Proposal(key="drink", purpose="to choose", value="hunter2")
            card = await store.propose(owner, tea, now_ms=NOW)
            await store.approve(owner, card.token, now_ms=NOW)

    asyncio.run(remember())


def test_store_keys_are_tried_on_what_lies_in_the_store(here, monkeypatch):
    """A ring that opens nothing there fails with a code; one that lacks a key is warned of."""
    remembered(KEYS[:1])
    missing = looked()["data keys"]  # no key is set, and no file is made
    assert (missing.status, "STORE_KEY_MISSING" in missing.found) == ("fail", True)
    assert not (here / "local_store.key").exists()
    monkeypatch.setenv("LOCAL_STORE_KEYS", KEYS[1])
    wrong = looked()["data keys"]
    assert (wrong.status, "STORE_KEY_MISSING" in wrong.found) == ("fail", True)
    remembered(KEYS[1:2])
    partly = looked()["data keys"]
    assert (partly.status, partly.found[:6], "LOCAL_STORE_KEYS" in partly.advice) == (
        "warn",
        "1 of 2",
        True,
    )
    monkeypatch.setenv("LOCAL_STORE_KEYS", f"{KEYS[1]},{KEYS[0]}")
    assert looked()["data keys"].status == "ok"
    told = repr([missing, wrong, partly])
    assert [word for word in ("hunter2", "drink", "person-", *KEYS) if word in told] == []


def test_data_keys_that_were_altered_fail(here, monkeypatch):
    """What the right key does not open is told as damage, with its code."""
    monkeypatch.setenv("LOCAL_STORE_KEYS", KEYS[0])
    remembered(KEYS[:1])
    bare = sqlite3.connect(load_settings().database_url.get_secret_value().partition(":///")[2])
    bare.execute("UPDATE store_vault SET body = CAST(substr(body, 1, 254) || x'0000' AS BLOB)")
    bare.commit()
    bare.close()
    check = looked()["data keys"]
    assert check.status == "fail"
    assert "(STORE_UNAVAILABLE, damaged)" in check.found


def test_secret_files_that_others_can_read_are_warned_of(here, monkeypatch):
    """A secret that comes from a file is judged by that file, unless a variable wins."""
    path = here / "token"
    path.write_text(TOKEN)
    path.chmod(0o644)
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_TOKEN_FILE", str(path))
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_SECRET", SECRET)
    check = looked()["secret files"]
    assert (check.status, "LOCAL_LINE_CHANNEL_TOKEN_FILE (0644)" in check.found) == ("warn", True)
    path.chmod(0o600)
    assert looked()["secret files"].status == "ok"
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_TOKEN", TOKEN)
    assert "secret files" not in looked()


def test_who_takes_turns_is_judged(here, monkeypatch):
    """Several processes on one SQLite file, and requests longer than LINE waits, are warned of."""
    assert looked()["processing"].status == "ok"
    monkeypatch.setenv("LOCAL_WORKERS", "2")
    assert "SQLite" in looked()["processing"].found
    monkeypatch.setenv("LOCAL_WORKERS", "1")
    monkeypatch.setenv("LOCAL_PROCESSING", "inline")
    assert looked()["processing"].status == "warn"
    monkeypatch.setenv("LOCAL_INLINE_SECONDS", "2")
    assert looked()["processing"].status == "ok"


def test_keys_are_judged(here, monkeypatch):
    """A short key in a file fails, one that was typed is warned of, one used twice fails."""
    path = here / "local_consent.key"
    path.write_text("short")
    path.chmod(0o600)
    assert looked()["consent key"].status == "fail"
    monkeypatch.setenv("LOCAL_CONSENT_KEYS", "a" * 40)
    assert looked()["consent key"].status == "warn"
    monkeypatch.setenv("LOCAL_CONSENT_KEYS", f"{KEYS[0]},{KEYS[1]}")
    monkeypatch.setenv("LOCAL_STORE_KEYS", KEYS[1])
    found = looked()
    assert (found["consent key"].status, found["store key"].status) == ("ok", "fail")


def test_key_files_beside_a_shared_store_are_warned_of(here, monkeypatch):
    """Several machines need the same keys, which a file made by one of them is not."""
    monkeypatch.setenv("LOCAL_DATABASE_URL", "postgresql+asyncpg://user@127.0.0.1:1/none")
    found = looked()
    advised = [found[name].advice for name in ("consent key", "store key", "pseudonym key")]
    assert all("the same on every machine" in advice for advice in advised)


def test_the_model_needs_its_key(here, monkeypatch):
    """A model without a key is warned of; tokens that nobody may count are a failure."""
    monkeypatch.setenv("LOCAL_MODEL", "gemini-3-flash")
    assert looked()["model"].status == "warn"
    monkeypatch.setenv("LOCAL_BUDGET_UNIT", "tokens")
    monkeypatch.setenv("LOCAL_MODEL", "local-offline-rules")
    assert looked()["model"].status == "fail"


def test_a_broken_catalogue_fails(here, monkeypatch):
    """The catalogue is read as the service reads it."""
    (here / "catalogue.json").write_text("{}")
    monkeypatch.setenv("LOCAL_CATALOG", "catalogue.json")
    assert looked()["catalogue"].status == "fail"


@pytest.mark.parametrize(
    ("skew", "status"),
    [
        (0, "ok"),
        (SKEW_WARN_MS + 1, "warn"),
        (-SKEW_WARN_MS - 1, "warn"),
        (SKEW_FAIL_MS + 1, "fail"),
    ],
)
def test_clocks_are_compared(here, skew, status):
    """A clock that is off by seconds is warned of, by a minute is a failure, either way."""
    found = Probe("postgresql", "1", "1", wrote=True, clock_ms=NOW)
    check = _clock(load_settings(), lambda: NOW, found, NOW + skew)
    assert check.status == status
    assert f"{skew:+d} ms" in check.found


def test_half_a_channel_fails(here, monkeypatch):
    """Secret and token go together; without a destination events for any bot are taken."""
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_SECRET", SECRET)
    assert looked()["line"].status == "fail"
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_TOKEN", TOKEN)
    assert "LOCAL_LINE_DESTINATION" in looked()["line"].advice


async def asked(monkeypatch, *, token: str, destination: str | None) -> Check:
    """What `--live` finds of a token, asked of the loopback LINE by line-bot-sdk."""
    async with LinePeer(channel_secret=SECRET, channel_token=TOKEN) as peer:
        monkeypatch.setenv("LOCAL_LINE_API_HOST", peer.url)
        monkeypatch.setenv("LOCAL_LINE_CHANNEL_SECRET", SECRET)
        monkeypatch.setenv("LOCAL_LINE_CHANNEL_TOKEN", token)
        monkeypatch.setenv("LOCAL_LINE_DESTINATION", destination or peer.bot)
        found = await examine(live=True, clock=lambda: NOW)
    return found[-1]


async def test_the_token_is_tried(here, monkeypatch):
    """A good token names its bot; a wrong one, and one of another bot, fail with what to do."""
    good = await asked(monkeypatch, token=TOKEN, destination=None)
    assert (good.status, good.found[:15]) == ("ok", "LOCAL (@000loca")
    wrong = await asked(monkeypatch, token="another", destination=None)
    assert (wrong.status, "LINE_UNAUTHORIZED" in wrong.found) == ("fail", True)
    other = await asked(monkeypatch, token=TOKEN, destination="U" + "1" * 32)
    assert (other.status, "LOCAL_LINE_DESTINATION=U" in other.advice) == ("fail", True)


async def test_line_that_cannot_be_reached_is_told(here, monkeypatch):
    """No connection is no verdict on the token."""
    monkeypatch.setenv("LOCAL_LINE_API_HOST", "http://127.0.0.1:1")
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_SECRET", SECRET)
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_TOKEN", TOKEN)
    check = (await examine(live=True, clock=lambda: NOW))[-1]
    assert (check.status, "LINE_UNREACHABLE" in check.found) == ("fail", True)


def test_the_command_says_it_in_lines_and_in_json(here, capsys, monkeypatch):
    """A line a check with its status first; --json holds the same; the status tells of failures."""
    with pytest.raises(SystemExit) as ended:
        main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    assert ended.value.code == 0
    assert all(line.split()[0] == "ok" for line in lines)
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_SECRET", SECRET)
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (ended.value.code, told["ok"], len(told["checks"])) == (1, False, len(lines))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_key_that_cannot_be_read_fails(here):
    """A key file of somebody else is told, not a traceback."""
    path = here / "local_store.key"
    path.write_text(KEYS[0])
    path.chmod(0o000)
    assert looked()["store key"].status == "fail"
