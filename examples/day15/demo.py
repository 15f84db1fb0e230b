"""The article's command: `python -m examples.day15.demo --out out/day15/first-run`."""

import sys

from local_agent.cli import main

if __name__ == "__main__":
    main(["demo", *sys.argv[1:]])
