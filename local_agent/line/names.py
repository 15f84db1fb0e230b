"""Under which names the inbox and the store know LINE's people, chats and messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from local_agent.line.incoming import Incoming
from stores.pseudonym import pseudonym

PERSON: Final = "line"
GROUP_PERSON: Final = "line.group"
CHAT: Final = "line.chat"
MESSAGE: Final = "line.message"
UNSENT: Final = "line.unsent"


@dataclass(frozen=True)
class Names:
    """Pseudonyms of one deployment.

    Attributes:
        secret: LOCAL_PSEUDONYM_KEY.
        tenant: LOCAL_TENANT.
    """

    secret: bytes = field(repr=False)
    tenant: str

    def person(self, user_id: str) -> str:
        """Return who a user is in their one-to-one chat: the owner of their preferences."""
        return pseudonym(self.secret, self.tenant, PERSON, user_id)

    def group_person(self, chat_id: str, user_id: str) -> str:
        """Return who a user is in one group or room: a stranger to their own preferences."""
        return pseudonym(self.secret, self.tenant, GROUP_PERSON, f"{chat_id}/{user_id}")

    def chat(self, chat_id: str) -> str:
        """Return a chat's name; turns of one chat never overlap."""
        return pseudonym(self.secret, self.tenant, CHAT, chat_id)

    def message(self, message_id: str) -> str:
        """Return a message's name, by which it is unsent or known as quoted."""
        return pseudonym(self.secret, self.tenant, MESSAGE, message_id)

    def unsent(self, message_id: str) -> str:
        """Return the name under which it is known that a message was taken back."""
        return pseudonym(self.secret, self.tenant, UNSENT, message_id)

    def owner_of(self, incoming: Incoming) -> str | None:
        """Return whose turn an event is; None where LINE does not tell who sent it."""
        if not incoming.user_id:
            return None
        if incoming.source == "user":
            return self.person(incoming.user_id)
        return self.group_person(incoming.chat_id, incoming.user_id)
