"""What may be committed."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

# Put together here, so that this file does not name what it forbids.
PUBLIC_REGISTRIES = {
    ".".join(parts)
    for parts in (("pypi", "org"), ("files", "pythonhosted", "org"), ("registry", "npmjs", "org"))
}
MACHINE_PATH = re.compile(r"(?<![\w.~$}*])/(?:work|farm|root|tmp/[a-z0-9]+|home/\w+|Users/\w+)/")
LARGEST_BYTES = 1_000_000


def configured_registries() -> Iterator[str]:
    """Hosts of the package indexes that this machine's environment names."""
    for name, value in os.environ.items():
        if name.endswith(("INDEX_URL", "_INDEX", "REGISTRY")):
            for address in value.split():
                host = urlsplit(address.partition("=")[2] or address).hostname
                if host not in {None, "localhost", "127.0.0.1"}:
                    yield str(host)


def texts(tracked: list[Path]) -> Iterator[tuple[Path, str]]:
    for path in tracked:
        if path.is_file():
            yield path, path.read_text(encoding="utf-8", errors="replace")


def test_no_registry_host(tracked):
    """No tracked file names the host of a package registry, locks included."""
    hosts = PUBLIC_REGISTRIES | set(configured_registries())
    found = [(path.name, host) for path, text in texts(tracked) for host in hosts if host in text]
    assert found == []


def test_no_machine_path(tracked):
    """No tracked file names a path of the machine that it was written on."""
    found = [
        (path.name, hit) for path, text in texts(tracked) for hit in MACHINE_PATH.findall(text)
    ]
    assert found == []


def test_no_secret_database_or_foreign_lock(tracked):
    """Secrets, databases and locks that hold registry addresses are never tracked."""
    forbidden = re.compile(r"^(\.env(\..*)?|uv\.lock|poetry\.lock|.*\.(db|sqlite|pem|key))$")
    assert [path.name for path in tracked if forbidden.match(path.name)] == []


def test_nothing_large_or_linked(tracked):
    """A tracked file is a real file below a megabyte."""
    assert [path.name for path in tracked if path.is_symlink()] == []
    assert [
        path.name for path in tracked if path.is_file() and path.stat().st_size > LARGEST_BYTES
    ] == []
