"""What must hold before serving, and what `pgrecall check` prints. Each finding has a remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, text

from pgrecall import migrating, rights
from pgrecall.errors import StartRefused
from pgrecall.memory import DIMENSIONS, EmbeddingIdentity

Level = Literal["ok", "warning", "failed"]

POSTGRES = 150000
"""Oldest server_version_num."""
PGVECTOR = (0, 8, 0)
PGVECTOR_HNSW = (0, 8, 4)
"""Below it the HNSW vacuum was faulty."""

FILLED = """
SELECT EXISTS (SELECT FROM messages)
    OR row_security_active('messages') AND pg_relation_size('messages') > 0
"""
"""Under row-level security the messages of all users may be hidden; how much room they take is not."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `remedy` says what to do unless the level is ok."""

    name: str
    level: Level
    detail: str
    remedy: str = ""


def require(findings: Sequence[Finding]) -> None:
    """Raises StartRefused on the first that failed."""
    for finding in findings:
        if finding.level == "failed":
            raise StartRefused(f"{finding.name}: {finding.detail}", finding.remedy)


def inspect(connection: Connection, identity: EmbeddingIdentity) -> list[Finding]:
    """All findings on a database; those that make no sense after a failure are left out."""
    findings = [_postgres(connection), _pgvector(connection), _durability(connection)]
    if any(finding.level == "failed" for finding in findings):
        return findings
    findings.append(_rights(connection))
    if findings[-1].level == "failed":
        return findings
    head = _migration_head(connection)
    if head.level == "failed":
        return [*findings, head]
    return [*findings, head, _dimensions(connection), _identity(connection, identity)]


def record_identity(connection: Connection, identity: EmbeddingIdentity) -> None:
    """On the first run of all; two servers that start at once record one."""
    connection.execute(
        text(
            "INSERT INTO embedding_identity (backend, model, dimensions, endpoint, preprocessing)"
            " VALUES (:backend, :model, :dimensions, :endpoint, :preprocessing) ON CONFLICT DO NOTHING"
        ),
        {
            "backend": identity.backend,
            "model": identity.model,
            "dimensions": identity.dimensions,
            "endpoint": identity.endpoint,
            "preprocessing": identity.preprocessing,
        },
    )
    connection.commit()
    require([_identity(connection, identity)])


def _postgres(connection: Connection) -> Finding:
    version = connection.execute(text("SHOW server_version")).scalar_one()
    number = int(connection.execute(text("SHOW server_version_num")).scalar_one())
    if number < POSTGRES:
        return Finding("PostgreSQL", "failed", f"{version}", "Use PostgreSQL 15 or newer.")
    return Finding("PostgreSQL", "ok", f"{version}")


def _pgvector(connection: Connection) -> Finding:
    version = connection.execute(text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")).scalar()
    if version is None:
        return Finding("pgvector", "failed", "the extension is absent", "Run: pgrecall migrate")
    number = tuple(int(part) for part in version.split(".")[:3])
    if number < PGVECTOR:
        return Finding(
            "pgvector", "failed", f"{version} is too old: halfvec needs 0.8.0",
            "Install pgvector 0.8.0 or newer, then run: ALTER EXTENSION vector UPDATE;",
        )  # fmt: skip
    if number < PGVECTOR_HNSW:
        return Finding(
            "pgvector", "warning", f"{version}: its HNSW vacuum is faulty, an index for large users stays off",
            "Install pgvector 0.8.4 or newer, then run: ALTER EXTENSION vector UPDATE;",
        )  # fmt: skip
    return Finding("pgvector", "ok", version)


def _durability(connection: Connection) -> Finding:
    off = [
        name
        for name in ("fsync", "full_page_writes", "synchronous_commit")
        if connection.execute(text(f"SHOW {name}")).scalar_one() == "off"
    ]
    if off:
        return Finding(
            "durability", "warning", f"{', '.join(off)} off: an Add that was answered can be lost in a crash",
            f"Turn {', '.join(off)} on in postgresql.conf, for this role or for this database.",
        )  # fmt: skip
    return Finding("durability", "ok", "fsync, full_page_writes and synchronous_commit are on")


def _rights(connection: Connection) -> Finding:
    """Before the migrations: who may not read their table learns nothing else of them."""
    schema = str(connection.dialect.default_schema_name)
    missing = rights.lacking(connection, schema)
    role = connection.execute(text("SELECT quote_ident(current_user)")).scalar_one()
    connection.rollback()
    if not missing:
        return Finding("rights", "ok", f"{role} may read and write every table")
    needed = any(one.needed for one in missing)
    return Finding(
        "rights", "failed" if needed else "warning",
        f"{role} lacks {'; '.join(one.shown() for one in missing)}"
        + ("" if needed else ": the server needs it not, who reads a log in psql does"),
        "Ask the administrator to run, in this database: " + " ".join(one.grant(schema, role) for one in missing),
    )  # fmt: skip


def _migration_head(connection: Connection) -> Finding:
    here, head = migrating.current(connection), migrating.head()
    connection.rollback()
    if here == head:
        return Finding("migrations", "ok", f"at {here}, the newest")
    if here is None:
        return Finding("migrations", "failed", "the database was never migrated", "Run: pgrecall migrate")
    if here not in migrating.revisions():
        return Finding(
            "migrations", "failed", f"the database is at {here}, which this version does not know",
            "Use the newer pgrecall that migrated it.",
        )  # fmt: skip
    return Finding("migrations", "failed", f"at {here}, the newest is {head}", "Run: pgrecall migrate")


def _dimensions(connection: Connection) -> Finding:
    width = connection.execute(
        text("SELECT atttypmod FROM pg_attribute WHERE attrelid = 'messages'::regclass AND attname = 'embedding'")
    ).scalar_one()
    if width != DIMENSIONS:
        return Finding(
            "dimensions", "failed", f"the column holds {width}, this version stores {DIMENSIONS}",
            "Start on a database that this version migrated.",
        )  # fmt: skip
    return Finding("dimensions", "ok", f"{width}")


def _identity(connection: Connection, identity: EmbeddingIdentity) -> Finding:
    row = connection.execute(
        text("SELECT backend, model, dimensions, endpoint, preprocessing FROM embedding_identity")
    ).one_or_none()
    hidden = connection.execute(text("SELECT row_security_active('embedding_identity')")).scalar_one()
    filled = connection.execute(text(FILLED)).scalar_one()
    connection.rollback()
    shown = f"{identity.backend} {identity.model}, {identity.dimensions} dimensions"
    remedy = (
        "Start on an empty database (another PGRECALL_DATABASE_URL or PGRECALL_DATA_DIR),"
        " or with the settings that filled this one."
    )
    if row is None and hidden:
        return Finding(
            "embeddings", "failed", "row-level security may hide by which model the store was filled",
            "Run: ALTER TABLE embedding_identity DISABLE ROW LEVEL SECURITY; (nobody's memories are in it)",
        )  # fmt: skip
    if row is None and filled:
        return Finding("embeddings", "failed", "the store is filled, but nothing says by which model", remedy)
    if row is None:
        return Finding("embeddings", "ok", f"{shown} (recorded at the first start)")
    stored = EmbeddingIdentity(*row)
    if stored != identity:
        return Finding(
            "embeddings", "failed",
            f"the store was filled by {stored.backend} {stored.model} ({stored.dimensions} dimensions,"
            f" endpoint {stored.endpoint or 'none'}, preprocessing {stored.preprocessing}); the settings say"
            f" {shown}, endpoint {identity.endpoint or 'none'}, preprocessing {identity.preprocessing}",
            remedy,
        )  # fmt: skip
    return Finding("embeddings", "ok", shown)
