"""`local-agent console`: the page, and all that it runs, until Ctrl-C."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import signal
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from local_agent.console import words
from local_agent.console.app import create_console
from local_agent.console.guard import is_loopback
from local_agent.console.serving import serving
from local_agent.console.stage import Stage


def run_console(*, host: str, port: int, say: Callable[[str], None]) -> None:
    """Run until the process is asked to stop; then take away what was kept.

    Args:
        host: The address to bind to.
        port: The port; 0 takes a free one.
        say: Tells the person where the page is.

    Raises:
        OSError: The address cannot be bound.
    """
    with (
        _bound(host, port) as listening,
        tempfile.TemporaryDirectory(prefix="local-console-") as folder,
    ):
        if not is_loopback(host):
            say(words.exposed(host))
        asyncio.run(_run(Path(folder), listening, host, say))
    say(words.GOODBYE)


async def _run(
    folder: Path, listening: socket.socket, host: str, say: Callable[[str], None]
) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for asked in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(asked, ended.set)
    async with Stage(folder) as stage:
        app = create_console(stage, name=host, token=secrets.token_urlsafe(32))
        async with serving(app, listening):
            say(words.listening(_address(host, listening.getsockname()[1])))
            await ended.wait()
            stage.news.close()  # or questions for news would hold the server up


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if _is_v6(host) else socket.AF_INET
    return socket.create_server((host, port), family=family)


def _address(host: str, port: int) -> str:
    if _is_v6(host):
        return f"http://[{host}]:{port}/"
    return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}/"  # noqa: S104 - compared


def _is_v6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False
