"""Turns like LOCAL's: rules, ten tools, a short history block, and a tool's result in most."""

import json
import random
from dataclasses import dataclass
from typing import Any

from google.genai import types

from benchmarks.countserver.corpus import Contents, Corpus
from callbacks.counting.probes import exchange, said

LIMIT = 8192
SHARE_WITH_RESULT = 0.6
RESULT_BYTES = (1000, 4000)
"""Size of a tool's result: its compact JSON in UTF-8."""

_RULES = (
    "你是 LOCAL，彰化縣的生活助理。只根據工具查到的資料回答，資料沒有的就說沒有。"
    "回答用繁體中文，先講結論，再列店名、地址與時間。飲食偏好只在本人同意後才記住。"
)
_QUESTIONS = (
    "花壇附近有吃素的店嗎？",
    "這週末鹿港有什麼活動，適合帶小孩的？",
    "明天下午三點以後還開著的店，最好有停車位。",
    "你可以幫我做什麼？",
)


@dataclass(frozen=True, slots=True)
class TownTurn:
    """One person's turn.

    Attributes:
        steps: The contents of each model request of the turn, in order; the last one counts most.
        cuts: Of the last step: the same with ever less history, the fullest first.
    """

    steps: tuple[Contents, ...]
    cuts: tuple[Contents, ...]


def config(tools: int = 10) -> types.GenerateContentConfig:
    """Return rules and tool declarations, as ADK makes them."""
    schema = {
        "type": "object",
        "properties": {
            "area": {"type": "string", "description": "鄉鎮市，例如花壇鄉"},
            "keyword": {"type": "string"},
            "limit": {"type": "integer"},
        },
        "required": ["area"],
    }
    declarations = [
        types.FunctionDeclaration(
            name=f"search_local_{number}", description="查詢彰化縣的店家或活動。",
            parameters_json_schema=schema,
        )
        for number in range(tools)
    ]  # fmt: skip
    return types.GenerateContentConfig(
        system_instruction=_RULES * 4, tools=[types.Tool(function_declarations=declarations)]
    )


def turn(corpus: Corpus, draw: random.Random) -> TownTurn:
    """Draw one turn."""
    question = said("user", draw.choice(_QUESTIONS))
    blocks = _history(draw)
    result: Any = None
    if draw.random() < SHARE_WITH_RESULT:
        result = sized_result(corpus, draw.randint(*RESULT_BYTES))

    def with_history(kept: int) -> list[Contents]:
        history = [said("user", "\n".join(blocks[-kept:])), said("model", "了解。")] if kept else []
        first = (*history, question)
        if result is None:
            return [first]
        call_id = f"call-{draw.getrandbits(32):08x}"
        args = {"area": "花壇鄉", "keyword": "素食"}
        answered = exchange(args, result, name="search_local_places", call_id=call_id)
        return [first, (*first, *answered)]

    steps = with_history(len(blocks))
    cuts = [steps[-1], *(with_history(kept)[-1] for kept in range(len(blocks) - 1, -1, -1))]
    return TownTurn(tuple(steps), tuple(cuts))


def sized_result(corpus: Corpus, size: int) -> dict[str, Any]:
    """Return places until their JSON is about ``size`` bytes."""
    places: list[dict[str, Any]] = []
    while len(json.dumps({"places": places}, ensure_ascii=False).encode()) < size:
        places.append(corpus.place())
    return {"places": places}


def _history(draw: random.Random) -> list[str]:
    pieces = ["[帳] 找活動 區域=花壇鄉", "[1] 找店家 區域=鹿港鎮 類型=小吃", "[2] 詢問可用功能"]
    return pieces[: draw.randint(0, len(pieces))]
