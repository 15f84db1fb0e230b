"""What `adk run local_agent`, `adk web` and `adk api_server` find.

These surfaces show a session as it is and have no button that a person could press, so nothing is
remembered or filled in here, and results stay in the session. The service (`local_agent.service`)
is wired by the same bootstrap.
"""

from __future__ import annotations

from local_agent.bootstrap import build
from local_agent.settings import load_settings

app = build(load_settings(), consent_surface=False).app
root_agent = app.root_agent
