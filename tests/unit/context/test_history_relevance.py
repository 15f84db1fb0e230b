"""Which messages of a history a request brings back: words, topics, negation, rankers."""

import pytest

from callbacks.context.history import prepare_history_context
from callbacks.context.query import Synonyms
from callbacks.context.ranking import EmbeddingRanker, RankerFailed
from tests.unit.context.helpdesk import HELPDESK, ids, said


def test_negation_stays_whole():
    """The newest request and every older message stay word for word, their "not" included."""
    older = said("older", "VPN 不是帳號的問題，不要重設密碼")
    prepared = prepare_history_context([older, said("new", "VPN 壞了，不要開單")])
    assert [block.content for block in prepared.blocks] == [older.text, "VPN 壞了，不要開單"]


def test_what_a_request_turns_down_brings_nothing_back():
    """A topic that the newest request turns down makes no older message relevant."""
    history = [said("vpn", "VPN 斷線"), said("printer", "印表機卡紙")]
    prepared = prepare_history_context([*history, said("new", "不是印表機，是 VPN")], max_blocks=5)
    assert ids(prepared) == ["vpn", "new"]


TABLE = Synonyms([("印表機", "打印機", "printer"), ("VPN", "虛擬私人網路")])


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("打印機又卡了", "印表機卡紙"),
        ("印表機又卡了", "The PRINTER is jammed"),
        ("printer again", "打印機卡紙"),
        ("ＶＰＮ 斷了", "虛擬私人網路斷線"),
        ("虛擬私人網路斷了", "My vpn drops"),
    ],
)
def test_synonyms_find_each_other(asked, written):
    """Words that the table joins find each other both ways, in both languages and all widths."""
    history = [said("old", written), said("other", "午餐吃什麼"), said("new", asked)]
    assert ids(prepare_history_context(history, synonyms=TABLE)) == ["old", "new"]


def test_tags_count_as_words_of_a_message():
    """A message is found by its tags where its text does not say the word."""
    history = [said("old", "又斷了", topics=("vpn",)), said("new", "VPN 斷線")]
    assert ids(prepare_history_context(history, query_terms=("VPN",))) == ["old", "new"]


@pytest.mark.parametrize("terms", [("VPN", "印表機"), None])
def test_several_topics_share_the_places(terms):
    """Of a request with two topics, both are answered to before one is twice."""
    history = [
        said("printer", "打印機上個月換過碳粉匣，那次之後就常常卡紙，還有異音"),
        said("vpn-1", "VPN VPN VPN"),
        said("vpn-2", "VPN VPN"),
        said("new", "VPN 連不上，另外印表機卡住"),
    ]
    prepared = prepare_history_context(history, query_terms=terms, synonyms=TABLE, max_blocks=3)
    assert ids(prepared)[0] == "printer"
    assert len(prepared.blocks) == 3


def test_ties_go_to_the_newer_message():
    """Of messages that are equally relevant the newer one stays."""
    history = [said("a", "VPN 一"), said("b", "VPN 二"), said("new", "VPN")]
    prepared = prepare_history_context(history, max_blocks=2)
    assert ids(prepared) == ["b", "new"]
    assert prepared.trace[2].detail == "b; 1 over max_blocks"


def test_without_a_request_nothing_is_asked_about():
    """Where only the model spoke, its facts remain and nothing is relevant."""
    history = [said("answer", "VPN", role="model", safe_summary="VPN 是新版")]
    assert ids(prepare_history_context(history)) == ["history-summary"]


def test_an_embedding_ranker_can_stand_in():
    """A ranker by vectors chooses by meaning where no word is shared."""

    def embed(texts):
        return [[float("VPN" in text or "通道" in text), 1.0] for text in texts]

    history = [said("old", "加密通道斷了"), said("other", "午餐"), said("new", "VPN")]
    ranker = EmbeddingRanker(embed, at_least=0.9)
    assert ids(prepare_history_context(history, query_terms=("VPN",), ranker=ranker)) == [
        "old",
        "new",
    ]


def test_a_ranker_that_fails_selects_nothing():
    """A ranker that raises is a refusal with a code (invariant 3)."""

    class Broken:
        def scores(self, terms, documents):
            raise OSError(documents)

    with pytest.raises(RankerFailed) as refused:
        prepare_history_context(HELPDESK, ranker=Broken())
    assert refused.value.numbers == {"cause": "OSError"}
