"""The countTokens service: `python -m benchmarks.countserver.server` prints its port and serves.

One server speaks every rendering: the first folder of a path names it, as in
``/xml-gemma/v1beta/models/NAME:countTokens``. Both bodies are understood: the Developer API's
``generateContentRequest`` and Vertex's fields side by side. It keeps and logs nothing.
"""

import argparse
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import IPPROTO_TCP, TCP_NODELAY

from benchmarks.countserver.tokens import ByteTokens, GemmaTokens, Tokens
from benchmarks.countserver.turns import render


class CountServer(ThreadingHTTPServer):
    """Serves on a free loopback port.

    Attributes:
        asked: How many counts each rendering gave.
        connections: How many connections were opened.
    """

    daemon_threads = True

    def __init__(self, tokens: Tokens) -> None:
        """Count with a tokenizer."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tokens = tokens
        self.asked: Counter[str] = Counter()
        self.connections = 0
        self.lock = threading.Lock()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    def url(self, style: str) -> str:
        """Return the base URL of one rendering."""
        return f"http://127.0.0.1:{self.port}/{style}"

    def truth(self, style: str, body: dict[str, object]) -> int:
        """Return a request's count."""
        text, media = render(style, body)
        return self.tokens.count(text) + media


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountServer

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        with self.server.lock:
            self.server.connections += 1

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        style = self.path.split("/", 2)[1]
        body = asked.get("generateContentRequest", asked)
        total = self.server.truth(style, body)
        with self.server.lock:
            self.server.asked[style] += 1
        answer = json.dumps({"totalTokens": total}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Log nothing: a path or a body is nobody's business."""


@contextmanager
def serving(tokens: Tokens) -> Iterator[CountServer]:
    """Serve from a thread of this process."""
    with CountServer(tokens) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", choices=("gemma", "bytes"), default="gemma")
    chosen = parser.parse_args().tokens
    with serving(GemmaTokens() if chosen == "gemma" else ByteTokens()) as server:
        print(server.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
