"""A worker runs functions in order on one thread, for any event loop."""

import asyncio
import gc
import os
import threading
import weakref
from functools import partial

import pytest

from stores.errors import StoreUnavailable
from stores.sql.worker import Worker


@pytest.fixture
def worker():
    worker = Worker("test-worker")
    yield worker
    if thread := worker.stop(lambda: None):
        thread.join()


async def test_work_is_done_in_order_on_one_thread(worker):
    """What is handed in first is done first, all of it on the same other thread."""
    done = []

    def note(number):
        done.append(number)
        return threading.get_ident()

    threads = await asyncio.gather(*(worker.run(partial(note, number)) for number in range(20)))
    assert done == list(range(20))
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()


async def test_an_error_reaches_who_waits(worker):
    """An error goes to its own caller, and the next job runs as if nothing had been."""

    def fail():
        raise LookupError

    with pytest.raises(LookupError):
        await worker.run(fail)
    assert await worker.run(lambda: 1) == 1


def test_event_loops_may_come_and_go(worker):
    """A worker serves one event loop after the other."""
    for number in range(3):
        assert asyncio.run(worker.run(lambda n=number: n)) == number


def test_two_event_loops_may_share_it(worker):
    """Event loops on different threads are served at the same time."""
    results = []

    def use(number):
        async def often():
            return [await worker.run(lambda i=i: (number, i)) for i in range(50)]

        results.append(asyncio.run(often()))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [[(number, i) for i in range(50)] for number in range(2)]


async def test_who_gave_up_is_skipped(worker):
    """Work whose caller was cancelled before it began is not done; work that began is finished."""
    began, go, done = threading.Event(), threading.Event(), []

    def slow():
        began.set()
        go.wait(5)
        done.append("slow")

    first = asyncio.create_task(worker.run(slow))
    second = asyncio.create_task(worker.run(lambda: done.append("second")))
    await asyncio.to_thread(began.wait, 5)
    first.cancel()
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    go.set()
    await worker.run(lambda: done.append("third"))
    assert done == ["slow", "third"]


def test_a_loop_that_is_gone_is_no_error(worker):
    """A result for an event loop that was closed in the meantime is dropped."""
    began, go = threading.Event(), threading.Event()

    def slow():
        began.set()
        go.wait(5)

    async def leave():
        task = asyncio.create_task(worker.run(slow))
        await asyncio.to_thread(began.wait, 5)
        task.cancel()

    asyncio.run(leave())
    go.set()
    assert asyncio.run(worker.run(lambda: 1)) == 1


async def test_a_stopped_worker_refuses(worker):
    """After stop the last job has run, the thread ends, and further work is refused."""
    done = []
    await worker.run(lambda: done.append("first"))
    thread = worker.stop(lambda: done.append("last"))
    thread.join(5)
    assert (done, thread.is_alive()) == (["first", "last"], False)
    assert worker.stop(lambda: done.append("never")) is None
    with pytest.raises(StoreUnavailable) as caught:
        await worker.run(lambda: 1)
    assert caught.value.numbers == {"reason": "closed"}


async def test_a_forked_process_is_told(worker, monkeypatch):
    """Threads do not survive a fork: the child gets an error instead of waiting for ever."""
    await worker.run(lambda: 1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)
        with pytest.raises(StoreUnavailable) as caught:
            await worker.run(lambda: 1)
    assert caught.value.numbers == {"reason": "forked"}


async def test_nothing_of_a_job_is_kept(worker):
    """A finished job leaves no reference to what it worked on, such as a value."""

    class Held:
        pass

    held = Held()
    gone = weakref.ref(held)
    await worker.run(lambda held=held: None)
    await worker.run(lambda: None)
    del held
    gc.collect()
    assert gone() is None
