"""What the stored vectors mean."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Boolean, CheckConstraint, Integer, func
from sqlalchemy.orm import Mapped, mapped_column

from pgrecall.models.base import Base


class EmbeddingIdentityRow(Base):
    """What the stored vectors mean; at most one row."""

    __tablename__ = "embedding_identity"
    __table_args__ = (
        CheckConstraint("only_row", name="only_row"),
        {"comment": "What the stored vectors mean: a server with another identity refuses to start"},
    )
    only_row: Mapped[bool] = mapped_column(Boolean, primary_key=True, server_default="true", comment="Always true")
    backend: Mapped[str] = mapped_column(comment="static, openai or fastembed")
    model: Mapped[str] = mapped_column(comment="The model's name")
    dimensions: Mapped[int] = mapped_column(Integer, comment="Dimensions the model returns, before padding")
    endpoint: Mapped[str] = mapped_column(comment="Base URL of the provider; empty for a local one")
    preprocessing: Mapped[int] = mapped_column(Integer, comment="Version of rendering, segmentation and pooling")
    recorded_at: Mapped[datetime] = mapped_column(server_default=func.now(), comment="First start")
