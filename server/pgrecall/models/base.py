"""What all tables share: names of constraints, and the types of ids and moments."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import BigInteger, DateTime, MetaData, Text, Uuid
from sqlalchemy.orm import DeclarativeBase

VERSION_TABLE = "pgrecall_version"
"""Alembic's own table, named so that it never meets the one of another application in the schema."""

Id = Text(collation="C")
When = DateTime(timezone=True)


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "pk": "%(table_name)s_pkey",
            "fk": "%(table_name)s_%(column_0_name)s_fkey",
            "ix": "%(table_name)s_%(column_0_N_name)s_idx",
            "ck": "%(table_name)s_%(constraint_name)s_check",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {str: Text, datetime: When, UUID: Uuid, int: BigInteger}
