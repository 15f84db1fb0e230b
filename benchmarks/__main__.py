"""Runs one benchmark: `python -m benchmarks NAME --json [--out FILE]`.

A benchmark is a module or package of this folder with a `main`: a click command, or a function that
takes the arguments and returns an exit status. Its docstring's first line is its entry in the list.
"""

import ast
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click

_OWN = frozenset({"benchmarks", "callbacks", "local_agent", "stores", "tests"})
_EXTRAS = "bench,dev,evidence,line"


def available() -> dict[str, str]:
    """The benchmarks' names with what they measure, read without importing them."""
    found = {}
    here = Path(__file__).parent
    for path in (*here.glob("[!_]*.py"), *here.glob("*/__init__.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if "main" in {getattr(node, "name", None) for node in tree.body}:
            name = path.parent.name if path.stem == "__init__" else path.stem
            found[name] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return dict(sorted(found.items()))


def main(argv: Sequence[str] | None = None) -> int:
    """Hands the arguments after NAME to that benchmark.

    Returns:
        The benchmark's exit status; 0 after a list that was asked for, 2 for an unknown name.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    benchmarks = available()
    name = arguments[0] if arguments else ""
    if name not in benchmarks:
        asked = name in {"-h", "--help"}
        if name and not asked:
            click.echo(f"There is no benchmark of that name: {name}", err=True)
        click.echo("Usage: python -m benchmarks NAME --json [--out FILE]", err=not asked)
        for known, measures in benchmarks.items():
            click.echo(f"  {known:<12} {measures}", err=not asked)
        return 0 if asked else 2
    try:
        run = import_module(f"benchmarks.{name}").main
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _OWN:
            raise
        click.echo(
            f"{name} needs {error.name}, of an extra: pip install -e '.[{_EXTRAS}]'", err=True
        )
        return 2
    if isinstance(run, click.Command):
        run.main(arguments[1:], prog_name=f"python -m benchmarks {name}")  # exits with its status
    return int(run(arguments[1:]) or 0)


if __name__ == "__main__":
    sys.exit(main())
