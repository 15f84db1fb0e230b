"""The commands of LOCAL on LINE, before anything is started."""

import pytest

from local_agent import cli, extras


@pytest.mark.parametrize("module", extras.LINE)
@pytest.mark.parametrize("command", ["serve", "work", "console"])
def test_a_missing_extra_is_named(monkeypatch, capsys, command, module):
    """Without the extra nothing starts: one sentence says what to install, with status 2."""
    monkeypatch.setenv("LOCAL_LINE_CHANNEL_SECRET", "s")
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == module else name)
    with pytest.raises(SystemExit) as ended:
        cli.main([command])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "pip install '.[line]'" in said
    assert said.rstrip().endswith("[COMMAND_INVALID]")


@pytest.mark.parametrize("arguments", [["serve"], ["work"], ["inbox"], ["inbox", "retry"]])
def test_help_teaches_with_an_example(capsys, arguments):
    """Every help shows an example that can be typed as it stands."""
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "--help"])
    assert ended.value.code == 0
    assert f"local-agent {' '.join(arguments)}" in capsys.readouterr().out
