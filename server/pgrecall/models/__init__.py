"""The schema: what each table and column is. Hot statements live in sql/, not here.

Every key begins with user_id: no row of one user can be named without naming the user, and the tables
distribute by it. Ids compare as bytes (COLLATE "C").
"""

from pgrecall.models.base import VERSION_TABLE, Base
from pgrecall.models.derived import DateSaid, LargeVector, Spelling, State, Term
from pgrecall.models.forgetting import Audit, ForgottenFact, ForgottenMessage
from pgrecall.models.identity import EmbeddingIdentityRow
from pgrecall.models.log import Fact, Message, Request, Session, User

__all__ = [
    "VERSION_TABLE",
    "Audit",
    "Base",
    "DateSaid",
    "EmbeddingIdentityRow",
    "Fact",
    "ForgottenFact",
    "ForgottenMessage",
    "LargeVector",
    "Message",
    "Request",
    "Session",
    "Spelling",
    "State",
    "Term",
    "User",
]
