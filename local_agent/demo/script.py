"""What is said in the demo, and when: constants, so that two runs send the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Final

TURNS: Final = (
    "今天想吃素，花壇有什麼吃的？",
    "查花壇的活動。",
    "停車資料有嗎？",
    "那公車時間呢？",
    "剛才那個鄉鎮，再找一家吃的。",
)
"""The five turns; the last can be answered only by whoever still knows the town of the first."""

TOWN: Final = "花壇鄉"
REMEMBER: Final = "記住我吃素"
SEARCH: Final = "花壇有什麼吃的？"
FORGET: Final = "忘記我的飲食偏好"
VALUE: Final = "vegetarian"
"""What is remembered and then forgotten, as the store writes it."""

ALL_TURNS: Final = 20
"""`max_turns` of the way that keeps every projection: more than the demo has turns."""

DAY: Final = datetime(2026, 10, 1, 2, 0, tzinfo=UTC)
"""When the demo takes place for LOCAL, 10 o'clock in Changhua: results do not depend on today."""


def demo_clock() -> Callable[[], int]:
    """Return a clock that starts on the demo's day and moves on a millisecond a look."""
    ticks = count(int(DAY.timestamp() * 1000))
    return lambda: next(ticks)
