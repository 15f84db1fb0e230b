"""What stands between Google ADK and the model: requests measured before they are sent.

Import its submodules.
"""

import runpy
from pathlib import Path

# By path, not by name: says so in one sentence where another folder shadows a root of ours.
runpy.run_path(str(Path(__file__).parents[1] / "stores" / "_roots.py"))["check"](__name__)
