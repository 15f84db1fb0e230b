"""ASGI entry of the deployed service: `uvicorn examples.day15.main:app`.

Nothing is read at import: settings are when the server starts the application, and one that is
missing is named then (SETTINGS_INVALID).
"""

from local_agent.line.app import app

__all__ = ["app"]
