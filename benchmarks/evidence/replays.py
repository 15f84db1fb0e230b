"""Stored generations made again in a fresh process with another hash seed and no sources."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.evidence.worlds import world
from callbacks.evidence.record import GenerationRecord, blobs, make_record, rebuild


def measure_replay(generations: int = 1_000) -> dict[str, Any]:
    """Return how many of the stored generations come out the same, byte for byte.

    Args:
        generations: How many.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generations.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for seed in range(generations):
                made = world(10_000 + seed).assembly
                record = make_record(
                    made, counter="bytes-by-three", unit="utf8_bytes", config_sha256="0" * 64
                )
                stored = {key: value.decode("utf-8") for key, value in blobs(made.packet).items()}
                line = {"record": record.canonical().decode("utf-8"), "blobs": stored}
                file.write(json.dumps(line) + "\n")
        equal = {}
        for hash_seed in ("0", "4242"):
            code = f"from benchmarks.evidence.replays import _replay; _replay({str(path)!r})"
            done = subprocess.run(  # noqa: S603 - our own code in our own interpreter
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "PYTHONHASHSEED": hash_seed},
            )
            equal[hash_seed] = int(done.stdout)
    return {
        "generations": generations,
        "equal": min(equal.values()),
        "by_hash_seed": equal,
    }


def _replay(path: str) -> None:
    equal = 0
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        stored = json.loads(line)
        record = GenerationRecord.from_json(stored["record"].encode("utf-8"))
        kept = {key: text.encode("utf-8") for key, text in stored["blobs"].items()}
        packet = rebuild(record, kept.__getitem__)
        again = record.canonical().decode("utf-8") == stored["record"]
        equal += packet.sha256 == record.packet_sha256 and again
    sys.stdout.write(str(equal))
