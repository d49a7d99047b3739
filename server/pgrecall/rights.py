"""What the serving role may do, and what to ask the administrator for where it may not."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Connection, text

from pgrecall.connections import quoted
from pgrecall.models import VERSION_TABLE, Base

WRITTEN = ("SELECT", "INSERT", "UPDATE")
"""On every table."""
EMPTIED = (
    "dates", "facts", "forgotten_facts", "forgotten_messages", "large_vectors", "messages", "spellings", "states",
    "terms",
)  # fmt: skip
"""Tables from which rows go, when they are made anew or forgotten: there DELETE as well."""
VIEWS = ("log", "fact_log")
"""For whoever reads a log in psql; the server does not."""

SCHEMAS = """
SELECT nspname FROM pg_namespace
WHERE (nspname = :schema OR oid = (SELECT extnamespace FROM pg_extension WHERE extname = 'vector'))
  AND NOT has_schema_privilege(oid, 'USAGE')
ORDER BY 1
"""
RELATIONS = """
SELECT c.relname, needed.privilege
FROM unnest(CAST(:names AS text[]), CAST(:privileges AS text[])) WITH ORDINALITY AS needed(name, privilege, place)
JOIN pg_class AS c ON c.relname = needed.name
JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = :schema
WHERE NOT has_table_privilege(c.oid, needed.privilege)
ORDER BY needed.place
"""


@dataclass(frozen=True, slots=True)
class Lacking:
    """Rights that are missing, the same on each of `names`: relations, or with USAGE schemas."""

    privileges: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def needed(self) -> bool:
        """Whether the server cannot do without."""
        return not set(self.names) <= set(VIEWS)

    def shown(self) -> str:
        kind = "schema " if self.privileges == ("USAGE",) else ""
        return f"{', '.join(self.privileges)} on {kind}{', '.join(self.names)}"

    def grant(self, schema: str, role: str) -> str:
        """The statement that gives them to `role` (an identifier, quoted)."""
        if self.privileges == ("USAGE",):
            on = f"SCHEMA {', '.join(map(quoted, self.names))}"
        else:
            on = ", ".join(f"{quoted(schema)}.{quoted(name)}" for name in self.names)
        return f"GRANT {', '.join(self.privileges)} ON {on} TO {role};"


def lacking(connection: Connection, schema: str) -> list[Lacking]:
    """Of what is there: on a table that a migration has yet to make, no right is missing."""
    wanted = [(table, privilege) for table in Base.metadata.tables for privilege in WRITTEN]
    wanted += [(table, "DELETE") for table in EMPTIED]
    wanted += [(relation, "SELECT") for relation in (VERSION_TABLE, *VIEWS)]
    schemas = tuple(connection.execute(text(SCHEMAS), {"schema": schema}).scalars())
    rows = connection.execute(
        text(RELATIONS),
        {"schema": schema, "names": [name for name, _ in wanted], "privileges": [one for _, one in wanted]},
    )
    missing: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for name, privilege in rows:
        missing[name] += (privilege,)
    alike: defaultdict[tuple[tuple[str, ...], bool], tuple[str, ...]] = defaultdict(tuple)
    for name, privileges in missing.items():
        alike[privileges, name in VIEWS] += (name,)
    return [Lacking(("USAGE",), schemas)] * bool(schemas) + [
        Lacking(privileges, names) for (privileges, _), names in alike.items()
    ]
