"""The minimizer: which messages of a kept history a model may see."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.budget import Budget
from callbacks.context.errors import BudgetExceeded, InvalidCount, InvalidSetting, UnitMismatch
from callbacks.context.history import content_bytes, prepare_history_context
from callbacks.context.history_message import HistoryMessage, InvalidHistory
from callbacks.context.prepared_history import PreparedHistory
from callbacks.context.query import Synonyms
from callbacks.context.ranking import Bm25Ranker, EmbeddingRanker, RankerFailed
from callbacks.context.trace import Action
from tests.unit.context.histories import SECRET, histories

DEVICE = "裝置是測試用 Windows 11 筆電"
NEWEST = "現在 VPN 又出現 E401，只要排障步驟，不要開工單"


def said(name: str, text: str, **known) -> HistoryMessage:
    return HistoryMessage(
        **({"id": name, "role": "user", "text": text, "sensitivity": "internal"} | known)
    )


HELPDESK = (
    said("message-01", "我用的是測試用的 Windows 11 筆電，剛領到", safe_summary=DEVICE),
    said("message-02", "會議室 Wi-Fi 連不上，改連另一個 SSID 就好了", status="resolved"),
    said("message-03", "VPN 曾出現 E401，重新登入後暫時恢復"),
    said("message-04", f"VPN E401 備用碼是 {SECRET}", sensitivity="secret", safe_summary=SECRET),
    said("message-05", "印表機卡紙，已經排除", status="resolved"),
    said("message-06", NEWEST),
)


def ids(prepared) -> list[str]:
    return [block.block_id for block in prepared.blocks]


def rows(prepared) -> list[tuple[str, str, str]]:
    return [(row.kind, row.name, row.outcome) for row in prepared.trace]


@pytest.mark.parametrize("terms", [("VPN", "E401"), None])
def test_the_helpdesk_history_becomes_three_blocks_and_seven_rows(terms):
    """An older VPN record beats a newer printer one, facts are summed up, the newest stays."""
    prepared = prepare_history_context(HELPDESK, query_terms=terms, max_blocks=3)
    assert [(block.block_id, block.reason, block.content) for block in prepared.blocks] == [
        ("history-summary", "summary", f"較早紀錄：{DEVICE}"),
        ("message-03", "relevance", "VPN 曾出現 E401，重新登入後暫時恢復"),
        ("message-06", "recency", NEWEST),
    ]
    assert rows(prepared) == [
        ("context", "history_input", "6_messages"),
        ("guardrail", "sensitive_data_minimization", "dropped"),
        ("context", "relevance_selection", "kept"),
        ("context", "history_compaction", "summarized"),
        ("context", "irrelevant_history", "dropped"),
        ("context", "recency_selection", "kept"),
        ("context", "model_context", "3_blocks"),
    ]
    assert [row.detail for row in prepared.trace] == [
        "",
        "1 secret removed",
        "message-03",
        "1 as safe summaries",
        "message-02, message-05",
        "message-06",
        "",
    ]


def test_every_message_has_a_decision():
    """Each message is kept, summarized or dropped for a reason; a secret one has no name (16)."""
    prepared = prepare_history_context(HELPDESK, query_terms=("VPN", "E401"))
    assert [(d.id, d.action, d.reason) for d in prepared.decisions] == [
        ("history-summary", Action.KEPT, "summary"),
        ("message-01", Action.SUMMARIZED, "safe_summary"),
        ("message-02", Action.DROPPED, "resolved"),
        ("message-03", Action.KEPT, "relevance"),
        ("secret#1", Action.DROPPED, "secret"),
        ("message-05", Action.DROPPED, "resolved"),
        ("message-06", Action.KEPT, "recency"),
    ]
    assert {decision.channel for decision in prepared.decisions} == {"history"}
    assert prepared.trace[1].as_json() == {
        "kind": "guardrail",
        "name": "sensitive_data_minimization",
        "outcome": "dropped",
        "detail": "1 secret removed",
    }
    assert SECRET not in repr(prepared)
    assert "message-04" not in repr(prepared)
    assert SECRET not in repr(HELPDESK)


class Spy:
    """A ranker that remembers all it was given."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def scores(self, terms, documents):
        self.seen += [*documents, *(way for term in terms for way in term.alternatives)]
        return Bm25Ranker().scores(terms, documents)


@given(histories(), st.none() | st.just(("VPN", "E401")), st.integers(1, 4))
def test_no_ranker_is_given_a_secret_and_no_output_holds_one(history, terms, max_blocks):
    """Invariant 4: secret messages leave before ranking and summarizing, and leave nothing."""
    spy = Spy()
    prepared = prepare_history_context(
        history, query_terms=terms, max_blocks=max_blocks, ranker=spy
    )
    assert not any(SECRET in text for text in spy.seen)
    assert SECRET not in repr(prepared)
    assert SECRET not in repr(prepared.trace)
    secret = {message.id for message in history if message.sensitivity == "secret"}
    assert secret.isdisjoint(ids(prepared))
    assert secret.isdisjoint(decision.id for decision in prepared.decisions)
    removed = sum(decision.reason == "secret" for decision in prepared.decisions)
    assert removed == len(secret)
    assert (f"{removed} secret removed" in prepared.trace[1].detail) == bool(removed)


@given(histories(), st.integers(1, 4), st.integers(0, 3))
def test_secrets_change_nothing_else(history, max_blocks, max_facts):
    """Invariant 4: with secret messages and without them the model sees the same bytes."""
    options = {"max_blocks": max_blocks, "max_facts": max_facts}
    without = [message for message in history if message.sensitivity != "secret"]
    one = prepare_history_context(history, **options)
    other = prepare_history_context(without, **options)
    assert one.blocks == other.blocks
    assert one.cut_order == other.cut_order


@given(histories(), st.none() | st.just(("VPN",)), st.integers(1, 5))
def test_the_newest_safe_request_stays_whole_with_every_cut(history, terms, max_blocks):
    """Invariant 2: the newest safe message of the user is in every candidate, word for word."""
    prepared = prepare_history_context(history, query_terms=terms, max_blocks=max_blocks)
    asked = [m for m in history if m.role == "user" and m.sensitivity != "secret"]
    by_id = {message.id: message for message in history}
    candidate: PreparedHistory | None = prepared
    while candidate is not None:
        assert len(candidate.blocks) <= max_blocks
        kept = [block for block in candidate.blocks if block.reason == "recency"]
        assert [block.content for block in kept] == [message.text for message in asked[-1:]]
        for block in candidate.blocks:
            assert block.reason == "summary" or block.content == by_id[block.block_id].text
        smaller = candidate.cut()
        assert smaller is None or len(smaller.blocks) == len(candidate.blocks) - 1
        assert len(candidate.decisions) == len(prepared.decisions)
        candidate = smaller


@given(histories(), st.integers(1, 4))
def test_the_same_history_gives_the_same_blocks(history, max_blocks):
    """Invariant 12: equal inputs give equal blocks, decisions and traces."""
    one = prepare_history_context(history, max_blocks=max_blocks)
    other = prepare_history_context(
        [HistoryMessage.from_json(message.to_json()) for message in history],
        max_blocks=max_blocks,
    )
    assert one == other
    assert repr(one.trace) == repr(other.trace)


@given(histories(), st.integers(1, 4), st.integers(0, 3))
def test_every_message_is_accounted_for_once(history, max_blocks, max_facts):
    """Invariant 16: each message has exactly one decision, and each block one that keeps it."""
    prepared = prepare_history_context(history, max_blocks=max_blocks, max_facts=max_facts)
    of_messages = [d for d in prepared.decisions if d.id != "history-summary"]
    assert len(of_messages) == len(history)
    kept = [decision.id for decision in prepared.decisions if decision.action is Action.KEPT]
    assert kept == ids(prepared)
    assert len(prepared.trace) == 7
    assert prepared.trace[0].outcome == f"{len(history)}_messages"
    assert prepared.trace[-1].outcome == f"{len(prepared.blocks)}_blocks"


@pytest.mark.parametrize(
    ("max_blocks", "kept"),
    [
        (1, ["message-06"]),
        (2, ["message-03", "message-06"]),
        (3, ["history-summary", "message-03", "message-06"]),
        (9, ["history-summary", "message-03", "message-06"]),
    ],
)
def test_the_newest_goes_before_relevance_and_relevance_before_facts(max_blocks, kept):
    """With too few places the summary goes first, then the relevant message."""
    assert ids(prepare_history_context(HELPDESK, max_blocks=max_blocks)) == kept


def test_facts_take_the_place_that_nothing_relevant_needs():
    """With two places and nothing relevant, the second is for the facts."""
    prepared = prepare_history_context(HELPDESK, query_terms=(), max_blocks=2)
    assert ids(prepared) == ["history-summary", "message-06"]
    assert prepared.trace[2].outcome == "none"


def test_a_message_without_a_place_leaves_its_safe_summary():
    """A relevant message that finds no place is told by its prepared summary, even if resolved."""
    history = [
        said("a", "VPN E401 第一次", status="resolved", safe_summary="VPN 曾修好一次"),
        said("b", "VPN E401 第二次"),
        said("b-2", "VPN E401 第三次"),
        said("c", "印表機", status="resolved", safe_summary="印表機修過"),
        said("d", "VPN E401"),
    ]
    prepared = prepare_history_context(history, query_terms=("VPN", "E401"), max_blocks=3)
    assert ids(prepared) == ["history-summary", "b-2", "d"]
    assert prepared.blocks[0].content == "較早紀錄：VPN 曾修好一次"


def test_facts_are_told_once_newest_first_to_stay_oldest_first_in_order():
    """Equal facts are one; of too many the newest stay, in the order they were said."""
    history = [
        said(f"m{at}", f"x{at}", safe_summary=fact)
        for at, fact in enumerate(["one", "two", "one", "three"])
    ]
    prepared = prepare_history_context([*history, said("new", "hello")], max_facts=2, language="en")
    assert prepared.blocks[0].content == "Earlier records: one; three"
    assert ids(prepare_history_context([*history, said("new", "hello")], max_facts=0)) == ["new"]


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


def test_equal_texts_are_one():
    """What was said twice is kept once, as it was said last."""
    history = [said("a", "VPN 斷"), said("b", "VPN 斷 "), said("c", "VPN"), said("new", "VPN")]
    prepared = prepare_history_context(history, max_blocks=5)
    assert ids(prepared) == ["b", "new"]
    assert [d.reason for d in prepared.decisions] == [
        "repeated",
        "relevance",
        "repeated",
        "recency",
    ]


def test_long_lists_of_ids_are_shortened():
    """A trace stays a line a rule, however long the history."""
    history = [said(f"m{at:03}", f"x{at}") for at in range(300)]
    detail = prepare_history_context([*history, said("new", "VPN")]).trace[4].detail
    assert detail.endswith("m007 and 292 more")


def test_an_empty_history_gives_nothing():
    """No messages, no blocks, and the same seven rows."""
    prepared = prepare_history_context(())
    assert (prepared.blocks, prepared.decisions, prepared.cut()) == ((), (), None)
    assert [row.outcome for row in prepared.trace] == [
        "0_messages",
        *["none"] * 5,
        "0_blocks",
    ]


def test_only_secrets_give_nothing():
    """A history of secrets alone leaves no block, and the trace says how many there were."""
    secrets = [said(f"s{at}", SECRET, sensitivity="secret") for at in range(2)]
    prepared = prepare_history_context(secrets, query_terms=(SECRET,))
    assert prepared.blocks == ()
    assert prepared.trace[1].detail == "2 secret removed"


def test_a_secret_newest_message_leaves_the_one_before_it():
    """The newest request is the newest safe one; what the model said is no request."""
    history = [
        said("asked", "VPN E401"),
        said("answer", "請重新登入 VPN", role="model"),
        said("secret", SECRET, sensitivity="secret"),
    ]
    prepared = prepare_history_context(history)
    assert [(b.block_id, b.reason, b.role) for b in prepared.blocks] == [
        ("asked", "recency", "user"),
        ("answer", "relevance", "model"),
    ]
    assert [block.block_id for block in prepared.older] == ["answer"]


def test_without_a_request_nothing_is_asked_about():
    """Where only the model spoke, its facts remain and nothing is relevant."""
    history = [said("answer", "VPN", role="model", safe_summary="VPN 是新版")]
    assert ids(prepare_history_context(history)) == ["history-summary"]


def test_a_public_audience_sees_no_internal_message():
    """For the public, internal messages leave together with secret ones."""
    history = [
        said("in", "VPN E401"),
        said("out", "VPN", sensitivity="public"),
        said("new", "VPN 斷線", sensitivity="public"),
        said("s", SECRET, sensitivity="secret"),
    ]
    prepared = prepare_history_context(history, audience="public")
    assert ids(prepared) == ["out", "new"]
    assert prepared.trace[1].detail == "1 secret removed; 1 internal removed"
    assert [d.id for d in prepared.decisions] == ["internal#1", "out", "new", "secret#2"]


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


def test_a_budget_cuts_relevance_then_facts_and_never_the_newest():
    """The least relevant block goes first, then the summary; the newest alone or a refusal."""
    whole = prepare_history_context(HELPDESK)
    newest = content_bytes(whole.blocks[-1:])

    def within(limit: int):
        return prepare_history_context(HELPDESK, budget=Budget(limit, "utf8_bytes"))

    assert within(content_bytes(whole.blocks)) == whole
    cut = within(content_bytes(whole.blocks) - 1)
    assert ids(cut) == ["history-summary", "message-06"]
    assert cut.trace[2].detail == "1 over budget"
    least = within(newest)
    assert ids(least) == ["message-06"]
    assert [d.reason for d in least.decisions] == [
        "over_budget",
        "over_budget",
        "resolved",
        "over_budget",
        "secret",
        "resolved",
        "recency",
    ]
    with pytest.raises(BudgetExceeded) as refused:
        within(newest - 1)
    assert refused.value.numbers == {"units": newest, "limit": newest - 1}
    assert refused.value.blocks == least.decisions


def test_a_budget_in_another_unit_needs_a_measure_of_that_unit():
    """Bytes are never taken for tokens (invariant 13)."""
    tokens = Budget(2, "tokens")
    with pytest.raises(UnitMismatch):
        prepare_history_context(HELPDESK, budget=tokens)
    prepared = prepare_history_context(HELPDESK, budget=tokens, measure=len, unit="tokens")
    assert ids(prepared) == ["history-summary", "message-06"]


@pytest.mark.parametrize("wrong", [True, -1, 1.5, None])
def test_a_measure_gives_whole_numbers(wrong):
    """What is no whole number of at least zero is no size."""
    with pytest.raises(InvalidCount):
        prepare_history_context(
            HELPDESK, budget=Budget(2, "tokens"), measure=lambda _: wrong, unit="tokens"
        )


@pytest.mark.parametrize(
    "setting",
    [
        {"max_blocks": 0},
        {"max_blocks": True},
        {"max_facts": -1},
        {"max_facts": 1.0},
        {"audience": "secret"},
        {"language": "ja"},
        {"query_terms": "VPN"},
    ],
)
def test_settings_that_make_no_sense_are_refused(setting):
    """A limit, audience, language or query out of range is refused where it is given."""
    with pytest.raises(InvalidSetting):
        prepare_history_context(HELPDESK, **setting)


@pytest.mark.parametrize(
    ("history", "numbers"),
    [
        ([HELPDESK[0], HELPDESK[0]], {"position": 1}),
        ([HELPDESK[0], "VPN"], {"position": 1}),
        ("VPN", {}),
        (None, {}),
    ],
)
def test_a_history_that_is_none_is_refused(history, numbers):
    """Two messages of one id, or what is no message, are refused by position."""
    with pytest.raises(InvalidHistory) as refused:
        prepare_history_context(history)
    assert refused.value.numbers == numbers
    assert refused.value.error_code == "HISTORY_INVALID"


def test_a_thousand_messages_are_prepared_at_once():
    """Ranking 1,000 messages takes well below 50 ms of computing."""
    history = [
        said(f"m{at}", f"第 {at} 則：印表機卡紙，VPN 連線 E{400 + at % 20} 失敗，請協助處理")
        for at in range(1_000)
    ]
    best = 1.0
    for _ in range(5):
        started = time.process_time()
        prepare_history_context(history, query_terms=("VPN", "E401"))
        best = min(best, time.process_time() - started)
    assert best < 0.05
