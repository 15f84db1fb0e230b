"""Settings: their table, their errors, their secrets."""

import re
from pathlib import Path

import pytest
from pydantic import SecretStr

from local_agent.settings import (
    MIN_KEY_BYTES,
    Settings,
    SettingsError,
    load_settings,
    variable_of,
)

ROOT = Path(__file__).parents[3]
KEY = "k" * MIN_KEY_BYTES
SECRET = "hidden-value-of-a-secret-that-is-long-enough"


def _shown(default):
    if default is None:
        return "not set"
    if isinstance(default, bool):
        return "`yes`" if default else "`no`"
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    return f"`{default}`"


def test_the_table_is_the_model():
    """docs/settings.md has every variable once, with its default and what it must be."""
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    expected = {
        variable_of(name): (_shown(field.default), field.description)
        for name, field in Settings.model_fields.items()
    }
    assert len(rows) == len(expected)
    assert {row[0]: (row[1], row[2]) for row in rows} == expected


def test_secrets_are_marked_in_the_table():
    """Every secret of the model is called one in docs/settings.md, and nothing else is."""
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    marked = set(re.findall(r"^\| `(\w+)` \|.*\| Secret[. ]", text, re.MULTILINE))
    secret = {
        variable_of(name)
        for name, field in Settings.model_fields.items()
        if "SecretStr" in str(field.annotation)
    }
    assert marked == secret


def test_the_defaults_work_without_any_variable():
    """On a fresh machine LOCAL answers offline, by the rules of the articles."""
    settings = load_settings()
    assert settings.offline
    assert (settings.max_turns, settings.context_ttl_seconds) == (2, 900)
    assert settings.max_message_chars == 1_200
    assert settings.signing_keys == ()
    assert str(settings.zone) == "Asia/Taipei"


def test_an_empty_variable_is_not_set(monkeypatch):
    """A variable that is set to nothing keeps its default."""
    monkeypatch.setenv("LOCAL_MAX_TURNS", "")
    monkeypatch.setenv("GOOGLE_API_KEY", "")
    assert load_settings().max_turns == 2
    assert load_settings().google_api_key is None


def test_gemini_needs_a_model_and_a_key(monkeypatch):
    """Only a model's name together with a key leaves the offline rules."""
    monkeypatch.setenv("LOCAL_MODEL", "gemini-3.8-flash")
    assert load_settings().offline
    monkeypatch.setenv("GOOGLE_API_KEY", SECRET)
    assert not load_settings().offline
    monkeypatch.delenv("LOCAL_MODEL")
    assert load_settings().offline


def test_secrets_are_in_no_repr(monkeypatch):
    """Keys and the database URL appear neither in repr nor in a dump as text."""
    for variable in ("GOOGLE_API_KEY", "LOCAL_CONSENT_KEYS", "LOCAL_DATABASE_URL"):
        monkeypatch.setenv(variable, SECRET)
    settings = load_settings()
    assert settings.signing_keys == (SECRET.encode(),)
    assert SECRET not in f"{settings!r}{settings}{settings.model_dump()}"
    assert SECRET not in settings.model_dump_json()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LOCAL_BUDGET_LIMIT", "0"),
        ("LOCAL_BUDGET_LIMIT", "many"),
        ("LOCAL_BUDGET_UNIT", "chars"),
        ("LOCAL_MAX_TURNS", "-1"),
        ("LOCAL_CONTEXT_TTL_SECONDS", "1.5"),
        ("LOCAL_MAX_MESSAGE_CHARS", "0"),
        ("LOCAL_TENANT", "   "),
        ("LOCAL_TIMEZONE", "Mars/Base"),
        ("LOCAL_TIMEZONE", "../etc"),
        ("LOCAL_LOG_LEVEL", "LOUD"),
        ("LOCAL_APPROVE_COUNT_TOKENS", "maybe"),
        ("LOCAL_CONSENT_KEYS", "short-secret"),
        ("LOCAL_CONSENT_KEYS", f"{KEY},"),
        ("LOCAL_LINE_CHANNEL_SECRET", "two words"),
        ("LOCAL_LINE_DESTINATION", "Ubot"),
        ("LOCAL_LINE_ALLOWLIST", "U1"),
        ("LOCAL_LINE_API_HOST", "http://api.line.me"),
        ("LOCAL_LINE_API_HOST", "http://127.0.0.1.example.org"),
        ("LOCAL_PROCESSING", "later"),
        ("LOCAL_MAX_BODY_BYTES", "17000000"),
    ],
)
def test_a_bad_value_is_one_sentence_that_names_the_variable(monkeypatch, variable, value):
    """A refused value is named by its variable and by what it must be, and never repeated."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    error = caught.value
    assert error.error_code == "SETTINGS_INVALID"
    assert error.variable == variable
    assert str(error).startswith(f"{variable} must be ")
    assert error.numbers == {"faults": 1}
    assert error.__cause__ is None
    assert error.__context__ is None
    assert value not in str(error) or value in {"0", "-1"}


def test_keys_are_split_and_keep_their_order(monkeypatch):
    """Several keys are separated by commas, the newest first."""
    monkeypatch.setenv("LOCAL_CONSENT_KEYS", f"{KEY}1, {KEY}2")
    assert load_settings().signing_keys == (f"{KEY}1".encode(), f"{KEY}2".encode())


def test_overrides_win(monkeypatch):
    """A command's own value wins over the environment and is checked alike."""
    monkeypatch.setenv("LOCAL_BUDGET_LIMIT", "10")
    assert load_settings({"budget_limit": 1}).budget_limit == 1
    assert load_settings({"log_level": "debug"}).log_level == "DEBUG"
    with pytest.raises(SettingsError, match="LOCAL_BUDGET_LIMIT"):
        load_settings({"budget_limit": 0})


def test_an_override_of_nothing_is_an_error():
    """A misspelled override is refused, not ignored."""
    with pytest.raises(SettingsError) as caught:
        load_settings({"budget_limits": 1})
    assert caught.value.error_code == "SETTINGS_INVALID"


def test_a_bad_key_of_the_api_is_named_by_its_variable():
    """A field with a variable name of its own is named by that."""
    with pytest.raises(SettingsError, match="GOOGLE_API_KEY must be"):
        load_settings({"google_api_key": 5})


def test_a_variable_of_no_field_is_an_error():
    """Only fields have variables."""
    with pytest.raises(KeyError):
        variable_of("nothing")


def test_a_secret_may_be_a_file(monkeypatch, tmp_path):
    """X_FILE names a file with the value of the secret X, without its line end; X itself wins."""
    file = tmp_path / "token"
    file.write_text("from-a-file\n")
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_TOKEN_FILE", str(file))
    token = load_settings().line_channel_token
    assert token is not None
    assert token.get_secret_value() == "from-a-file"
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_TOKEN", "from-a-variable")
    token = load_settings().line_channel_token
    assert token is not None
    assert token.get_secret_value() == "from-a-variable"


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"])
def test_a_secret_file_without_a_secret_is_refused(monkeypatch, tmp_path, content):
    """A file that is missing, empty or no text stops the start, and its path is not told."""
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_TOKEN_FILE", str(file))
    with pytest.raises(SettingsError, match="LOCAL_LINE_CHANNEL_TOKEN_FILE") as caught:
        load_settings()
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.__suppress_context__


def test_only_secrets_are_read_from_files(monkeypatch, tmp_path):
    """A file that a plain setting seems to name is not looked at."""
    file = tmp_path / "turns"
    file.write_text("7")
    monkeypatch.setenv("LOCAL_MAX_TURNS_FILE", str(file))
    assert load_settings().max_turns == 2


def test_the_allowlist_is_ids(monkeypatch):
    """Without an allowlist everybody is let in; with one, its ids alone."""
    assert load_settings().allowed_ids is None
    first, second = "U" + "0" * 32, "C" + "a" * 32
    monkeypatch.setenv("LOCAL_LINE_ALLOWLIST", f"{first}, {second}")
    assert load_settings().allowed_ids == frozenset({first, second})
