"""A projector by field names: what a tool ran with and returned, as the schema admits it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from callbacks.context.errors import UnsupportedContext
from callbacks.context.listing import rows_of
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema

_FAILED = ("error", "error_code")


@dataclass(frozen=True)
class FieldProjector:
    """What a call of a tool leaves behind: values of named fields. Use ``project_fields``.

    Attributes:
        topic: The topic of the call.
        fields: Slot name -> the field that holds its value.
    """

    topic: str
    fields: Mapping[str, str]

    def project(
        self, schema: ContextSchema, arguments: Mapping[str, Any], result: Mapping[str, Any]
    ) -> Projection | None:
        """Return what the call leaves behind; None where it failed.

        A field is looked for in the result, in its row where it has just one, and in the
        arguments that the model proposed. A value that its slot does not admit is left out: a
        tool may return more than a context holds.

        Raises:
            UnsupportedContext: The schema has no such topic or slot.
        """
        if any(result.get(name) for name in _FAILED):
            return None
        rows = list(rows_of(result))
        places = [result, *(rows if len(rows) == 1 else ()), arguments]
        admitted: dict[str, str] = {}
        for name, field in self.fields.items():
            if name not in schema.slots:
                raise UnsupportedContext("The schema has no such slot.")
            for place in places:
                value = place.get(field)
                if value is None or value == "":
                    continue
                try:
                    admitted[name] = schema.slots[name].admit(value)
                except UnsupportedContext:
                    continue
                break
        return schema.project(self.topic, admitted)


def project_fields(topic: str, fields: Mapping[str, str]) -> FieldProjector:
    """Return a projector for a tool whose fields say what an exchange settled.

    Args:
        topic: The topic of its calls.
        fields: Slot name -> the field of the result, of its one row, or of the arguments.
    """
    return FieldProjector(topic, dict(fields))
