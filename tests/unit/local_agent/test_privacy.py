"""`local-agent privacy` and `keys`: who it is about, what they print, and how they end."""

import asyncio
import io
import json
import sqlite3
from contextlib import closing

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
ANN = "U0123456789abcdef0123456789abcde0"
BEN = "U0123456789abcdef0123456789abcde1"
CLUB = "C0123456789abcdef0123456789abcde2"


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


def people():
    """Return of whom the store has a row."""
    with closing(sqlite3.connect("store.db")) as bare:
        return [person for (person,) in bare.execute("SELECT person FROM store_people")]


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
    remember(pseudonym(SECRET.encode(), "local", "line", ANN))
    remember(pseudonym(SECRET.encode(), "local", "line.group", f"{CLUB}/{BEN}"), value="club-value")
    assert "vegan-value" in run("privacy", "inspect", "--user", ANN)[1]
    club = ["--user", f"{CLUB}/{BEN}", "--channel", "line.group"]
    assert "club-value" in run("privacy", "inspect", *club)[1]
    for other in (["--user", BEN], ["--user", ANN, "--tenant", "x"]):
        status, out, _ = run("privacy", "inspect", *other)
        assert (status, "-value" in out, other[1] in out) == (0, False, False)


MISTYPED = [
    (["--user", "Ubbb"], "no id of a LINE user"),
    (["--user", ANN[:-1]], "no id of a LINE user"),
    (["--user", f"{ANN}0"], "no id of a LINE user"),
    (["--user", f"{ANN}\n"], "no id of a LINE user"),
    (["--user", ANN.upper()], "no id of a LINE user"),
    (["--user", CLUB], "id of a group or room"),
    (["--user", CLUB.replace("C", "R")], "--channel line.group"),
    (["--user", ANN, "--channel", "Line"], "channel Line (nearest: line);"),
    (["--user", ANN, "--channel", "line.gruop"], "(nearest: line.group)"),
    (["--user", ANN, "--channel", "zz"], "channel zz; there are line and line.group."),
    (["--user", ANN, "--channel", ""], "There is no channel"),
    (["--user", ANN, "--channel", "line.group"], "GROUP/USER"),
    (["--user", f"{BEN}/{ANN}", "--channel", "line.group"], "GROUP/USER"),
]


@pytest.mark.parametrize(("who", "told"), MISTYPED)
@pytest.mark.parametrize(
    "what",
    [
        ["privacy", "inspect"],
        ["privacy", "export"],
        ["privacy", "forget", "--all"],
        ["privacy", "erase", "--yes"],
        ["evidence", "show", "G1"],
    ],
)
def test_a_mistyped_id_is_nobody(run, what, who, told):
    """An id that its channel cannot give is refused: "gone" would be believed of another."""
    remember()
    status, out, err = run(*what, *who)
    assert (status, out) == (2, "")
    assert told in err
    assert err.rstrip().endswith("[COMMAND_INVALID]")
    assert ANN not in err
    assert people() == ["ann"]


@pytest.mark.parametrize(
    "what",
    [
        ["privacy", "inspect", "ann"],
        ["privacy", "export", "ann"],
        ["privacy", "forget", "ann", "--all"],
        ["privacy", "erase", "ann", "--yes"],
        ["evidence", "show", "G1", "--person", "ann"],
    ],
)
def test_an_unknown_channel_beside_a_pseudonym_is_refused(run, what):
    """Who names a channel that there is not is told so, even where the person is named without."""
    remember()
    status, out, err = run(*what, "--channel", "Line")
    assert (status, out, "channel Line (nearest: line);" in err) == (2, "", True)
    assert "diet = vegan-value" in run("privacy", "inspect", "ann", "--channel", "line")[1]


@pytest.mark.parametrize(
    "what",
    [
        ["forget", "--all"],
        ["forget", "--key", "dietary_type"],
        ["forget", "--key", "diet"],
        ["erase", "--yes"],
        ["erase", "--yes", "--keep-ledger"],
        ["erase"],
    ],
)
@pytest.mark.parametrize("who", [["nobodyhere"], ["--user", ANN]])
def test_of_a_stranger_nothing_was_held(run, what, who):
    """Nothing is said to be gone, nobody is asked, no row is made, and a list of people goes on."""
    remember()
    status, out, err = run("privacy", *what, *who)
    assert (status, err) == (0, "")
    assert out.startswith("nothing was held of this person in the tenant local, and nothing was w")
    assert ("--user" in out) is (who == ["nobodyhere"])
    status, out, _ = run("privacy", *what, *who, "--json")
    told = json.loads(out)
    assert (status, told["outcome"], told["held"]) == (0, "nothing_held", False)
    assert (told["complete"], told["verified"]) == (True, [])
    assert people() == ["ann"]


def test_a_stranger_is_shown_as_one(run):
    """To look or to export says that nothing is held; the export is still an answer, in JSON."""
    remember()
    status, out, _ = run("privacy", "inspect", "nobodyhere", "--tenant", "twon")
    assert (status, out.startswith("nothing is held of this person in the tenant twon")) == (
        0,
        True,
    )
    status, out, err = run("privacy", "export", "nobodyhere")
    assert (status, json.loads(out)["preferences"]) == (0, {})
    assert err.startswith("nothing is held of this person in the tenant local")
    assert run("privacy", "export", "ann")[2] == ""
    assert "nothing is held" not in run("privacy", "inspect", "ann")[1]
    assert people() == ["ann"]


def test_what_the_inbox_alone_holds_is_no_stranger(run):
    """Somebody who asked and had nothing remembered is erased, not said to be unknown (8)."""

    async def spend():
        async with open_store("sqlite+aiosqlite:///store.db") as store:
            await store.inbox("local").spend("ben", event_id="e", day="2026-01-01", most=9)

    asyncio.run(spend())
    assert "inbox         1 rows, 0 events not done" in run("privacy", "inspect", "ben")[1]
    status, out, _ = run("privacy", "erase", "ben", "--yes")
    assert (status, "inbox         gone" in out, "nothing was held" in out) == (0, True, False)
    assert "nothing is held of this person but the tombstone" in run("privacy", "inspect", "ben")[1]


def test_a_tombstone_is_told_from_what_is_held(run):
    """Who was erased is known by their tombstone alone, and a second time nothing else was held."""
    remember()
    status, out, _ = run("privacy", "erase", "ann", "--yes", "--json")
    assert (status, json.loads(out)["held"]) == (0, True)
    assert "nothing is held of this person but the tombstone" in run("privacy", "inspect", "ann")[1]
    status, out, _ = run("privacy", "erase", "ann", "--yes")
    assert (status, out.splitlines()[0]) == (
        0,
        "nothing was held of this person but the tombstone",
    )
    assert json.loads(run("privacy", "erase", "ann", "--yes", "--json")[1])["held"] is False


def test_who_cannot_read_can_erase(run, monkeypatch):
    """Values that no key at hand opens are held, and are taken away all the same (8)."""
    remember()
    monkeypatch.setenv("LOCAL_STORE_KEYS", NEW)
    status, out, _ = run("privacy", "erase", "ann", "--yes")
    assert (status, "preferences   gone" in out, "nothing was held" in out) == (0, True, False)


def test_without_the_key_nobody_is_guessed(run, monkeypatch):
    """A user's id without the key that makes pseudonyms is refused by the variable's name."""
    monkeypatch.delenv("LOCAL_PSEUDONYM_KEY")
    status, _, err = run("privacy", "inspect", "--user", ANN)
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
