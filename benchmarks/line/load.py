"""Posts webhooks at a fixed rate from a process of its own, and tells how long each 200 took.

Open loop: each event leaves at its own moment, whether or not earlier ones were answered, so a
gateway that stalls is charged for everybody who waited. `python -m benchmarks.line.load` reads its
orders as JSON on stdin and writes what it measured as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.line.processes import SECRET
from local_agent.line.peer_events import Event, EventMaker, body_of, line_id, signature_of

CONNECTIONS = 32
TEXTS = ("花壇有什麼吃的？", "剛才那個鄉鎮有活動嗎？")
"""What each person writes, in turns: a search, and one that needs the journal."""


@dataclass(frozen=True)
class Orders:
    """What to post.

    Attributes:
        port: Of the gateway, on loopback.
        rate: Events a second; 0 posts as fast as they are answered.
        events: How many.
        chats: Of how many people; they take turns.
        name: Of this load, eight hexadecimal digits; in every id.
    """

    port: int
    rate: float
    events: int
    chats: int
    name: str


def token_of(orders: Orders, number: int) -> str:
    """Return the reply token of an event: the load, the chat and the place within the chat."""
    return f"{orders.name}{number % orders.chats:012x}{number // orders.chats:012x}"


def event_id_of(orders: Orders, number: int) -> str:
    """Return the id of an event."""
    return f"01{orders.name}{number:016d}"


def _event(orders: Orders, make: EventMaker, number: int) -> Event:
    text = TEXTS[number // orders.chats % len(TEXTS)]
    user = f"U{orders.name}{number % orders.chats:024x}"
    token, event_id = token_of(orders, number), event_id_of(orders, number)
    return {**make.text(text, user=user), "webhookEventId": event_id, "replyToken": token}


async def post_all(orders: Orders) -> list[float]:
    """Post, and return the milliseconds from each event's moment to its 200.

    Raises:
        RuntimeError: An answer was no 200.
    """
    make = EventMaker(lambda: time.time_ns() // 1_000_000)
    requests: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue(
        0 if orders.rate else CONNECTIONS
    )
    took: list[float] = []
    start = time.perf_counter() + 0.5
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(_connection(orders.port, requests, took))
        await asyncio.sleep(max(0.0, start - time.perf_counter()))
        for number in range(orders.events):
            body = body_of(line_id("user", 0xB07), [_event(orders, make, number)])
            moment = time.perf_counter()
            if orders.rate:
                moment = start + number / orders.rate
                await asyncio.sleep(max(0.0, moment - time.perf_counter()))
            await requests.put((moment, _request(body)))
        for _ in range(CONNECTIONS):
            await requests.put(None)
    return took


def _request(body: bytes) -> bytes:
    return (
        b"POST /callback HTTP/1.1\r\nhost: localhost\r\n"
        b"content-type: application/json; charset=utf-8\r\n"
        b"x-line-signature: " + signature_of(SECRET, body).encode() + b"\r\n"
        b"content-length: " + str(len(body)).encode() + b"\r\n\r\n" + body
    )


async def _connection(
    port: int, requests: asyncio.Queue[tuple[float, bytes] | None], took: list[float]
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (request := await requests.get()) is not None:
        moment, data = request
        writer.write(data)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        await reader.readexactly(length)
        took.append((time.perf_counter() - moment) * 1000)
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"The gateway answered {head[9:12].decode()}.")
    writer.close()


async def post_elsewhere(orders: Orders) -> list[float]:
    """Post from a process of its own, so that measuring does not wait for anything measured."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.line.load",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate(json.dumps(vars(orders)).encode())
    if process.returncode != 0:
        raise RuntimeError("The load ended before it was done.")
    took: list[float] = json.loads(out)
    return took


def main() -> None:
    """Read orders, post, and tell."""
    orders: dict[str, Any] = json.load(sys.stdin)
    gc.disable()  # a pause of the measuring process would be charged to the gateway
    json.dump(asyncio.run(post_all(Orders(**orders))), sys.stdout)


if __name__ == "__main__":
    main()
