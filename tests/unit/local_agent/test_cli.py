"""The command: help, settings, errors, exit statuses, and text under any locale."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_agent import chat_words, cli
from local_agent.settings import Settings, variable_of
from tests.support.logs import logging_restored

CHECKOUT = Path(__file__).parents[3]


@pytest.fixture
def run(capsys):
    """Runs the command here; returns its status, stdout and stderr."""

    def run_here(*arguments: str) -> tuple[object, str, str]:
        with logging_restored(), pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run_here


@pytest.fixture
def typed(monkeypatch, tmp_path):
    """Feeds lines to stdin, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def feed(text: str | bytes) -> None:
        raw = text if isinstance(text, bytes) else text.encode()
        stream = io.TextIOWrapper(io.BytesIO(raw), encoding="ascii", errors="strict")
        monkeypatch.setattr(sys, "stdin", stream)

    return feed


def subprocess_env(**extra: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LOCAL_", "GOOGLE_"))}
    return {**kept, "PYTHONPATH": str(CHECKOUT), **extra}


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "-h"], ["chat", "--help"]])
def test_help_teaches_with_examples(run, arguments):
    """Every help shows an example that can be typed as it stands."""
    status, out, _ = run(*arguments)
    assert status == 0
    assert "Example" in out
    assert "local-agent demo --out out/demo" in out or "local-agent chat" in out


def test_help_imports_neither_adk_nor_pydantic():
    """`--help` imports nothing that takes long, so it answers at once."""
    code = (
        "import sys\nfrom local_agent import cli\n"
        "try:\n cli.main(['--help'])\nexcept SystemExit: pass\n"
        "print([n for n in ('google.adk', 'google.genai', 'pydantic', 'sqlalchemy')"
        " if n in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=subprocess_env(),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_version(run):
    """`--version` says one line."""
    status, out, _ = run("--version")
    assert status == 0
    assert out.startswith("local-agent ")


def test_no_command_shows_help_and_status_2(run):
    """Without a command the help is shown, as an error."""
    status, out, err = run()
    assert (status, out) == (2, "")
    assert "Usage: local-agent" in err


@pytest.mark.parametrize(
    "arguments", [["nope"], ["demo"], ["demo", "--out"], ["--no-such"], ["settings", "extra"]]
)
def test_bad_usage_is_one_sentence_with_a_code(run, arguments):
    """What cannot be done as asked gets one line with a code on stderr, and status 2."""
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.endswith("[COMMAND_INVALID]\n")
    assert "Traceback" not in err


def test_settings_show_every_variable_and_its_origin(run, monkeypatch):
    """Every setting is shown with its variable, and whether it was set or is the default."""
    monkeypatch.setenv("LOCAL_MAX_TURNS", "1")
    monkeypatch.setenv("LOCAL_TENANT", "")
    status, out, _ = run("settings", "--json")
    assert status == 0
    rows = {row["variable"]: row for row in json.loads(out)}
    assert list(rows) == [variable_of(name) for name in Settings.model_fields]
    assert rows["LOCAL_MAX_TURNS"] == {
        "variable": "LOCAL_MAX_TURNS",
        "value": "1",
        "from": "environment",
    }
    assert rows["LOCAL_TENANT"]["from"] == "default"
    assert rows["GOOGLE_API_KEY"]["value"] == "(not set)"
    status, out, _ = run("settings")
    assert status == 0
    assert len(out.splitlines()) == len(rows) + 1


def test_settings_hide_secrets(run, monkeypatch):
    """A secret that was set is never shown, in no form of the output."""
    monkeypatch.setenv("GOOGLE_API_KEY", "key-of-nobody")
    monkeypatch.setenv("LOCAL_CONSENT_KEYS", "s" * 40)
    monkeypatch.setenv("LOCAL_DATABASE_URL", "sqlite+aiosqlite:///secret-name.db")
    for arguments in (["settings"], ["settings", "--json"]):
        _, out, err = run(*arguments)
        for secret in ("key-of-nobody", "s" * 40, "secret-name"):
            assert secret not in out + err
        assert "hidden" in out


def test_a_bad_setting_is_named_and_not_quoted(run, monkeypatch):
    """A setting that cannot be used is named by its variable; its value is not repeated."""
    monkeypatch.setenv("LOCAL_BUDGET_LIMIT", "many")
    for command in ("settings", "chat"):
        status, out, err = run(command)
        assert (status, out) == (2, "")
        assert (
            err == "LOCAL_BUDGET_LIMIT must be a whole number of at least 1. [SETTINGS_INVALID]\n"
        )


@pytest.mark.parametrize(
    ("url", "ends"),
    [
        ("mysql://somewhere/db", (2, "UNSUPPORTED_STORE_URL")),
        ("sqlite+aiosqlite:///no/such/folder/local.db", (1, "STORE_UNAVAILABLE")),
    ],
)
def test_a_store_that_cannot_be_opened(run, typed, monkeypatch, url, ends):
    """A store that cannot be opened is said in one sentence before any question is taken."""
    monkeypatch.setenv("LOCAL_DATABASE_URL", url)
    typed("花壇有什麼吃的？\n")
    status, out, err = run("chat")
    assert (status, out) == (ends[0], "")
    assert err.endswith(f"[{ends[1]}]\n")
    assert "Traceback" not in err


def test_a_conversation_remembers_and_forgets(run, typed):
    """Only y makes LOCAL remember; what it shows is offline, and the end is clean."""
    typed("記住我吃素\nn\n記住我吃素\ny\n我的偏好\n忘記我的飲食偏好\ny\n我的偏好\ny\n")
    status, out, err = run("chat")
    assert (status, err) == (0, "")
    assert "離線規則" in out
    steps = ["好的，不記", "好的，記住了", "您同意我記住：素食", "已經忘記", "我沒有記住"]
    places = [out.index(step) for step in steps]
    assert places == sorted(places)
    assert out.endswith(f"{chat_words.NO_CARD}\n\n{chat_words.GOODBYE}\n")


def test_a_model_without_a_key_is_said(run, typed, monkeypatch):
    """Where a model was named but no key is set, the first lines say why rules answer."""
    monkeypatch.setenv("LOCAL_MODEL", "gemini-3.8-flash")
    typed("再見\n")
    status, out, _ = run("chat")
    assert status == 0
    assert "LOCAL_MODEL 設了 gemini-3.8-flash，但沒有設 GOOGLE_API_KEY" in out


def test_a_conversation_goes_on_where_it_was(run, typed):
    """The window outlives the process: the town is still known in the next conversation."""
    typed("花壇有什麼吃的？\n再見\n鹿港有什麼吃的？\n")
    _, out, _ = run("chat")
    assert "鹿港" not in out.partition("花壇鄉找到")[2]
    typed("剛才那個鄉鎮，有活動嗎？\n")
    _, out, _ = run("chat")
    assert "花壇鄉" in out


def test_bad_messages_get_a_sentence(run, typed):
    """Blank lines, bytes that are no UTF-8 and 1,201 characters are each answered, not fatal."""
    typed(b"   \nabc \xff\xfe\n" + "花".encode() * 1201 + b"\n")
    status, out, _ = run("chat")
    assert status == 0
    for sentence in ("只有空白", "只看得懂文字", "1,200 個字以內"):
        assert sentence in out


def test_ctrl_c_at_the_prompt_ends_cleanly(run, typed, monkeypatch):
    """Ctrl-C while LOCAL waits for a line is a goodbye, not an error."""

    def interrupted(_prompt):
        raise KeyboardInterrupt

    typed("")
    monkeypatch.setattr("builtins.input", interrupted)
    status, out, err = run("chat")
    assert (status, err) == (0, "")
    assert out.endswith(f"{chat_words.GOODBYE}\n")


def test_interrupted_elsewhere_is_status_130(run, monkeypatch):
    """Ctrl-C during work ends with one line and the status that shells expect."""

    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("local_agent.demo.run.run_demo", interrupted)
    status, _, err = run("demo", "--out", "nowhere")
    assert status == 130
    assert err.strip() == "Stopped. [INTERRUPTED]"


def test_what_was_not_foreseen_keeps_its_traceback(monkeypatch):
    """An error without a code is a bug: it is not dressed up as a sentence."""

    def broken(*_args, **_kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr("local_agent.demo.run.run_demo", broken)
    with logging_restored(), pytest.raises(ZeroDivisionError):
        cli.main(["demo", "--out", "nowhere"])


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}])
def test_chinese_under_any_locale(locale, tmp_path):
    """Input and output are UTF-8 under LANG=C too, and ADK's own noise is not heard."""
    result = subprocess.run(
        [sys.executable, "-m", "local_agent.cli", "chat"],
        input="花壇有什麼吃的？\n".encode(),
        env=subprocess_env(PYTHONCOERCECLOCALE="0", **locale),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "花壇鄉找到" in result.stdout.decode("utf-8")
    assert result.stderr == b""


def test_a_reader_that_goes_away_is_no_traceback():
    """`local-agent settings | head -c 1` ends quietly."""
    command = f'"{sys.executable}" -m local_agent.cli settings --json | head -c 1'
    result = subprocess.run(
        ["sh", "-c", command],
        env=subprocess_env(),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == "["
    assert "Traceback" not in result.stderr
