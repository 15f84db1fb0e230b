"""What LOCAL keeps of an exchange, and what a person may agree to have remembered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callbacks.adk.injection import Preference
from callbacks.adk.tools import Projector
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from local_agent.areas import ALIASES, AREAS
from local_agent.diets import ANY, DIETS
from local_agent.templates import PURPOSE

DIETARY_KEY = "dietary_type"

SCHEMA = ContextSchema(
    topics={
        "places": Topic("找店家"),
        "events": Topic("找活動"),
        "help": Topic("詢問可用功能", sticky=False),
        "memory": Topic("管理偏好", sticky=False),
    },
    slots={"area": Slot.closed(AREAS, aliases=ALIASES, label="區域")},
    language="zh-Hant",
)


def dietary_preference() -> Preference:
    """Return LOCAL's one preference: a diet, filled into the search for places."""
    return Preference(
        DIETARY_KEY,
        DIETS,
        purpose=PURPOSE,
        fills={"search_local_places": "dietary_type"},
        otherwise=ANY,
    )


def _about(topic: str) -> Projector:
    def project(arguments: Mapping[str, Any], result: Mapping[str, Any]) -> Projection | None:
        if result.get("error_code"):
            return None
        # The tool says which town it searched; the model's own word for it may be an alias.
        area = result.get("area")
        return SCHEMA.project(topic, {"area": area} if area else {})

    return project


PROJECTORS: Mapping[str, Projector] = {
    "search_local_places": _about("places"),
    "search_local_events": _about("events"),
    "show_local_help": _about("help"),
    "propose_dietary_memory": _about("memory"),
    "request_memory_management": _about("memory"),
}
