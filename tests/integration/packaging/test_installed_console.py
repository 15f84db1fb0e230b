"""The console of the wheel, where nothing of the checkout is in reach."""

import httpx

from local_agent.console.app import STATIC
from tests.support.console import console


def test_the_installed_console_has_its_files(installed, tmp_path):
    """The page, every file of it and a first answer come from the wheel alone."""
    with console(tmp_path, command=[str(installed.command)], cwd=tmp_path) as running:
        page = httpx.get(running.url)
        assert (page.status_code, "LOCAL" in page.text) == (200, True)
        for name, kind in STATIC.items():
            file = httpx.get(f"{running.url}static/{name}")
            assert (file.status_code, file.headers["content-type"].split(";")[0]) == (200, kind)
        assert httpx.get(f"{running.url}api/state").status_code == 200
        assert running.stop()[::2] == (0, "")
