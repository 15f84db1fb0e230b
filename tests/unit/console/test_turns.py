"""What the console keeps of a turn, and in which words it shows it."""

import pytest
from google.genai import types

from callbacks.adk.refusal import Refusal
from callbacks.adk.report import PrivateResult, RequestRecord, ToolRecord, TurnReport
from callbacks.context.trace import Action, Block
from callbacks.counting.request import CountRequest
from local_agent.console import words
from local_agent.console.recorder import KEPT_TURNS, Recorder
from local_agent.console.view import detail, summary
from local_agent.context import SCHEMA

REQUEST = CountRequest(
    "a-model",
    types.GenerateContentConfig(system_instruction="規則"),
    [types.Content(role="user", parts=[types.Part(text="找吃的")])],
)


@pytest.fixture
def recorder():
    """A recorder that nobody listens to."""
    return Recorder(lambda: None)


def record(decision="counted", **changes) -> RequestRecord:
    known = {
        "agent": "local_agent",
        "unit": "utf8_bytes",
        "limit": 1_000,
        "units": REQUEST.size,
        "decision": decision,
        "blocks": (),
        "fingerprint": REQUEST.fingerprint,
        "bound": None,
    }
    return RequestRecord(**{**known, **changes})


def report_of(event_id="one", **changes) -> TurnReport:
    known = {"invocation_id": "i", "session_id": "s", "event_id": event_id, "revision": 3}
    return TurnReport(**{**known, **changes})


def shown(recorder, *records, **changes):
    """The view of a turn with these requests."""
    recorder.posted("one", kind="message", said="找吃的")
    for one in records:
        if one.decision != "refused":
            recorder.on_request(REQUEST, one)
    recorder.on_report(report_of(requests=list(records), **changes))
    return detail(recorder.of_event("one"), SCHEMA)


def test_a_redelivery_is_the_same_turn(recorder):
    """Invariant 9: one event is one turn however often it is posted."""
    recorder.posted("one", kind="message", said="找吃的")
    recorder.posted("two", kind="message", said="再找")
    recorder.posted("one", kind="message", said="找吃的")
    recorder.answered("one")
    assert [(turn.number, turn.deliveries, turn.answers) for turn in recorder.turns] == [
        (1, 2, 1),
        (2, 1, 0),
    ]


def test_a_counted_request(recorder):
    """A counted request shows its size, its share of the budget, and its very bytes."""
    view = shown(recorder, record())
    (request,) = view["requests"]
    assert request["decision_label"] == words.DECISIONS["counted"][0]
    assert request["measured"] == f"{REQUEST.size} 位元組"
    assert request["share"] == round(REQUEST.size / 10, 1)
    assert sum(part["share"] for part in request["segments"]) == pytest.approx(REQUEST.size / 10)
    assert recorder.turn(1).sent[0].canonical == REQUEST.canonical()
    assert recorder.turn(1).units == REQUEST.size
    assert request["layers"]["newest"] == [{"role": "使用者", "text": "找吃的"}]


def test_a_proven_request_has_a_bound_and_no_size(recorder):
    """Invariant 13: a size that nobody measured is shown as a bound, and counts as unknown."""
    proven = record("proven", units=None, bound=900, unit="tokens")
    (request,) = shown(recorder, proven)["requests"]
    assert request["measured"] == "最多 900 token"
    assert request["share"] == 90.0
    assert request["segments"] == []
    assert recorder.turn(1).units is None


def test_a_refusal_shows_why_and_no_request(recorder):
    """What was refused never left: code, numbers and blocks are shown, and no exact request."""
    block = Block("request", "request", Action.REFUSED, "over_budget")
    refused = record("refused", units=1_234, blocks=(block,))
    refusal = Refusal("CURRENT_AND_RULES_EXCEED_INPUT_BUDGET", {"units": 1_234, "limit": 1_000})
    view = shown(recorder, refused, refusal=refusal)
    assert (view["state"], view["refusal"]["code"]) == ("refused", refusal.code)
    assert view["refusal"]["numbers"] == {"units": "1,234", "limit": "1,000"}
    (request,) = view["requests"]
    assert (request["exact"], request["layers"]["rules"]) == (None, None)
    assert request["blocks"][0]["reason_label"] == words.REASONS["over_budget"]
    assert recorder.turn(1).units is None


def test_an_unknown_size_is_unknown(recorder):
    """Invariant 13: a size that could not be measured is never shown as zero."""
    (request,) = shown(recorder, record("refused", units=None))["requests"]
    assert (request["measured"], request["share"]) == (words.UNKNOWN, None)


@pytest.mark.parametrize(
    ("name", "label"),
    [("turn-2", "視窗第 2 筆"), ("ledger", "帳本"), ("result-1", "result-1")],
)
def test_blocks_are_named(recorder, name, label):
    """A block is called in words; one that has none, by its id."""
    block = Block(name, "turns", Action.SUMMARIZED, "over_max_turns")
    (request,) = shown(recorder, record(blocks=(block,)))["requests"]
    assert request["blocks"][0]["label"] == label
    assert request["blocks"][0]["action_label"] == words.ACTIONS["summarized"]


def test_every_action_decision_and_origin_has_words():
    """Nothing that a record can say is shown without words."""
    assert set(words.ACTIONS) == {action.value for action in Action}
    assert set(words.DECISIONS) == {"proven", "counted", "refused"}
    assert set(words.ORIGINS) == {"consented_memory", "this_turn", "none"}


CALL = ToolRecord(
    tool="search_local_places",
    proposed_arguments={"area": "花壇鄉", "dietary_type": ""},
    effective_arguments={"area": "花壇鄉", "dietary_type": "vegetarian"},
    preference_origin="consented_memory",
    memory_revision=3,
)


def test_what_was_filled_in_is_marked(recorder):
    """An argument from memory stands apart from the model's own proposal."""
    view = shown(recorder, record(), tool_calls=[CALL])
    rows = {row["name"]: row for row in view["backend"]["calls"][0]["rows"]}
    assert (rows["area"]["filled"], rows["dietary_type"]["filled"]) == (False, True)
    assert rows["dietary_type"]["proposed"] == words.PROPOSED_NOTHING
    assert rows["dietary_type"]["origin"] == words.ORIGINS["consented_memory"]


def test_what_is_forgotten_is_gone_here_too(recorder):
    """Invariant 8: forgetting takes the value out of every turn that the console holds."""
    private = PrivateResult("search_local_places", {}, {"diet": "vegetarian"})
    view = shown(recorder, record(), tool_calls=[CALL], private_results=[private])
    assert "vegetarian" in repr(view)
    recorder.forget()
    view = detail(recorder.of_event("one"), SCHEMA)
    assert "vegetarian" not in repr(view)
    assert view["backend"]["forgotten"]
    assert {row["name"]: row["effective"] for row in view["backend"]["calls"][0]["rows"]} == {
        "area": "花壇鄉",
        "dietary_type": words.PROPOSED_NOTHING,
    }


def test_a_turn_without_a_model_says_so(recorder):
    """A press or a command has no request: it waits, and then it says that no model was asked."""
    turn = recorder.posted("one", kind="postback", said="同意記住")
    assert detail(turn, SCHEMA)["note"] == words.WAITING
    recorder.answered("one")
    turn.revisions = (0, 1)
    view = detail(turn, SCHEMA)
    assert view["note"] == words.WITHOUT_MODEL
    assert {fact["name"]: fact["value"] for fact in view["backend"]["facts"]}["revisions"] == (
        "0 → 1"
    )


def test_reports_of_nobody_are_left_alone(recorder):
    """A report of an event that this console did not post changes nothing."""
    recorder.on_report(report_of("another"))
    recorder.answered("another")
    assert recorder.turns == []


def test_old_turns_are_let_go(recorder):
    """Invariant 15: what is kept does not grow with the conversation, and numbers go on."""
    for number in range(KEPT_TURNS + 5):
        recorder.posted(f"event {number}", kind="message", said="嗨")
    assert len(recorder.turns) == KEPT_TURNS
    assert recorder.turn(1) is None
    assert summary(recorder.turns[-1])["number"] == KEPT_TURNS + 5
