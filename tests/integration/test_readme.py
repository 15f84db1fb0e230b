"""What the READMEs show runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from examples import wiring
from tests.support.scripted import ScriptedModel, call, say

ROOT = Path(__file__).parents[2]


def wiring_of(readme: str) -> str:
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text("utf-8"), re.DOTALL)
    return str(code)


def test_both_languages_show_the_same_wiring_in_fifteen_lines() -> None:
    """A translated README does not lag behind, and the wiring stays small."""
    code = wiring_of("README.md")
    assert code == wiring_of("README.zh-TW.md")
    assert len(code.splitlines()) <= 15


async def test_the_wiring_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executed as it stands, it gives an app that keeps the town and drops the words."""
    monkeypatch.chdir(tmp_path)
    model = ScriptedModel.of(call("search_places", town="Huatan", diet=""), say("ok"), say("ok"))
    names: dict[str, Any] = {
        **vars(wiring),
        "agent": LlmAgent(name="town", model=model, tools=[wiring.search_places]),
        "signing_key": b"k" * 32,
        "store_key": b"s" * 32,
    }
    exec(compile(wiring_of("README.md"), "README.md", "exec"), names)  # noqa: S102 - it is ours
    sessions = InMemorySessionService()
    runner = Runner(app=names["app"], session_service=sessions)
    await sessions.create_session(app_name="town", user_id="u", session_id="s")
    for text in ("first words", "second words"):
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass
    assert b"town=Huatan" in model.requests[-1]
    assert b"first words" not in model.requests[-1]
    assert (tmp_path / "town.db").exists()
    await names["plugin"]._keeper._store.close()


async def test_the_example_runs() -> None:
    """`python -m examples.wiring` shows the block in its last request."""
    seen = await wiring.main()
    assert len(seen) == 3
    assert seen[-1][0].endswith("town=Huatan")
