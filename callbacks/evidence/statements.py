"""What a model may say: typed statements, one for each claim, and nothing else.

Nothing of it is shown to anybody as it is. The gate compares every field with the evidence, and the
application renders the sentences.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from callbacks.evidence.canonical import read
from callbacks.evidence.contract import Outcome
from callbacks.evidence.errors import AnswerNotReleased, EvidenceError
from callbacks.evidence.frozen import Frozen
from callbacks.evidence.item import Comparator, Polarity

Said = Annotated[str, Field(min_length=1, max_length=200)]


class Statement(Frozen):
    """One statement.

    Attributes:
        claim: Id of the claim.
        subject: What or who it is about; null where nothing is stated.
        predicate: What is said about it; null where nothing is stated.
        comparator: How the value bounds it; null where nothing is stated.
        value: The value as text, whole: a number, an amount, a word, a time; null where nothing is
            stated.
        unit: The unit or currency, where the value does not say it.
        as_of: When the value was observed, as a time with its zone; null where it does not age.
        polarity: Whether it is asserted or denied.
        exceptions: Where it does not hold.
        citations: Ids of the items it rests on: all that the packet gives for the claim.
        outcome: What the claim comes to.
        quote: Words of a cited item, character for character; null for none.
    """

    claim: Said
    subject: Said | None = None
    predicate: Said | None = None
    comparator: Comparator | None = None
    value: Said | None = None
    unit: Said | None = None
    as_of: Said | None = None
    polarity: Polarity = Polarity.AFFIRMED
    exceptions: tuple[Said, ...] = ()
    citations: tuple[Said, ...] = ()
    outcome: Outcome
    quote: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None


class Answer(BaseModel):
    """A whole answer: the output schema that a model is given.

    Attributes:
        outcome: What the answer comes to.
        statements: One for each claim of the plan, and for each of its parts.
        unknowns: Ids of everything the packet calls unknown.
        conflicts: Ids of every conflict of the packet.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    outcome: Outcome
    statements: tuple[Statement, ...]
    unknowns: tuple[Said, ...] = ()
    conflicts: tuple[Said, ...] = ()


ANSWER_FORM = """\
One JSON object of this form and nothing else:
{"outcome", "statements", "unknowns", "conflicts"}; each statement: {"claim", "subject", \
"predicate", "comparator", "value", "unit", "as_of", "polarity", "exceptions", "citations", \
"outcome", "quote"}.
outcome: supported, conditional, conflict, unknown, unavailable; comparator: eq, gt, ge, lt, le; \
polarity: affirmed, denied.
One statement for each claim of the plan, and for each of its parts; only claim and outcome where \
it is unknown or unavailable, and the citations as well where it is a conflict.
citations: the ids of all items that stand in the claim; unknowns and conflicts: all that the plan \
names; as_of: of the item, where it has one."""
"""The answer's form in words, for contracts: not every model takes a schema beside tools."""


def read_answer(text: str) -> Answer:
    """Read a model's answer.

    Raises:
        AnswerNotReleased: It is not JSON of this schema: prose around it, fields nobody asked for
            (action parameters among them), a repeated key, a floating-point number.
    """
    try:
        read(text.encode("utf-8", "strict"))
        return Answer.model_validate_json(text)
    except (ValidationError, EvidenceError, UnicodeEncodeError):
        pass
    # Outside the handler: what the parser quotes is the model's.
    raise AnswerNotReleased(numbers={"reason": "not_the_schema"})
