"""Commands that need no model, in the ways people type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.line.commands import Command, find


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("我的偏好", Command.INSPECT),
        ("　我 的 偏 好　", Command.INSPECT),
        ("「我的偏好」", Command.INSPECT),
        ("我的偏好？", Command.INSPECT),
        ("請查看我的偏好", Command.INSPECT),
        ("忘記我的飲食偏好", Command.FORGET_DIET),
        ("忘記我的飲食偏好。", Command.FORGET_DIET),
        ("請幫我忘記我的飲食偏好，謝謝", Command.FORGET_DIET),
        ("忘記 全部", Command.FORGET_ALL),
        ("全部忘記！", Command.FORGET_ALL),
        ("功能", Command.HELP),
        ("說明\n", Command.HELP),
        ("ＨＥＬＰ", Command.HELP),
        ("Help!", Command.HELP),
        ("？", Command.HELP),
        ("？？？", Command.HELP),
        ("功\u200b能", Command.HELP),
    ],
)
def test_a_command_is_known_however_it_is_typed(text: str, command: Command) -> None:
    """Spaces, full-width forms, punctuation and politeness around it do not matter."""
    assert find(text) is command


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "。",
        "花壇有什麼吃的？",
        "不要忘記我的飲食偏好",
        "別忘記我的偏好",
        "我的偏好是什麼素",
        "忘記我的飲食偏好以後會怎樣",
        "這個功能好用嗎",
        "我媽媽的偏好",
        "忘記全部的人",
        "\ud83e",
        "忘記全部" + "　" * 100,
    ],
)
def test_a_sentence_around_the_words_is_a_question(text: str) -> None:
    """Only the whole message is a command; a denial or a longer sentence goes to the model."""
    assert find(text) is None


@given(st.text())
def test_any_text_can_be_asked_about(text: str) -> None:
    """Finding a command never fails, and gives the same for the same text."""
    assert find(text) is find(text)
