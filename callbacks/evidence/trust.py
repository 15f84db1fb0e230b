"""What kinds of input may be used for: a list for each label, not a single score."""

from enum import StrEnum


class Trust(StrEnum):
    """As which kind of input something counts."""

    AUTHORITATIVE = "authoritative"
    """A signed policy or a system of record, inside its duty."""
    OBSERVED = "observed"
    """A tool's validated result: true of one thing at one time."""
    STATED = "stated"
    """What the person said: defines the task, proves nothing about the world."""
    PREPARED = "prepared"
    """A summary or an annotation made for reading: background alone."""
    UNTRUSTED = "untrusted"
    """Text of strangers: may be quoted as data where the task is about it."""


class Use(StrEnum):
    """Something one may want to do with a piece of input."""

    PROVE = "prove"
    BACKGROUND = "background"
    QUOTE = "quote"
    DEFINE_TASK = "define_task"
    TOOL_ARGUMENT = "tool_argument"
    STATE_UPDATE = "state_update"
    INSTRUCT = "instruct"
    FOLLOW_LINKS = "follow_links"


ALLOWED: dict[Trust, frozenset[Use]] = {
    Trust.AUTHORITATIVE: frozenset(
        {Use.PROVE, Use.BACKGROUND, Use.QUOTE, Use.TOOL_ARGUMENT, Use.STATE_UPDATE}
    ),
    Trust.OBSERVED: frozenset(
        {Use.PROVE, Use.BACKGROUND, Use.QUOTE, Use.TOOL_ARGUMENT, Use.STATE_UPDATE}
    ),
    Trust.STATED: frozenset(
        {Use.BACKGROUND, Use.QUOTE, Use.DEFINE_TASK, Use.TOOL_ARGUMENT, Use.STATE_UPDATE}
    ),
    Trust.PREPARED: frozenset({Use.BACKGROUND}),
    Trust.UNTRUSTED: frozenset({Use.QUOTE}),
}
"""Allowed uses by label. INSTRUCT and FOLLOW_LINKS are in none: evidence is data, always."""


def allows(trust: Trust, use: Use) -> bool:
    """Say whether input of a label may be used for something."""
    return use in ALLOWED[trust]


def forbidden(trust: Trust) -> tuple[str, ...]:
    """Return the uses a label does not allow, sorted, for a packet's boundary lines."""
    return tuple(sorted(use.value for use in Use if use not in ALLOWED[trust]))
