"""From the environment to Settings. A misspelt variable stops the start: a mistyped database URL must never
land someone's memories in the wrong database. No error quotes a value: it may be a secret in the wrong place."""

from __future__ import annotations

import difflib
import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
from dotenv import dotenv_values
from dotenv.parser import parse_stream
from psycopg.conninfo import conninfo_to_dict
from pydantic import ValidationError

from pgrecall.errors import StartRefused
from pgrecall.settings import PREFIX, Settings, revealed

KUBERNETES = re.compile(
    r"PGRECALL_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
"""What Kubernetes injects into every pod beside a service named pgrecall, or pgrecall-something."""

NEVER_EMPTY = {"database_url", "migration_url", "database_schema", "data_dir", "auth_token"}
"""Set but empty, these mean a value that was not filled in, never the default: that would be another
database, or an open door."""


def load(overrides: Mapping[str, Any] | None = None, env_file: str | None = ".env") -> tuple[Settings, list[str]]:
    """The settings, and lines for the operator on what was ignored. The environment goes over `env_file`,
    `overrides` (of the command line, by field) over both.

    Raises StartRefused with the variable and what to do; never with a value.
    """
    variables = {**(_read(Path(env_file)) if env_file else {}), **os.environ}
    ours = {name.upper(): value.strip() for name, value in variables.items() if name.upper().startswith(PREFIX)}
    ignored = sorted(name for name, value in ours.items() if _of_kubernetes(name, value))
    given = {_field(name): value for name, value in sorted(ours.items()) if name not in ignored}
    for field in sorted(NEVER_EMPTY & given.keys()):
        if not given[field]:
            raise StartRefused(f"{variable(field)} is set, but empty.", "Give it a value, or unset it.")
    given = {field: value for field, value in given.items() if value}
    if fallback := variables.get("OPENAI_API_KEY", "").strip():
        given.setdefault("llm_api_key", fallback)
    try:
        settings = Settings.model_validate({**given, **(overrides or {})})
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        remedy = "pgrecall --help and pgrecall settings tell what a server can be told."
        raise StartRefused(f"{variable(str(first['loc'][0]))}: {first['msg']}.", remedy) from None
    for field in ("database_url", "migration_url"):
        _check_url(variable(field), revealed(getattr(settings, field)))
    because = "Kubernetes sets it for a service of this name."
    return settings, [f"Ignored {', '.join(ignored)}: {because}"] if ignored else []


def variable(field: str) -> str:
    """The environment variable of a field."""
    return PREFIX + field.upper()


def _read(path: Path) -> dict[str, str]:
    """The lines of an .env file; none if there is no such file. Raises StartRefused where one that begins
    with PGRECALL_ is not NAME=value: what it meant to set would be left out."""
    try:
        text = path.read_text("utf-8-sig")  # Windows editors put a mark before the first name
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise StartRefused(
            f"{path} cannot be read ({type(error).__name__}).", "Make it a readable text file in UTF-8."
        ) from None
    for binding in parse_stream(io.StringIO(text)):
        line = binding.original.string.lstrip()
        key = line.removeprefix("export").lstrip() if binding.error else binding.key or ""
        if key.upper().startswith(PREFIX) and (binding.error or not re.fullmatch(r"\w+", key)):
            number = text[: text.index(line)].count("\n") + 1
            raise StartRefused(f"Line {number} of {path} cannot be read.", "Write NAME=value, or NAME='value'.")
    return {name: value or "" for name, value in dotenv_values(stream=io.StringIO(text)).items()}


def _of_kubernetes(name: str, value: str) -> bool:
    address = value.startswith(("tcp://", "udp://", "sctp://"))
    return bool(KUBERNETES.fullmatch(name)) or (address and bool(re.fullmatch(r"PGRECALL_(\w+_)?PORT", name)))


def _field(name: str) -> str:
    """The field of a variable. Raises StartRefused where there is none."""
    fields = list(Settings.model_fields)
    field = name.removeprefix(PREFIX).lower()
    if field not in fields:
        nearest = difflib.get_close_matches(field, fields, n=1, cutoff=0.0)[0]
        word = re.match(r"\w+", name)
        raise StartRefused(
            f"{word[0] if word else PREFIX} is no setting.",
            f"Did you mean {variable(nearest)}? pgrecall settings lists all of them.",
        )
    return field


def _check_url(name: str, url: str | None) -> None:
    """Refuse here what libpq would refuse later with a message that quotes a part of the password."""
    if url is None:
        return
    try:
        scheme, separator, rest = url.partition("://")
        parts = conninfo_to_dict(f"postgresql://{rest}")
    except psycopg.ProgrammingError:
        parts = {"host": "@"}
    places = [str(parts.get(part, "")) for part in ("host", "dbname", "port")]
    ports_are_numbers = re.fullmatch(r"[\d,]*", places[2]) is not None
    known = separator and re.fullmatch(r"postgres(ql)?(\+\w+)?", scheme)
    if not known or not ports_are_numbers or "@" in "".join(places):
        raise StartRefused(
            f"{name} is no URL of a Postgres.",
            "Write postgresql://user:password@host:5432/database; in the password, percent-encode"
            " what is no letter or digit (@ is %40, / is %2F).",
        )
