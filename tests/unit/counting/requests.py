"""Requests of every kind, made by hand."""

import enum

from google.genai import types
from pydantic import BaseModel

MODEL = "gemini-3.8-flash"


class Answer(BaseModel):
    text: str


class Diet(enum.Enum):
    VEGAN = "vegan"


def search_places(area: str, limit: int = 3) -> str:
    """Find places."""
    return f"{area} {limit}"


def user(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def declaration(name: str) -> types.FunctionDeclaration:
    return types.FunctionDeclaration(
        name=name,
        description="Finds public places of one town.",
        parameters_json_schema={
            "type": "object",
            "properties": {"area": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["area"],
        },
    )


PLACES = declaration("search_places")
