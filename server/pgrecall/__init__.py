"""pgrecall: a memory server for AI agents that lives in one Postgres with pgvector."""

__version__ = "0.1.0"
