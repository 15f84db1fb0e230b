"""What a person may say to LOCAL that needs no model: the same words, the same deed.

A command is the whole message. Spaces, full-width letters, punctuation and a "please" around it do
not matter; anything else in it makes it an ordinary question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from local_agent.mentions import normalize


class Command(StrEnum):
    """What is to be done."""

    INSPECT = "inspect"
    FORGET_DIET = "forget_diet"
    FORGET_ALL = "forget_all"
    HELP = "help"


_SPOKEN: Mapping[Command, tuple[str, ...]] = MappingProxyType(
    {
        Command.INSPECT: (
            *("我的偏好", "我的飲食偏好", "查看偏好", "查看我的偏好", "看我的偏好", "看偏好"),
            *("查看飲食偏好", "查看我的飲食偏好", "看我的飲食偏好", "我的設定", "偏好"),
        ),
        Command.FORGET_DIET: (
            *("忘記我的飲食偏好", "忘記飲食偏好", "忘記我的偏好", "忘記偏好", "忘掉我的飲食偏好"),
            *("刪除我的飲食偏好", "刪除飲食偏好", "刪除我的偏好", "清除我的飲食偏好", "清除偏好"),
        ),
        Command.FORGET_ALL: (
            *("忘記全部", "全部忘記", "忘記所有", "忘記一切", "全部忘掉", "忘掉全部", "忘記我"),
            *("刪除全部", "全部刪除", "清除全部", "全部清除", "刪除我的資料", "忘記我的資料"),
        ),
        Command.HELP: (
            *("功能", "說明", "幫助", "使用說明", "怎麼用", "功能說明", "有什麼功能", "選單"),
            *("有哪些功能", "你會什麼", "您會什麼", "help", "?"),
        ),
    }
)
_COMMANDS: Mapping[str, Command] = MappingProxyType(
    {spoken: command for command, all_of_it in _SPOKEN.items() for spoken in all_of_it}
)
_AROUND = re.compile(r"[\s\u200b\u200d\ufeff。.,，、!~「」『』\"'()：:]+")
_POLITE = re.compile(r"^(?:請|麻煩)(?:你|您)?(?:幫我)?|(?:謝謝|吧|喔|哦)$")


def find(text: str) -> Command | None:
    """Return the command that a message is, or None.

    Args:
        text: The whole message; of a group without the mention.
    """
    bare = _AROUND.sub("", normalize(text[:_LONGEST]))
    if len(text) > _LONGEST:
        return None
    if bare.strip("?") == "":
        return Command.HELP if bare else None
    bare = bare.rstrip("?")
    return _COMMANDS.get(bare) or _COMMANDS.get(_POLITE.sub("", bare))


_LONGEST = 60
"""A message longer than this, in characters, is no command."""
