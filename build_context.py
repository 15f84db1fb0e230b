"""Exports the folder that a container is built from: `python build_context.py --out DIR`.

What is exported stands, file by file, in `deploy/whitelist.txt`; nothing is found by walking
folders, so what lies around in a checkout (keys, databases, notes) cannot slip in. Beside the files
stands `SOURCE_MANIFEST.json` with the SHA-256 of each. The same checkout gives the same bytes.
Needs the standard library alone: a checkout can be exported before anything is installed.
"""

import argparse
import hashlib
import json
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

HOME = Path(__file__).resolve().parent
WHITELIST = HOME / "deploy" / "whitelist.txt"
MANIFEST = "SOURCE_MANIFEST.json"
ENTRY = "examples.day15.main:app"
# What must be decided for every file: on the list, or on it with "!" as knowingly left out.
ROOMS = ("local_agent", "callbacks", "stores", "examples")


class ExportRefused(Exception):
    """The export would not be what the list says, so none is made.

    Attributes:
        error_code: One of the `EXPORT_` codes in docs/codes.md.
        place: The path concerned, apart from the sentence.
    """

    def __init__(self, error_code: str, sentence: str, place: object) -> None:
        super().__init__(sentence)
        self.error_code = error_code
        self.place = str(place)


def read_whitelist(text: str) -> tuple[dict[str, str], set[str]]:
    """Reads the list: a path a line, `source => target` where it moves, `!path` where it stays out.

    `!folder/` leaves out a whole folder; nothing takes one in.

    Returns:
        Targets with their sources, both relative POSIX paths, sorted by target; and what stays out.

    Raises:
        ExportRefused: EXPORT_LIST_INVALID for a path that is absolute, climbs, or comes twice.
    """
    exported: dict[str, str] = {}
    left_out: set[str] = set()
    for line in text.splitlines():
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        source, _, target = (part.strip() for part in entry.removeprefix("!").partition("=>"))
        target = target or source
        taken = target in exported or source in left_out or target == MANIFEST
        if taken or not (_is_plain(source) and _is_plain(target)):
            raise ExportRefused(
                "EXPORT_LIST_INVALID",
                "The whitelist has a path that is unsafe or twice there.",
                entry,
            )
        if entry.startswith("!"):
            left_out.add(source)
        else:
            exported[target] = source
    return dict(sorted(exported.items())), left_out


def export(out: Path, *, home: Path = HOME, whitelist: Path = WHITELIST) -> dict[str, str]:
    """Copies what the whitelist names from `home` to `out`, and writes the manifest beside it.

    Everything is read and checked before the first byte is written.

    Args:
        out: A folder that is empty or not there yet.
        home: The checkout.
        whitelist: The list of files.

    Returns:
        The SHA-256 of each file by its path in `out`.

    Raises:
        ExportRefused: A file is missing or a link, `out` is in use, or writing failed.
    """
    exported, _ = read_whitelist(_read(whitelist, home).decode())
    contents = {target: _read(home / source, home) for target, source in exported.items()}
    digests = {target: hashlib.sha256(data).hexdigest() for target, data in contents.items()}
    manifest = {"format": 1, "entry": ENTRY, "files": digests}
    contents[MANIFEST] = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
    _refuse_used(out)
    try:
        for target, data in contents.items():
            path = out / target
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(
                0o644
            )  # the same for everyone, whatever their umask: a container's user reads it
        for folder in {out, *(parent for target in contents for parent in _folders(out, target))}:
            folder.chmod(0o755)
    except OSError as error:
        raise ExportRefused(
            "EXPORT_WRITE_FAILED", "The target folder could not be written.", error.filename or out
        ) from error
    return digests


def undecided(*, home: Path = HOME, whitelist: Path = WHITELIST) -> list[str]:
    """Files in the rooms that are neither on the list nor marked as left out: a test wants none."""
    exported, left_out = read_whitelist(whitelist.read_text(encoding="utf-8"))
    known = left_out | set(exported.values())
    folders = tuple(path for path in left_out if path.endswith("/"))
    found = (
        path.relative_to(home)
        for room in ROOMS
        for path in (home / room).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    )
    names = sorted(path.as_posix() for path in found)
    return [name for name in names if name not in known and not name.startswith(folders)]


def main(argv: Sequence[str] | None = None) -> int:
    """The command.

    Returns:
        0 when it was done, 2 when that cannot be done as asked, 1 when writing failed; then there
        is one line with the code on stderr.
    """
    parser = argparse.ArgumentParser(
        prog="build_context", description=(__doc__ or "").split("\n")[0]
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--out", type=Path, metavar="DIR", help="folder to make; empty or not there yet"
    )
    what.add_argument(
        "--undecided", action="store_true", help="print files the whitelist is silent about"
    )
    options = parser.parse_args(argv)
    try:
        if options.undecided:
            for path in undecided():
                print(path)
            return 0
        digests = export(options.out)
    except ExportRefused as refused:
        print(f"{refused} ({refused.place}) [{refused.error_code}]", file=sys.stderr)
        return 1 if refused.error_code == "EXPORT_WRITE_FAILED" else 2
    print(f"{len(digests)} files in {options.out}, their SHA-256 in {MANIFEST}; entry {ENTRY}")
    return 0


def _is_plain(path: str) -> bool:
    parts = PurePosixPath(path)
    return (
        path.isprintable()
        and bool(path)
        and not parts.is_absolute()
        and ".." not in parts.parts
        and "\\" not in path
    )


def _read(path: Path, home: Path) -> bytes:
    """The bytes of a regular file that is reached from `home` through no link."""
    steps = (path, *path.parents)
    for step in steps[: steps.index(home)] if home in steps else (path,):
        if step.is_symlink():
            raise ExportRefused(
                "EXPORT_LINK_REFUSED", "A whitelisted path is or crosses a link.", step
            )
    try:
        if stat.S_ISREG(path.stat().st_mode):
            return path.read_bytes()
    except OSError as error:
        raise ExportRefused(
            "EXPORT_SOURCE_MISSING", "A whitelisted file is missing or cannot be read.", path
        ) from error
    raise ExportRefused("EXPORT_SOURCE_MISSING", "A whitelisted path is not a file.", path)


def _refuse_used(out: Path) -> None:
    """Refuses a target that is a link, a file, or a folder with anything in it."""
    if out.is_symlink():
        raise ExportRefused("EXPORT_LINK_REFUSED", "The target folder is a link.", out)
    if out.exists() and not (out.is_dir() and next(out.iterdir(), None) is None):
        raise ExportRefused("EXPORT_TARGET_NOT_EMPTY", "The target is not an empty folder.", out)


def _folders(out: Path, target: str) -> Iterator[Path]:
    for parent in PurePosixPath(target).parents:
        yield out / parent


if __name__ == "__main__":
    sys.exit(main())
