"""Tokens, BM25 and embeddings: how well a message answers to a term."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.errors import InvalidSetting
from callbacks.context.ranking import (
    Bm25Ranker,
    EmbeddingRanker,
    RankerFailed,
    Term,
    checked_scores,
    count,
    folded,
    tokens,
)
from tests.unit.context.histories import texts

VPN, E401 = Term(("VPN",)), Term(("E401",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VPN 又出現 E401", ["vpn", "又出", "出現", "e401"]),
        ("ＶＰＮ　Ｅ４０１", ["vpn", "e401"]),
        ("Wi-Fi re-login don't don’t", ["wifi", "relogin", "dont", "dont"]),
        ("v2.1 done.next E401. 3.14", ["v2.1", "done", "next", "e401", "3.14"]),
        ("ERR_VPN", ["err", "vpn"]),
        ("V\u200bPN連線", ["vpn", "連線"]),
        ("網", ["網"]),
        ("プリンター 프린터", ["プリ", "リン", "ンタ", "ター", "프린", "린터"]),
        ("Überprüfung ﬁle", ["überprüfung", "file"]),
        ("！？，— 😀", []),
        ("", []),
    ],
)
def test_tokens_are_words_and_bigrams(text: str, expected: list[str]):
    """Words are folded whole, CJK runs become bigrams, and twins of a form are one."""
    assert tokens(text) == expected


@given(texts, st.sampled_from(["vpn", "e401", "401", "1.1", "wifi", "a"]))
def test_counting_a_word_is_counting_tokens(text: str, word: str):
    """A word is found in a text exactly as often as it is a token of it."""
    assert count(word, folded(text)) == tokens(text).count(word)


@given(st.text("1.a -花E4", max_size=12), st.sampled_from(["1", "1.1", "a", "e4", "11"]))
def test_counting_near_points_and_letters_is_counting_tokens(text: str, word: str):
    """Decimal points, hyphens and scripts that touch bound a word in both ways alike."""
    assert count(word, folded(text)) == tokens(text).count(word)


def test_the_rarer_the_more_frequent_the_shorter_the_better():
    """BM25 prefers a rare term, a repeated one and a short message; no match is 0."""
    documents = ["VPN", "VPN VPN", "VPN and many other words beside it", "printer", "E401"]
    vpn, e401 = Bm25Ranker().scores([VPN, E401], documents)
    assert vpn[1] > vpn[0] > vpn[2] > 0
    assert vpn[3] == vpn[4] == 0
    assert e401 == [0, 0, 0, 0, pytest.approx(e401[4])]
    assert e401[4] > vpn[0]


def test_a_known_score():
    """One document of two with one match scores as the formula says."""
    (row,) = Bm25Ranker().scores([VPN], ["vpn", "abc"])
    assert row == [pytest.approx(math.log1p(1.5 / 1.5) * 2.2 / (1 + 1.2)), 0]


def test_a_chosen_term_is_found_whole_and_a_derived_one_by_half():
    """Whole terms need each of their tokens; others half of them."""
    documents = ["重新登入後恢復", "登入頁面", "頁面空白"]
    whole, half = Bm25Ranker().scores(
        [Term(("重新登入",)), Term(("登入頁空",), whole=False)], documents
    )
    assert [score > 0 for score in whole] == [True, False, False]
    assert [score > 0 for score in half] == [False, True, False]


def test_a_term_is_one_vote():
    """A long CJK term does not outweigh a word only because it has more bigrams."""
    word, run = Bm25Ranker(b=0).scores([VPN, Term(("重新登入",))], ["vpn", "重新登入"])
    assert word[0] == pytest.approx(run[1])


def test_the_best_alternative_counts_and_not_their_sum():
    """A message that says a thing in two words is not twice as relevant."""
    documents = ["印表機 printer", "印表機 abcdefg", "x"]
    (row,) = Bm25Ranker(b=0).scores([Term(("印表機", "printer"))], documents)
    (one,) = Bm25Ranker(b=0).scores([Term(("printer",))], documents)
    (other,) = Bm25Ranker(b=0).scores([Term(("印表機",))], documents)
    assert row == [max(one[0], other[0]), other[1], 0]


@pytest.mark.parametrize("documents", [[], [""], ["", "VPN"], ["！"]])
def test_empty_and_wordless_documents_are_ranked(documents: list[str]):
    """A row has one score a document, whatever stands in it; a term without words finds none."""
    terms = [VPN, Term(("！",)), Term(())]
    rows = Bm25Ranker().scores(terms, documents)
    assert [len(row) for row in rows] == [len(documents)] * 3
    assert [sum(row) > 0 for row in rows] == ["VPN" in documents, False, False]


@given(st.lists(texts, max_size=6), st.lists(texts, max_size=4))
def test_scores_are_finite_and_repeatable(documents: list[str], words: list[str]):
    """The same texts give the same finite scores, which are not negative (invariant 12)."""
    terms = [Term((word,), whole=at % 2 == 0) for at, word in enumerate(words)]
    rows = checked_scores(Bm25Ranker(), terms, documents)
    assert rows == checked_scores(Bm25Ranker(), terms, documents)
    assert all(0 <= score < math.inf for row in rows for score in row)


@pytest.mark.parametrize(
    "parameters", [{"k1": -1}, {"k1": math.inf}, {"k1": math.nan}, {"b": 2}, {"b": -0.1}]
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float]):
    """BM25 has a k1 of at least 0 and a b from 0 to 1."""
    with pytest.raises(InvalidSetting):
        Bm25Ranker(**parameters)


def letters(texts_: Sequence[str]) -> list[list[float]]:
    """A toy embedding: how often each of three letters stands in a text."""
    return [[float(text.count(letter)) for letter in "xyz"] for text in texts_]


@pytest.mark.parametrize(
    ("token", "text", "times"),
    [("5", "401.5", 0), ("5", "a.5", 1), ("x", "a.x", 1), ("401", "401.5", 0), ("401", "e4011", 0)],
)
def test_a_point_between_digits_joins_them(token, text, times):
    """A number goes on over its decimal point, and ends at the point of a sentence."""
    assert count(token, text) == times


def test_embeddings_count_by_order():
    """The nearest documents of a term score 1, 1/2, ...; of equals the newer one comes first."""
    ranker = EmbeddingRanker(letters, keep=2)
    rows = ranker.scores([Term(("x",)), Term(("q", "yy"))], ["xy", "x", "xxx", "z", ""])
    assert rows == [[0, 0.5, 1, 0, 0], [1, 0, 0, 0, 0]]


def test_embeddings_get_their_prefixes_in_one_call():
    """A model that wants prefixes gets them, and is asked once a ranking."""
    asked: list[list[str]] = []

    def embed(texts_):
        asked.append(list(texts_))
        return letters(texts_)

    ranker = EmbeddingRanker(embed, at_least=0.9, query_prefix="q: ", document_prefix="d: ")
    assert ranker.scores([Term(("x",)), Term(())], ["x", "xyz"]) == [[1, 0], [0, 0]]
    assert asked == [["d: x", "d: xyz", "q: x"]]
    assert ranker.scores([Term(())], ["x"]) == [[0]]
    assert ranker.scores([VPN], []) == [[]]
    assert len(asked) == 1


@pytest.mark.parametrize("vectors", [[], [[1.0]], [[1.0], [1.0, 2.0]]])
def test_an_embedding_without_one_vector_a_text_is_refused(vectors: list[list[float]]):
    """Vectors that are too few, or of different lengths, rank nothing."""
    with pytest.raises(RankerFailed) as refused:
        checked_scores(EmbeddingRanker(lambda _: vectors), [VPN], ["x"])
    assert refused.value.error_code == "RANKING_UNAVAILABLE"


@pytest.mark.parametrize("keep", [0, -1, True, 1.5])
def test_an_embedding_keeps_at_least_one(keep):
    """How many documents may answer is a whole number above zero."""
    with pytest.raises(InvalidSetting):
        EmbeddingRanker(letters, keep=keep)


class Answering:
    def __init__(self, answer) -> None:
        self.answer = answer

    def scores(self, terms, documents):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        [],
        [[1.0]],
        [[1.0, 2.0], [1.0]],
        [[-1.0, 0.0]],
        [[math.nan, 0.0]],
        [[math.inf, 0.0]],
        [["x", 0.0]],
        None,
        RuntimeError("zzSAIDzz"),
    ],
)
def test_what_is_no_score_selects_nothing(answer):
    """A ranker that fails or gives no scores is refused with a code and without its words (3)."""
    with pytest.raises(RankerFailed) as refused:
        checked_scores(Answering(answer), [VPN], ["one", "two"])
    assert "zzSAIDzz" not in str(refused.value)
    assert refused.value.__context__ is None
