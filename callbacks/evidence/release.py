"""What became of an answer: which packet it rests on, the gate's verdict, tool calls not made."""

from typing import Literal

from callbacks.evidence.arguments import Stopped
from callbacks.evidence.canonical import text_digest
from callbacks.evidence.frozen import Frozen, Id
from callbacks.evidence.gate import Verdict

Ending = Literal["release", "dropped", "person", "error"]
"""How a turn ended: released, released without what had expired, handed to a person, an error."""

SUFFIX = "/release"
"""What stands behind a generation's id in the id of its release note."""


class ReleaseNote(Frozen):
    """The end of a turn whose request held a packet.

    Attributes:
        generation: Id of the generation whose packet was judged last.
        revision: 1 for the turn's first packet, 2 after it was put together again.
        ending: How it ended.
        problems: What the answer was stopped for: pairs of claim and reason.
        expired: Claims whose evidence had expired at the moment of release.
        stopped: Tool calls that were not made.
        at_ms: The moment of release.
        answer_sha256: SHA-256 of what the model gave; empty where it gave nothing.
        text_sha256: SHA-256 of what was released; empty where nothing was.
    """

    schema_version: Literal[1] = 1
    generation: Id
    revision: int
    ending: Ending
    problems: tuple[tuple[str, str], ...] = ()
    expired: tuple[str, ...] = ()
    stopped: tuple[Stopped, ...] = ()
    at_ms: int
    answer_sha256: str = ""
    text_sha256: str = ""

    @property
    def id(self) -> str:
        """Under which id it is kept."""
        return self.generation + SUFFIX


def make_note(
    generation: str,
    verdict: Verdict,
    *,
    revision: int,
    ending: Ending,
    answer: str,
    stopped: tuple[Stopped, ...],
    at_ms: int,
) -> tuple[ReleaseNote, dict[str, bytes]]:
    """Return the note and the texts behind its hashes.

    Args:
        generation: Id of the generation.
        verdict: The gate's last verdict.
        revision: Which packet of the turn it was.
        ending: How the turn ended.
        answer: What the model gave.
        stopped: Tool calls that were not made.
        at_ms: The moment of release, in milliseconds UTC.
    """
    given = _kept(answer)
    kept = {text_digest(text): text.encode() for text in (given, verdict.text) if text}
    note = ReleaseNote(
        generation=generation,
        revision=revision,
        ending=ending,
        problems=tuple((_kept(one.claim), one.reason) for one in verdict.problems),
        expired=verdict.expired,
        stopped=stopped,
        at_ms=at_ms,
        answer_sha256=text_digest(given) if given else "",
        text_sha256=text_digest(verdict.text) if verdict.text else "",
    )
    return note, kept


def _kept(text: str) -> str:
    """Return a model's text as it can be kept: a lone surrogate has no bytes."""
    return text.encode("utf-8", "replace").decode()
