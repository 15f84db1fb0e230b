"""The development signing key."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from local_agent import keyfile
from local_agent.keyfile import pseudonym_key, signing_keys
from local_agent.settings import MIN_KEY_BYTES, SettingsError, load_settings


@pytest.fixture
def settings(tmp_path):
    return load_settings({"consent_key_file": tmp_path / "consent.key"})


def test_the_key_is_made_once_for_its_owner_alone(settings, tmp_path):
    """The first use writes a random key with mode 0600; later uses read it."""
    first = signing_keys(settings)
    assert len(first) == 1
    assert len(first[0]) >= MIN_KEY_BYTES
    assert signing_keys(settings) == first
    assert stat.S_IMODE(settings.consent_key_file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["consent.key"]


def test_two_starts_at_once_share_one_key(settings):
    """Whoever comes second reads the key of whoever came first."""
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: signing_keys(settings), range(16)))
    assert len(set(keys)) == 1


def test_keys_of_the_environment_win(settings, monkeypatch):
    """With LOCAL_CONSENT_KEYS no file is made."""
    monkeypatch.setenv("LOCAL_CONSENT_KEYS", "k" * MIN_KEY_BYTES)
    given = load_settings({"consent_key_file": settings.consent_key_file})
    assert signing_keys(given) == (b"k" * MIN_KEY_BYTES,)
    assert not settings.consent_key_file.exists()


@pytest.mark.parametrize(("content", "mode"), [("k" * MIN_KEY_BYTES, 0o644), ("short", 0o600)])
def test_an_unsafe_file_is_refused(settings, content, mode):
    """A key that others can read, or that is too short, signs nothing."""
    settings.consent_key_file.write_text(content)
    settings.consent_key_file.chmod(mode)
    with pytest.raises(SettingsError, match="LOCAL_CONSENT_KEY_FILE"):
        signing_keys(settings)


def test_a_folder_that_does_not_exist_is_one_sentence(tmp_path):
    """Where the key cannot be written, the variable is named and the path is not."""
    with pytest.raises(SettingsError) as caught:
        signing_keys(load_settings({"consent_key_file": tmp_path / "none" / "key"}))
    assert str(tmp_path) not in str(caught.value)


def test_a_key_is_never_replaced(settings, tmp_path):
    """Making a key where one has appeared in the meantime leaves that one, and no other file."""
    path = settings.consent_key_file
    first = signing_keys(settings)
    keyfile._create(path)
    assert signing_keys(settings) == first
    assert list(tmp_path.iterdir()) == [path]


def test_the_pseudonym_key_is_made_once_like_the_others(tmp_path):
    """Without LOCAL_PSEUDONYM_KEY a key is made once and kept; with it, no file is looked at."""
    file = tmp_path / "pseudonym.key"
    made = pseudonym_key(load_settings({"pseudonym_dev_file": file}))
    assert pseudonym_key(load_settings({"pseudonym_dev_file": file})) == made
    given = load_settings({"pseudonym_dev_file": file, "pseudonym_key": "p" * MIN_KEY_BYTES})
    assert pseudonym_key(given) == b"p" * MIN_KEY_BYTES
