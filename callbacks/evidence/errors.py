"""What this room refuses, each with a code and with numbers beside the sentence, never in it."""

from callbacks.context.errors import ContextError


class EvidenceError(ContextError):
    """A plan, an item, a packet or a record is not usable."""

    error_code = "EVIDENCE_INVALID"
    sentence = "The evidence is not usable."


class ContractMismatch(EvidenceError):
    """The contract at hand is not the one that was approved."""

    error_code = "CONTRACT_MISMATCH"
    sentence = "The task contract is not the approved one."


class EvidenceInsufficient(EvidenceError):
    """No admissible packet proves every required claim within the budget."""

    error_code = "EVIDENCE_INSUFFICIENT"
    sentence = "The evidence at hand does not prove what the answer needs."


class AnswerNotReleased(EvidenceError):
    """The answer says something that its packet does not support."""

    error_code = "ANSWER_NOT_RELEASED"
    sentence = "The answer is not released."


class CaseMismatch(EvidenceError):
    """A stored case state is not what its events add up to, or an event may not be."""

    error_code = "CASE_STATE_MISMATCH"
    sentence = "The case state and its events do not agree."


class RecordMismatch(EvidenceError):
    """A generation cannot be rebuilt to the bytes that were recorded."""

    error_code = "GENERATION_RECORD_MISMATCH"
    sentence = "The generation cannot be rebuilt as it was recorded."
