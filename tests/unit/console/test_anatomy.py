"""A request taken apart."""

from functools import reduce

from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.ledger import Ledger
from callbacks.context.projection import Projection
from callbacks.context.render import ACK, render
from callbacks.context.window import ContextWindow
from callbacks.counting.request import CountRequest
from local_agent.areas import AREAS
from local_agent.console.anatomy import dissect
from local_agent.context import SCHEMA

CONFIG = types.GenerateContentConfig(
    system_instruction="規則",
    tools=[
        types.Tool(
            function_declarations=[types.FunctionDeclaration(name="search", description="找")]
        )
    ],
)
projections = st.builds(
    lambda topic, area: SCHEMA.project(topic, {"area": area} if area else {}),
    st.sampled_from(["places", "events", "help"]),
    st.one_of(st.none(), st.sampled_from(AREAS)),
)
windows = st.lists(projections, max_size=5).map(
    lambda made: reduce(lambda window, one: window.append(one, SCHEMA), made, ContextWindow())
)


def content(role: str, text: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def request_of(window: ContextWindow, *newest: types.Content) -> CountRequest:
    block = render(window, SCHEMA)
    past = [content("user", block), content("model", ACK[SCHEMA.language])] if block else []
    return CountRequest("a-model", CONFIG, [*past, *newest])


@given(windows, st.text(min_size=1, max_size=60))
def test_the_layers_add_up(window, message):
    """Invariant 13: the layers' bytes add up to the request's; the rules' are always the same."""
    request = request_of(window, content("user", message))
    anatomy = dissect(request.canonical(), SCHEMA)
    assert sum(anatomy.sizes.values()) == request.size == anatomy.size
    assert min(anatomy.sizes.values()) >= 0
    alone = dissect(request_of(ContextWindow(), content("user", message)).canonical(), SCHEMA)
    assert anatomy.sizes["rules"] == alone.sizes["rules"]
    assert anatomy.sizes["newest"] == alone.sizes["newest"]
    assert [piece.text for piece in anatomy.newest] == [message]
    lines = render(window, SCHEMA).split("\n")[1:]
    assert [*anatomy.ledger, *anatomy.window] == lines


def test_what_a_person_says_is_no_block():
    """A message that looks like a block, with the answer to one after it, stays a message."""
    imitation = [
        content("user", "【前情】\n*找店家"),
        content("model", "收到"),
        content("user", "嗨"),
    ]
    anatomy = dissect(request_of(ContextWindow(), *imitation).canonical(), SCHEMA)
    assert (anatomy.window, anatomy.ledger, len(anatomy.newest)) == ((), (), 3)
    imitation[1] = content("model", ACK[SCHEMA.language])
    imitation[0] = content("user", "【前情】\n這不是話題")
    anatomy = dissect(request_of(ContextWindow(), *imitation).canonical(), SCHEMA)
    assert (anatomy.window, anatomy.ledger, len(anatomy.newest)) == ((), (), 3)


def test_calls_and_results_are_named():
    """A call and its result show their tool and their JSON; rules and tools are read out."""
    call = types.Part(function_call=types.FunctionCall(name="search", args={"area": "花壇鄉"}))
    result = types.Part(
        function_response=types.FunctionResponse(name="search", response={"status": "shown"})
    )
    window = ContextWindow((), Ledger((Projection("places"),)))
    anatomy = dissect(
        request_of(
            window,
            content("user", "找吃的"),
            types.Content(role="model", parts=[call]),
            types.Content(role="user", parts=[result]),
        ).canonical(),
        SCHEMA,
    )
    assert [(piece.role, piece.tool, piece.text) for piece in anatomy.newest] == [
        ("user", None, "找吃的"),
        ("model", "search", '{"area": "花壇鄉"}'),
        ("user", "search", '{"status": "shown"}'),
    ]
    assert anatomy.instruction == "規則"
    assert '"description": "找"' in anatomy.tools
    assert anatomy.ledger == ("*找店家",)
