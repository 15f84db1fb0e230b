"""People who left LINE: erased once their days are over, unless they came back."""

from stores.records import Owner, Proposal
from tests.support.line_worker import ANN, BEN, DAY_MS


async def test_who_left_is_erased_after_the_days(app, peer, clock):
    """Unfollowing erases a person once the days are over; coming back before takes that back."""
    store, names = app.line.store, app.line.gateway.names
    ann, ben = (Owner(tenant="local", person=names.person(user)) for user in (ANN, BEN))
    for owner, user in ((ann, ANN), (ben, BEN)):
        wish = Proposal(key="dietary_type", purpose="to choose", value="vegan")
        card = await store.propose(owner, wish, now_ms=clock())
        await store.approve(owner, card.token, now_ms=clock())
        await peer.post(app.url, peer.events.unfollow(user=user))
        await app.line.worker.drain()
    await peer.post(app.url, peer.events.follow(user=BEN, unblocked=True))
    await app.line.worker.drain()
    sweep = app.line.worker._sweep
    clock.ahead += 29 * DAY_MS
    await sweep()
    assert (await store.inspect(ann, now_ms=clock())).values
    clock.ahead += 1 * DAY_MS
    await sweep()
    erased, kept = [await store.inspect(owner, now_ms=clock()) for owner in (ann, ben)]
    assert not erased.values
    assert not erased.events
    assert kept.values
    assert await app.line.inbox.leavers(now_ms=clock()) == []


async def test_who_comes_back_during_a_sweep_is_not_erased(app, peer, clock):
    """Somebody who follows again after the sweep saw that they are due keeps what is theirs (8)."""
    store, names, inbox = app.line.store, app.line.gateway.names, app.line.inbox
    ann = Owner(tenant="local", person=names.person(ANN))
    wish = Proposal(key="dietary_type", purpose="to choose", value="vegan")
    card = await store.propose(ann, wish, now_ms=clock())
    await store.approve(ann, card.token, now_ms=clock())
    await peer.post(app.url, peer.events.unfollow(user=ANN))
    await app.line.worker.drain()
    clock.ahead += 30 * DAY_MS
    leavers, seen = inbox.leavers, []

    async def found(**options):
        seen.extend(await leavers(**options))
        await peer.post(app.url, peer.events.follow(user=ANN, unblocked=True))
        await app.line.worker.drain()
        return seen

    inbox.leavers = found
    await app.line.worker._sweep()
    assert seen == [ann]
    assert (await store.inspect(ann, now_ms=clock())).values
