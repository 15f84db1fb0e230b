"""The offline model: it reads the request it is given and nothing else."""

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.ledger import Ledger
from callbacks.context.projection import Projection
from callbacks.context.render import ACK, render
from callbacks.context.window import ContextWindow
from local_agent import intents, templates
from local_agent.areas import AREAS
from local_agent.context import SCHEMA
from local_agent.offline_model import OfflineModel

MODEL = OfflineModel(history_schema=SCHEMA)
HELP = SCHEMA.project("help", {})
PARAMETERS = {
    intents.PLACES: ("area", "dietary_type", "keyword"),
    intents.EVENTS: ("date", "area", "keyword"),
    intents.PROPOSE: ("dietary_type",),
    intents.MANAGE: ("action", "dietary_type"),
    intents.HELP: ("reason",),
}


def user(text):
    return types.Content(role="user", parts=[types.Part(text=text)])


def model(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def history(*projections, ledger=None):
    window = ContextWindow(tuple(projections), ledger or Ledger())
    return [user(render(window, SCHEMA)), model(ACK["zh-Hant"])]


def request(*contents, tools=PARAMETERS, json_schema=True):
    declarations = []
    for name, parameters in tools.items():
        if json_schema:
            schema = {"type": "object", "properties": {key: {} for key in parameters}}
            declarations.append(types.FunctionDeclaration(name=name, parameters_json_schema=schema))
        else:
            properties = {key: types.Schema(type=types.Type.STRING) for key in parameters}
            declarations.append(
                types.FunctionDeclaration(
                    name=name,
                    parameters=types.Schema(type=types.Type.OBJECT, properties=properties),
                )
            )
    return LlmRequest(
        model="local-offline-rules",
        contents=list(contents),
        config=types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=declarations)] if declarations else None
        ),
    )


async def answer(llm_request, offline=MODEL, *, stream=False):
    return [part async for part in offline.generate_content_async(llm_request, stream=stream)]


async def call(*contents, offline=MODEL, **options):
    (response,) = await answer(request(*contents, **options), offline)
    found = response.content.parts[0].function_call
    return found.name, found.args


async def test_it_says_what_it_is():
    """It goes by one name, reports no usage and claims no capability."""
    (response,) = await answer(request(user("你好")))
    assert MODEL.model == response.model_version == "local-offline-rules"
    assert OfflineModel.supported_models() == ["local-offline-rules"]
    assert not MODEL.capabilities.output_schema_and_tools
    assert response.usage_metadata is None


async def test_the_town_comes_from_the_ledger():
    """Turn 5: with two help turns in the window, the town is the ledger's."""
    past = history(HELP, HELP, ledger=Ledger((Projection("events", {"area": "花壇鄉"}),)))
    name, arguments = await call(*past, user("剛才那個鄉鎮，再找一家吃的。"))
    assert name == "search_local_places"
    assert arguments == {"area": "花壇鄉", "dietary_type": "", "keyword": ""}


async def test_the_newest_town_wins():
    """A projection is newer than the ledger, and the later projection newer still."""
    ledger = Ledger((Projection("places", {"area": "花壇鄉"}),))
    older = SCHEMA.project("places", {"area": "鹿港鎮"})
    newer = SCHEMA.project("events", {"area": "彰化市"})
    question = user("那邊有什麼吃的")
    assert (await call(*history(older, newer, ledger=ledger), question))[1]["area"] == "彰化市"
    assert (await call(*history(older, HELP, ledger=ledger), question))[1]["area"] == "鹿港鎮"


async def test_the_goal_goes_on():
    """「那彰化市呢？」 repeats the newest search, over a turn of help."""
    past = history(HELP, ledger=Ledger((Projection("events", {"area": "花壇鄉"}),)))
    assert await call(*past, user("那彰化市呢？")) == (
        "search_local_events",
        {"date": "", "area": "彰化市", "keyword": ""},
    )


async def test_without_a_history_it_asks():
    """Nothing in the request, nothing known: it asks for the town."""
    assert await call(user("剛才那個鄉鎮，再找一家吃的。")) == (
        "show_local_help",
        {"reason": "which_area"},
    )


async def test_raw_history_is_read_where_there_is_no_block():
    """With past messages in plain, as ADK sends them, the town is found in those."""
    past = [user("查花壇的活動。"), model("…"), user("停車資料有嗎？"), model("鹿港")]
    assert (await call(*past, user("剛才那個鄉鎮，再找一家吃的。")))[1]["area"] == "花壇鄉"
    assert (await call(*past, user("那彰化市呢？")))[0] == "search_local_events"


async def test_without_a_schema_a_block_is_plain_text():
    """A model built without a schema still reads the town as text."""
    past = history(SCHEMA.project("places", {"area": "鹿港鎮"}))
    _, arguments = await call(*past, user("那邊有什麼吃的"), offline=OfflineModel())
    assert arguments["area"] == "鹿港鎮"


@pytest.mark.parametrize("json_schema", [True, False])
async def test_only_declared_tools_and_arguments_are_used(json_schema):
    """It calls no tool the request does not declare, and gives no argument the tool has not."""
    question = user("今天想吃素，花壇有什麼吃的？")
    some = {intents.PLACES: ("area",)}
    assert await call(question, tools=some, json_schema=json_schema) == (
        intents.PLACES,
        {"area": "花壇鄉"},
    )
    only_help = {intents.HELP: ("reason",)}
    assert await call(question, tools=only_help) == (intents.HELP, {"reason": "other"})


async def test_without_tools_it_answers_in_words():
    """An agent without tools gets the help as text."""
    (response,) = await answer(request(user("停車資料有嗎？"), tools={}))
    assert response.content.parts[0].text == templates.show_help("parking")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"places": [{"name": "甲"}, {"name": "乙"}], "total": 7}, "找到 7 筆：甲、乙。"),
        ({"places": [], "total": 0}, "目前的資料裡沒有符合條件的。"),
        ({"status": "shown_to_person"}, "結果已經顯示給您了。"),
        ({"error_code": "STORE_UNAVAILABLE"}, templates.refusal("STORE_UNAVAILABLE")),
        (None, "結果已經顯示給您了。"),
    ],
)
async def test_after_a_tool_it_answers_once(result, text):
    """With a response as the newest content it makes one short text of it and calls nothing."""
    calls = types.Content(
        role="model", parts=[types.Part(function_call=types.FunctionCall(name="search_x"))]
    )
    response = types.FunctionResponse(name="search_x", response=result)
    reply = types.Content(role="user", parts=[types.Part(function_response=response)])
    (said,) = await answer(request(user("花壇有什麼吃的"), calls, reply))
    assert said.content.parts[0].text == text


async def test_streaming_sends_a_partial_text_and_then_the_whole():
    """A text comes as a chunk and then whole; a call comes whole."""
    chunk, whole = await answer(request(user("停車資料有嗎？"), tools={}), stream=True)
    assert (chunk.partial, whole.partial) == (True, False)
    assert chunk.content == whole.content
    (only,) = await answer(request(user("花壇有什麼吃的")), stream=True)
    assert only.partial is False
    assert only.content.parts[0].function_call.name == intents.PLACES


@pytest.mark.parametrize(
    "contents",
    [
        [],
        [model("嗨")],
        [types.Content(role="user", parts=[])],
        [types.Content(role="user")],
        [types.Content(role="user", parts=[types.Part(text="")])],
    ],
)
async def test_a_request_without_words_gets_help(contents):
    """Whatever comes, there is an answer."""
    assert (await call(*contents))[0] == intents.HELP


async def test_tools_of_another_kind_are_left_alone():
    """Tools that are no function declarations are skipped."""
    llm_request = request(user("花壇有什麼吃的"), tools={})
    llm_request.config.tools = [types.Tool(google_search=types.GoogleSearch()), len]
    (response,) = await answer(llm_request)
    assert response.content.parts[0].text


@given(
    st.lists(st.sampled_from(("花壇", "剛才那個鄉鎮", "吃的", "活動", "吃素", "不", "？"))).map(
        "".join
    ),
    st.none() | st.sampled_from(AREAS),
)
async def test_the_same_request_gives_the_same_bytes(message, area):
    """Invariant 12: equal requests, other objects and another model object, equal bytes."""
    answers = []
    for offline in (MODEL, OfflineModel(history_schema=SCHEMA)):
        past = history(SCHEMA.project("places", {"area": area})) if area else []
        llm_request = request(*past, user(message))
        before = llm_request.model_dump_json()
        (response,) = await answer(llm_request, offline)
        assert llm_request.model_dump_json() == before
        answers.append(response.model_dump_json())
    assert answers[0] == answers[1]


async def test_nothing_is_kept_from_one_request_to_the_next():
    """An earlier request leaves nothing that a later one could use."""
    await answer(request(user("花壇有什麼吃的")))
    assert (await call(user("那邊有什麼吃的")))[1] == {"reason": "which_area"}
