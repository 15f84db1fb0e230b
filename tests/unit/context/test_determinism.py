"""The same inputs give the same bytes in every process."""

import os
import subprocess
import sys

SCRIPT = """
from callbacks.context.render import render
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from callbacks.context.window import ContextWindow

names = {"c", "a", "d", "b", "e", "f"}
schema = ContextSchema(
    topics={name: Topic("topic " + name) for name in names},
    slots={name: Slot.closed({"x", "y", "z", name}, aliases={n + "!": "x" for n in names})
           for name in names},
)
window = ContextWindow()
for topic in sorted(names):
    window = window.append(schema.project(topic, {name: "z" for name in names}), schema)
print(schema.fingerprint)
print(window.to_json(schema))
print(render(window, schema))
print([slot.values for slot in schema.slots.values()], hash(1))
"""


def test_the_hash_seed_changes_nothing():
    """Sets and dictionaries in any order give the same fingerprint, JSON and block (12)."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "4711")
    }
    assert len(outputs) == 1
    assert b"topic f" in outputs.pop()
