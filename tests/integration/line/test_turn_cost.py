"""What a turn does again and again: nothing is compiled and nothing imported once it is warm."""

import sys
from contextlib import asynccontextmanager, contextmanager

import pytest

from local_agent.line.building import build_line
from local_agent.line.peer_events import line_id
from stores.inbox import State
from tests.support.line import line_settings, peer_of, served, sqlite_url

ANN = line_id("user", 1)
TEXTS = ("花壇有什麼吃的？", "剛才那個鄉鎮有活動嗎？", "我的偏好", "記住我吃素")
_listening: list[list[str]] = []


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    """Note what is compiled, and which modules are looked for on the disk."""
    # A name that stands for no module on purpose (see `stop_import_retry`) is not looked for.
    searched = event == "import" and arguments[0] not in sys.modules
    if _listening and (event == "compile" or searched):
        _listening[-1].append(f"{event} {arguments[0]}")


@pytest.fixture(scope="module", autouse=True)
def hook():
    """An audit hook stays for the life of the process, so it is put in once and switched."""
    sys.addaudithook(_hear)


@contextmanager
def heard():
    _listening.append([])
    try:
        yield _listening[-1]
    finally:
        _listening.clear()


@asynccontextmanager
async def served_line(tmp_path):
    async with (
        peer_of() as peer,
        served(build_line(line_settings(sqlite_url(tmp_path), peer.url))) as app,
    ):
        yield app, peer


async def _write(app, peer):
    for text in TEXTS:
        await peer.post(app.url, peer.events.text(text, user=ANN))
        await app.line.worker.drain()


async def test_a_warm_turn_compiles_and_imports_nothing(tmp_path):
    """From its second message of a kind on, a turn compiles no code and searches no module."""
    async with served_line(tmp_path) as (app, peer):
        await _write(app, peer)
        with heard() as found:
            await _write(app, peer)
        assert await app.line.inbox.counts() == {State.SENT: 2 * len(TEXTS)}
    assert found == []


async def test_the_hook_hears(tmp_path):
    """The check can fail: what is compiled or imported anew is heard."""
    with heard() as found:
        compile("1 + 1", "a", "eval")
        with pytest.raises(ModuleNotFoundError):
            __import__("a_module_that_is_nowhere")
    assert len(found) == 2


async def test_the_first_message_is_warm(tmp_path):
    """Warming up has done what is done once: the first message searches for no module of ADK."""
    async with served_line(tmp_path) as (app, peer):
        assert app.line.worker.ready
        with heard() as found:
            await peer.post(app.url, peer.events.text(TEXTS[0], user=ANN))
            await app.line.worker.drain()
    assert [one for one in found if "google" in one] == []
