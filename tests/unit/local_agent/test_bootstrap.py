"""What settings become: the counter that fits the unit, and nothing sent without approval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callbacks.counting.bytes import ByteCounter
from callbacks.counting.certified import CertifiedCounter
from local_agent.bootstrap import build_counter, build_model
from local_agent.offline_model import OfflineModel
from local_agent.settings import Settings, SettingsError, load_settings

GEMINI = {"model": "gemini-3.8-flash", "google_api_key": "not-a-key"}


def settings(**fields: Any) -> Settings:
    return load_settings(fields)


def test_bytes_are_counted_here() -> None:
    """The default needs nobody."""
    assert isinstance(build_counter(settings()), ByteCounter)


def test_tokens_need_a_model_that_counts_them() -> None:
    """Invariant 13: the offline rules have no tokens, and bytes never stand in for them."""
    with pytest.raises(SettingsError, match="LOCAL_BUDGET_UNIT"):
        build_counter(settings(budget_unit="tokens"))


def test_tokens_need_approval() -> None:
    """Counting sends contents to a service, so somebody has to say yes."""
    with pytest.raises(SettingsError, match="LOCAL_APPROVE_COUNT_TOKENS"):
        build_counter(settings(budget_unit="tokens", **GEMINI))


def test_approved_tokens_are_certified(tmp_path: Path) -> None:
    """With key, model and approval, requests are proven or counted by Gemini."""
    counter = build_counter(
        settings(
            budget_unit="tokens",
            approve_count_tokens=True,
            count_cache=tmp_path / "counts.db",
            **GEMINI,
        )
    )
    assert isinstance(counter, CertifiedCounter)
    assert counter.unit == "tokens"


def test_a_key_and_a_name_make_it_gemini() -> None:
    """The model is LOCAL_MODEL's with one attempt; without a key the offline rules answer."""
    assert isinstance(build_model(settings(model="gemini-3.8-flash")), OfflineModel)
    model = build_model(settings(**GEMINI))
    assert model.model == "gemini-3.8-flash"
    assert model.retry_options.attempts == 1  # type: ignore[attr-defined]  # it is a Gemini
