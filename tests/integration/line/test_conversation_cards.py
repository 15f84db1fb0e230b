"""Cards and buttons on LINE: pressed once, by their person, in time; anything else is void."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_agent import templates
from local_agent.line import words
from local_agent.line.buttons import Act
from local_agent.line.peer_checks import faults
from stores.records import Owner
from tests.support.line_world import ANN, BEN, MINUTE, World, button, text_of


async def test_a_card_is_pressed_once(world: World) -> None:
    """Invariant 9: approving is done once; the second press is told so."""
    card = await world.say("記住我吃素")
    assert card.personal
    assert await world.of(ANN) == {}
    approve = button(card, Act.APPROVE)
    first, second = await world.press(approve), await world.press(approve)
    assert text_of(first) == templates.OUTCOMES["saved"]
    assert text_of(second) == templates.OUTCOMES["already_applied"]
    assert await world.of(ANN) == {"dietary_type": "vegetarian"}
    owner = Owner(tenant=world.settings.tenant, person=world.names.person(ANN))
    held = await world.store.inspect(owner, now_ms=world.now)
    told = [(event.kind.value, event.channel) for event in held.events]
    assert told == [("proposed", "line"), ("granted", "line")]


async def test_a_declined_card_is_void(world: World) -> None:
    """After 「不用了」 the same card's other button does nothing."""
    card = await world.say("記住我吃素")
    assert text_of(await world.press(button(card, Act.CANCEL))) == templates.OUTCOMES["cancelled"]
    again = await world.press(button(card, Act.APPROVE))
    assert text_of(again) != templates.OUTCOMES["saved"]
    assert await world.of(ANN) == {}


async def test_somebody_elses_card_does_nothing(world: World) -> None:
    """Invariant 11: a token proves a card of one person, and is nothing in another's hand."""
    approve = button(await world.say("記住我吃素"), Act.APPROVE)
    plan = await world.press(approve, user=BEN)
    assert text_of(plan) == templates.OUTCOMES["invalid"]
    assert (await world.of(ANN), await world.of(BEN)) == ({}, {})
    assert text_of(await world.press(approve)) == templates.OUTCOMES["saved"]


async def test_an_old_card_has_expired(world: World) -> None:
    """After five minutes the press says so and changes nothing."""
    approve = button(await world.say("記住我吃素"), Act.APPROVE)
    world.now += 6 * MINUTE
    assert text_of(await world.press(approve)) == templates.OUTCOMES["expired"]
    assert await world.of(ANN) == {}


async def test_an_older_card_is_stale_after_a_change(world: World) -> None:
    """Invariant 7: a card from before another consent is void."""
    old = button(await world.say("記住我吃素"), Act.APPROVE)
    await world.press(button(await world.say("記住我吃全素"), Act.APPROVE))
    assert text_of(await world.press(old)) == templates.OUTCOMES["stale"]
    assert await world.of(ANN) == {"dietary_type": "vegan"}


@pytest.mark.parametrize(
    "data",
    [
        "",
        "local.1 approve",
        "local.1 grant x",
        "action=approve",
        "local.1 places 台北市",
        "x" * 300,
        '{"act": "forget"}',
    ],
)
async def test_a_button_that_is_not_ours_does_nothing(world: World, data: str) -> None:
    """Malformed or foreign data gets a sentence; no model is asked, nothing is changed."""
    await world.remember()
    asked = world.requests
    assert text_of(await world.press(data)) == words.BAD_BUTTON
    assert await world.of(ANN) == {"dietary_type": "vegetarian"}
    assert world.requests == asked


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.text(max_size=320),
        st.builds(
            lambda act, token: f"local.1 {act.value} {token}",
            st.sampled_from(list(Act)),
            st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=210),
        ),
    )
)
async def test_no_postback_grants_anything(world: World, data: str) -> None:
    """Whatever a postback carries, without a card of the store nothing is remembered."""
    incoming = world.read(world.make.postback("x", user=ANN)).model_copy(update={"data": data})
    plan = await world.conversation.respond(incoming)
    assert plan is not None
    assert faults(list(plan.messages)) == []
    assert await world.of(ANN) == {}
