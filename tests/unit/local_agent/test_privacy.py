"""`local-agent privacy` and `keys`: who it is about, what they print, and how they end."""

import asyncio
import io
import json
import sqlite3
from contextlib import closing
from itertools import product

import pytest

from local_agent import cli
from stores.open import open_store
from stores.pseudonym import pseudonym
from stores.records import ForgetResult, Owner, Proposal, SurfaceCheck
from stores.sql.store import SqlStore
from tests.support.logs import logging_restored

SIGNING = b"a signing key of these tests alone"
OLD = "an old store key of these tests that is long enough"
NEW = "a new store key of these tests that is long enough"
SECRET = "a pseudonym key of these tests, long enough"
NOW = 1_000_000
USER = "U" + "1" * 32
OTHER = "U" + "2" * 32
GROUP = "C" + "3" * 32
NOTHING = "Nothing was held of this person.\n"


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Runs the command on a store in a file; returns its status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCAL_DATABASE_URL", "sqlite+aiosqlite:///store.db")
    monkeypatch.setenv("LOCAL_STORE_KEYS", OLD)
    monkeypatch.setenv("LOCAL_PSEUDONYM_KEY", SECRET)

    def run_here(*arguments):
        with logging_restored(), pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run_here


@pytest.fixture
def rows(tmp_path):
    """Counts the rows of every table of the store's file."""

    def count():
        with closing(sqlite3.connect(tmp_path / "store.db")) as bare:
            return {
                table: len(bare.execute(select).fetchall())
                for table, select in bare.execute(
                    "SELECT name, 'SELECT 1 FROM ' || name FROM sqlite_master "
                    "WHERE type = 'table' AND name LIKE 'store_%'"
                )
            }

    return count


def remember(person="ann", key="diet", value="vegan-value"):
    async def tell():
        owner = Owner(tenant="local", person=person)
        async with open_store(
            "sqlite+aiosqlite:///store.db", signing_keys=[SIGNING], store_keys=[OLD.encode()]
        ) as store:
            proposal = Proposal(key=key, purpose="to choose", value=value)
            card = await store.propose(owner, proposal, now_ms=NOW)
            await store.approve(owner, card.token, now_ms=NOW)

    asyncio.run(tell())


def test_inspect_shows_what_is_held(run):
    """What is remembered, and every line of the ledger, is shown; to JSON as well."""
    remember()
    status, out, _ = run("privacy", "inspect", "ann")
    assert status == 0
    assert "diet = vegan-value" in out
    assert [line.split()[2] for line in out.splitlines() if line.startswith("ledger")] == [
        "proposed",
        "granted",
    ]
    status, out, _ = run("privacy", "inspect", "ann", "--json")
    assert json.loads(out)["values"]["diet"]["value"] == "vegan-value"
    assert "remembered" not in run("privacy", "inspect", "ben")[1]


def test_a_user_of_a_channel_is_found(run):
    """The channel's own id leads to the same person as their pseudonym, in their tenant alone."""
    remember(pseudonym(SECRET.encode(), "local", "line", USER))
    in_group = ["--channel", "line.group", "--user", f"{GROUP}/{USER}"]
    assert "vegan-value" in run("privacy", "inspect", "--user", USER)[1]
    for other in (["--user", OTHER], ["--user", USER, "--tenant", "x"], in_group):
        status, out, _ = run("privacy", "inspect", *other)
        assert (status, "vegan-value" in out, USER in out) == (0, False, False)
    remember(pseudonym(SECRET.encode(), "local", "line.group", f"{GROUP}/{USER}"), value="fish")
    assert "diet = fish" in run("privacy", "inspect", *in_group)[1]


def test_without_the_key_nobody_is_guessed(run, monkeypatch):
    """A user's id without the key that makes pseudonyms is refused by the variable's name."""
    monkeypatch.delenv("LOCAL_PSEUDONYM_KEY")
    status, _, err = run("privacy", "inspect", "--user", USER)
    assert (status, "LOCAL_PSEUDONYM_KEY" in err, "SETTINGS_INVALID" in err) == (2, True, True)


@pytest.mark.parametrize(
    "arguments",
    [["inspect"], ["inspect", "ann", "--user", "U1"], ["forget", "ann"],
     ["forget", "ann", "--key", "diet", "--all"]],
)  # fmt: skip
def test_what_is_not_said_is_asked_for(run, arguments):
    """A person, and what to forget, are said once, or the command says how."""
    status, _, err = run("privacy", *arguments)
    assert (status, "COMMAND_INVALID" in err) == (2, True)


COMMANDS = (
    ["inspect"],
    ["export"],
    ["forget", "--all"],
    ["forget", "--key", "dietary_type"],
    ["erase", "--yes"],
)


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ("Ubbb", "U and 32 hexadecimal digits"),
        ("U" + "B" * 32, "in lower case"),
        (USER + "1", "U and 32 hexadecimal digits"),
        (USER + "\n", "U and 32 hexadecimal digits"),
        ("", "U and 32 hexadecimal digits"),
        (GROUP, "--channel line.group"),
        (f"{GROUP}/{USER}", "U and 32 hexadecimal digits"),
    ],
)
def test_a_mistyped_id_is_refused(run, rows, user, says):
    """What is no user's id on LINE names nobody: it is refused, not repeated, and makes no row."""
    remember()
    before = rows()
    for command in COMMANDS:
        status, out, err = run("privacy", *command, "--user", user)
        assert (status, out, "COMMAND_INVALID" in err, says in err) == (2, "", True, True)
        assert not user or user not in err
    assert rows() == before


@pytest.mark.parametrize(
    "user", [USER, GROUP, f"{GROUP}/", f"/{USER}", f"{USER}/{USER}", f"{GROUP}/{USER}/{USER}"]
)
def test_somebody_in_a_group_is_named_by_both_ids(run, user):
    """In a group a person is the chat's and their own id together; one alone is refused."""
    remember()
    asked = ["--channel", "line.group", "--user", user]
    status, out, err = run("privacy", "erase", *asked, "--yes")
    assert (status, out, "COMMAND_INVALID" in err, "CHAT/USER" in err) == (2, "", True, True)


@pytest.mark.parametrize(
    ("channel", "says"),
    [
        ("Line", "did you mean line?"),
        ("lin", "did you mean line?"),
        ("line-group", "did you mean line.group?"),
        ("web", "there are line and line.group."),
        ("", "there are line and line.group."),
    ],
)
def test_an_unknown_channel_is_refused(run, rows, channel, says):
    """On another channel everybody is a stranger: one that LOCAL has not is refused by name."""
    remember()
    before = rows()
    for command, who in product(COMMANDS, (["--user", USER], ["ann"])):
        status, out, err = run("privacy", *command, *who, "--channel", channel)
        assert (status, out, "COMMAND_INVALID" in err) == (2, "", True)
        assert (f"There is no channel {channel!r}" in err, says in err) == (True, True)
    assert rows() == before


@pytest.mark.parametrize("who", [["nobodyhere"], ["--user", OTHER]])
def test_of_a_stranger_nothing_was_held(run, rows, who):
    """A sentence says that nothing was held; no row is made, and a list goes on with status 0."""
    remember()
    before = rows()
    for command in (["erase", "--yes"], ["forget", "--all"], ["forget", "--key", "diet"]):
        for _ in range(2):
            assert run("privacy", *command, *who) == (0, NOTHING, "")
        status, out, _ = run("privacy", *command, *who, "--json")
        assert (status, json.loads(out)) == (0, {"held": "nothing", "complete": True})
    status, out, _ = run("privacy", "inspect", *who)
    assert (status, out.splitlines()[1:]) == (0, ["Nothing is held of this person."])
    assert json.loads(run("privacy", "inspect", *who, "--json")[1])["held"] == "nothing"
    assert rows() == before
    assert "diet = vegan-value" in run("privacy", "inspect", "ann")[1]


def test_of_a_stranger_no_export_is_made(run, rows, tmp_path):
    """An export of nobody would look like one of somebody: a sentence says so, and no file is."""
    remember()
    before = rows()
    said = "Nothing is held of this person.\n"
    assert run("privacy", "export", "nobodyhere", "--out", "p.json") == (0, "", said)
    assert not (tmp_path / "p.json").exists()
    status, out, err = run("privacy", "export", "nobodyhere", "--json")
    assert (status, json.loads(out), err) == (0, {"held": "nothing"}, said)
    assert rows() == before


def test_of_an_erased_person_a_tombstone_alone_is_held(run):
    """Of somebody erased nothing is held but what stops old words, and every command says so."""
    remember()
    status, out, _ = run("privacy", "erase", "ann", "--yes")
    assert (status, NOTHING in out) == (0, False)
    status, out, _ = run("privacy", "inspect", "ann")
    assert (status, out.splitlines()[1]) == (0, "Nothing is held of this person.")
    assert out.splitlines()[2].startswith("A tombstone without content is kept")
    status, out, _ = run("privacy", "erase", "ann", "--yes")
    assert (status, out.startswith(NOTHING), "A tombstone" in out) == (0, True, True)
    # That they asked again counts: what was said since is not learned either.
    held = json.loads(run("privacy", "inspect", "ann", "--json")[1])
    assert (held["held"], held["revision"]) == ("tombstone", 3)
    assert json.loads(run("privacy", "export", "ann")[1])["revision"] == 3


def test_somebody_who_only_left_is_held_and_erased(run, rows):
    """A mark of the inbox is held as well: it is told without content, and an erasure takes it."""
    remember()

    async def leave():
        async with open_store("sqlite+aiosqlite:///store.db", store_keys=[OLD.encode()]) as store:
            await store.inbox("local").leave("ben", said_at_ms=NOW, due_at_ms=NOW)

    asyncio.run(leave())
    status, out, _ = run("privacy", "inspect", "ben")
    assert (status, out.splitlines()[1].startswith("Marks without content")) == (0, True)
    status, out, _ = run("privacy", "erase", "ben", "--yes")
    assert (status, NOTHING in out, rows()["store_leavers"]) == (0, False, 0)


def test_without_the_ring_a_person_is_still_erased(run, monkeypatch):
    """Whether somebody is known needs no key: who lost the ring can take people out (8)."""
    remember()
    monkeypatch.setenv("LOCAL_STORE_KEYS", NEW)
    status, out, _ = run("privacy", "erase", "ann", "--yes")
    assert (status, "vault         gone" in out) == (0, True)


def test_export_writes_a_file_for_its_owner_alone(run, tmp_path):
    """An export is JSON with a receipt, in a new file that nobody else can read."""
    remember()
    status, _, _ = run("privacy", "export", "ann", "--out", "p.json", "--controller", "the town")
    file = tmp_path / "p.json"
    told = json.loads(file.read_text())
    assert (status, file.stat().st_mode & 0o777) == (0, 0o600)
    assert told["preferences"]["diet"]["value"] == "vegan-value"
    assert told["receipt"]["pii_controllers"][0]["name"] == "the town"
    status, _, err = run("privacy", "export", "ann", "--out", "p.json")
    assert (status, "OUTPUT_EXISTS" in err) == (2, True)
    assert json.loads(run("privacy", "export", "ann")[1])["person"] == "ann"


def test_a_name_that_was_never_remembered_is_not_said_to_be_gone(run):
    """A misspelt name is refused: "gone" beside a value that is still there would be believed."""
    remember()
    status, out, err = run("privacy", "forget", "ann", "--key", "diett")
    assert (status, out) == (2, "")
    assert "dietary_type" in err
    assert err.rstrip().endswith("[NOT_REMEMBERED]")
    assert "diet = vegan-value" in run("privacy", "inspect", "ann")[1]
    # What LOCAL itself remembers may be forgotten of anybody, as often as one likes.
    assert run("privacy", "forget", "ben", "--key", "dietary_type")[0] == 0
    assert run("privacy", "forget", "ann", "--key", "diet")[0] == 0
    assert run("privacy", "forget", "ann", "--key", "diet")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["privacy", "inspect", "ann"],
        ["privacy", "erase", "ann", "--yes"],
        ["keys", "rotate"],
        ["inbox", "counts"],
        ["evidence", "show", "G1", "--person", "ann"],
    ],
)
def test_in_the_wrong_folder_nothing_is_said_to_be_gone(run, monkeypatch, tmp_path, arguments):
    """Where there is no store none is made, and no key: an empty one would hold nobody."""
    monkeypatch.delenv("LOCAL_STORE_KEYS")
    status, out, err = run(*arguments)
    assert (status, out) == (1, "")
    assert err.startswith("There is no store: the file that the database's URL names")
    assert err.endswith(" [STORE_UNAVAILABLE]\n")
    assert list(tmp_path.iterdir()) == []


def test_forget_says_what_is_gone_where(run):
    """Each surface that was read back is printed, and the value is in no file (8)."""
    remember()
    remember(key="area", value="north")
    status, out, _ = run("privacy", "forget", "ann", "--key", "diet")
    gone = [line.split()[0] for line in out.splitlines() if line.endswith(" gone")]
    assert (status, gone[:3]) == (0, ["preferences", "cards", "journal"])
    assert {"wal", "files"} <= set(gone)
    held = json.loads(run("privacy", "inspect", "ann", "--json")[1])
    assert set(held["values"]) == {"area"}
    assert held["events"][-1]["channel"] == "operator"
    status, out, _ = run("privacy", "forget", "ann", "--all", "--json")
    assert (status, json.loads(out)["complete"]) == (0, True)


def test_erase_asks_first(run, monkeypatch):
    """A person is taken out after a yes; then nothing but the tombstone is held (8)."""
    remember()
    status, out, _ = run("privacy", "erase", "ann", "--yes")
    assert (status, "ledger        gone" in out) == (0, True)
    held = json.loads(run("privacy", "inspect", "ann", "--json")[1])
    assert (held["values"], held["events"], held["revision"]) == ({}, [], 2)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    status, _, err = run("privacy", "erase", "ann")
    assert (status, "INTERRUPTED" in err) == (130, True)


def test_what_is_left_fails(run, monkeypatch):
    """Where reading back finds something, its surface is printed and the status is 1 (8)."""

    async def leaves(self, owner, key, **_):
        left = (
            SurfaceCheck(surface="cards", remaining=2),
            SurfaceCheck(surface="wal", remaining=0),
        )
        return ForgetResult(revision=1, verified=left, attempts=3)

    remember()
    monkeypatch.setattr(SqlStore, "forget", leaves)
    status, out, err = run("privacy", "forget", "ann", "--all")
    assert (status, "FORGETTING_INCOMPLETE" in err) == (1, True)
    assert "cards         2 STILL THERE" in out


def test_a_lost_key_is_said(run, monkeypatch):
    """A data key that the ring cannot open stays as it is, is counted, and fails the command."""
    remember()
    monkeypatch.setenv("LOCAL_STORE_KEYS", NEW)
    status, out, err = run("keys", "rotate", "--json")
    assert (status, json.loads(out)["lost"], "STORE_KEY_MISSING" in err) == (1, 1, True)


def test_keys_rotate_to_the_newest(run, monkeypatch):
    """A key that was put first wraps everything, and the old one is needed no more."""
    remember()
    monkeypatch.setenv("LOCAL_STORE_KEYS", f"{NEW},{OLD}")
    status, out, _ = run("keys", "rotate")
    assert (status, out.split()[:3]) == (0, ["wrapped", "anew", "1"])
    monkeypatch.setenv("LOCAL_STORE_KEYS", NEW)
    assert "vegan-value" in run("privacy", "inspect", "ann")[1]
