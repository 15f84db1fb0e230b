"""The article's command: `python -m examples.day15.build_context --out out/day15/cloud-context`."""

import sys

from build_context import main

if __name__ == "__main__":
    sys.exit(main())
