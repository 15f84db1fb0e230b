"""The carryover benchmark runs on any file of its form, in Chinese and in English."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="a strategy that is compared comes from there")

SCHEMA = {
    "餐館": {
        "slots": {
            "名稱": {"kind": "name", "values": None, "private": False, "means": "餐館名稱"},
            "日期": {"kind": "date", "values": None, "private": False, "means": "用餐日期"},
            "時間": {"kind": "time", "values": None, "private": False, "means": "用餐時間"},
            "人數": {"kind": "number", "values": None, "private": False, "means": "人數"},
            "價位": {"kind": "closed", "values": ["平價", "高級"], "private": False, "means": ""},
            "電話": {"kind": "name", "values": None, "private": True, "means": "訂位人電話"},
        },
        "tools": {
            "訂位": {"required": ["名稱", "日期", "時間", "人數"], "optional": {"電話": ""}},
            "找餐館": {"required": ["價位"], "optional": {}},
        },
    },
    "旅館": {
        "slots": {
            "旅館名": {"kind": "name", "values": None, "private": False, "means": "旅館名稱"},
            "日期": {"kind": "date", "values": None, "private": False, "means": "入住日期"},
            "人數": {"kind": "name", "values": None, "private": False, "means": "各種類的人"},
        },
        "tools": {"訂房": {"required": ["旅館名", "日期"], "optional": {}}},
    },
}


def said(user: str, system: str, given: dict[str, str], call: Any = None) -> dict[str, Any]:
    return {"user": user, "system": system, "given": given, "call": call, "results": []}


DIALOGUE = {
    "id": "1",
    "services": ["餐館", "旅館"],
    "exchanges": [
        said(
            "想找一間高級的餐館，先跟你說我的電話是0912345678",
            "村口豆花如何？",
            {"價位": "高級", "名稱": "村口豆花", "電話": "0912345678"},
            {"tool": "找餐館", "args": {"價位": "高級"}},
        ),
        said("好，三月七號晚上六點半，四個人", "好的", {
            "日期": "2026-03-07", "時間": "18:30", "人數": "4"
        }),
        said("另外訂一間旅館，花田旅店，三月八號", "確認一下：花田旅店", {
            "旅館名": "花田旅店", "日期": "2026-03-08"
        }),
        said("對", "訂好了", {}, {
            "tool": "訂房", "args": {"旅館名": "花田旅店", "日期": "2026-03-08"}
        }),
        said("那餐館也訂吧", "訂好了", {}, {
            "tool": "訂位",
            "args": {
                "名稱": "村口豆花", "日期": "2026-03-07", "時間": "18:30", "人數": "4",
                "電話": "0912345678",
            },
        }),
    ],
}  # fmt: skip


def test_a_chinese_file_is_played_to_the_end(tmp_path: Path) -> None:
    """Topics keep their own dates, private values and sentences stay out, figures add up (4, 5)."""
    data, schema = tmp_path / "data.jsonl", tmp_path / "schema.json"
    data.write_text(json.dumps(DIALOGUE, ensure_ascii=False) + "\n", encoding="utf-8")
    schema.write_text(json.dumps(SCHEMA, ensure_ascii=False), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks", "carryover", "--data", str(data)]
    result = subprocess.run(
        [*command, "--schema", str(schema), "--json", "--jobs", "1", "--long", "15"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    figures = json.loads(result.stdout)
    assert figures["exchanges"] == 5
    assert figures["carried_arguments"] == 6
    window = figures["strategies"]["window_ledger"]
    assert window["carryover_recall"] == 1.0
    assert window["wrong_values"] == 0.0
    assert window["raw_sentences_found"] == window["private_values_found"] == 0
    full = figures["strategies"]["full_raw"]
    assert full["raw_sentences_found"] > 0
    assert full["private_values_found"] > 0
    assert full["wrong_values"] > 0  # the hotel's date is the newest, and not the restaurant's
    assert set(figures["strategies"]) >= {"adk_last_2", "langchain_trim", "tool_projection_2"}
    assert figures["long_dialogue"]["exchanges"] == 15
    assert figures["finder"]["vocabulary"] == 10_000
    assert figures["finder"]["names_found"] == figures["finder"]["names_put_in"]
