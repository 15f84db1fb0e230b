"""`python -m benchmarks`: a list, and one benchmark by its name."""

import subprocess
import sys

import click
import pytest

import benchmarks.__main__ as command


@pytest.fixture
def some(monkeypatch):
    """Two benchmarks, one of each kind, and what they were called with."""
    calls = []

    @click.command()
    @click.option("--json", "as_json", is_flag=True)
    def clicked(as_json):
        calls.append(as_json)

    def plain(argv):
        calls.append(argv)
        return 3

    kinds = {"benchmarks.clicked": clicked, "benchmarks.plain": plain}
    monkeypatch.setattr(command, "available", lambda: {"clicked": "one", "plain": "two"})
    monkeypatch.setattr(
        command, "import_module", lambda name: type("Module", (), {"main": kinds[name]})
    )
    return calls


def test_hands_on_arguments_and_status(some):
    """The arguments after the name reach the benchmark, and its status comes back."""
    assert command.main(["plain", "--json", "--out", "x"]) == 3
    assert some == [["--json", "--out", "x"]]


@pytest.mark.parametrize(("arguments", "status"), [(["--json"], 0), (["--no-such"], 2)])
def test_click_commands_exit_by_themselves(some, arguments, status):
    """A click command parses its own arguments and exits with its own status."""
    with pytest.raises(SystemExit) as ended:
        command.main(["clicked", *arguments])
    assert ended.value.code == status


def test_unknown_name_is_said_and_listed(some, capsys):
    """An unknown name gets a sentence, the list, and status 2."""
    assert command.main(["nothing"]) == 2
    said = capsys.readouterr().err
    assert "There is no benchmark of that name: nothing" in said
    assert "clicked" in said


def test_help_lists_real_benchmarks(checkout):
    """--help lists every benchmark with its docstring's first line, and exits with 0."""
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0
    for name, measures in command.available().items():
        assert measures
        assert f"  {name:<12} {measures}" in result.stdout


def test_a_missing_extra_is_one_sentence(some, monkeypatch, capsys):
    """A benchmark whose libraries are not installed says which extra has them."""

    def missing(name):
        return lambda _: (_ for _ in ()).throw(ModuleNotFoundError("none", name=name))

    monkeypatch.setattr(command, "import_module", missing("tokenizers.models"))
    assert command.main(["clicked"]) == 2
    assert "clicked needs tokenizers.models, of an extra: pip install" in capsys.readouterr().err
    monkeypatch.setattr(command, "import_module", missing("stores.gone"))
    with pytest.raises(ModuleNotFoundError):
        command.main(["clicked"])
