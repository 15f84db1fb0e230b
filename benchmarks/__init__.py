"""Measurements that a reader runs from a checkout.

Start with `python -m benchmarks --help`.
"""

import runpy
from pathlib import Path

# By path, not by name: says so in one sentence where another folder shadows a root of ours.
runpy.run_path(str(Path(__file__).parents[1] / "stores" / "_roots.py"))["check"](__name__)
