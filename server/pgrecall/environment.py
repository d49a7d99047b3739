"""From the environment to Settings. A misspelt variable stops the start: a mistyped database URL must never
land someone's memories in the wrong database."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from typing import Any

from dotenv import dotenv_values
from pydantic import ValidationError

from pgrecall.errors import StartRefused
from pgrecall.settings import PREFIX, Settings

KUBERNETES = re.compile(r"^PGRECALL_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)$")
"""What Kubernetes injects into every pod beside a service named pgrecall."""

NEVER_EMPTY = ("PGRECALL_DATABASE_URL", "PGRECALL_MIGRATION_URL", "PGRECALL_AUTH_TOKEN")
"""Set but empty, these mean a secret that was not filled in, never the default."""


def load(overrides: Mapping[str, Any] | None = None, env_file: str | None = ".env") -> tuple[Settings, list[str]]:
    """The settings, and lines for the operator on what was ignored. `overrides` (of the command line) win.

    Raises StartRefused with the variable and what to do; never with a value.
    """
    variables = {name: value or "" for name, value in _variables(env_file).items()}
    ignored = [name for name in variables if _of_kubernetes(name, variables[name])]
    for name in sorted(variables.keys() - set(ignored)):
        _known(name)
    for name in NEVER_EMPTY:
        if variables.get(name, "set").strip() == "":
            raise StartRefused(f"{name} is set, but empty.", "Give it a value, or unset it.")
    given = {name.lower().removeprefix(PREFIX.lower()): variables[name] for name in variables.keys() - set(ignored)}
    given = {name: value for name, value in given.items() if value != ""}
    fallback = {**_dotenv(env_file), **os.environ}.get("OPENAI_API_KEY")
    try:
        settings = Settings(**({"llm_api_key": fallback} if fallback else {}) | given | dict(overrides or {}))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = PREFIX + str(first["loc"][0]).upper().removeprefix(PREFIX)
        raise StartRefused(f"{name}: {first['msg']}.", "pgrecall settings lists every setting.") from None
    notes = (
        [f"Ignored {', '.join(sorted(ignored))}: Kubernetes sets it for a service of this name."] if ignored else []
    )
    return settings, notes


def _dotenv(env_file: str | None) -> dict[str, str | None]:
    return dict(dotenv_values(env_file)) if env_file else {}


def _variables(env_file: str | None) -> dict[str, str | None]:
    """What begins with the prefix, `.env` first, the environment over it."""
    found = {**_dotenv(env_file), **os.environ}
    return {name.upper(): value for name, value in found.items() if name.upper().startswith(PREFIX)}


def _of_kubernetes(name: str, value: str) -> bool:
    return bool(KUBERNETES.match(name)) or (name == "PGRECALL_PORT" and value.startswith(("tcp://", "udp://")))


def _known(name: str) -> None:
    settings = [PREFIX + field.upper() for field in Settings.model_fields]
    if name not in settings:
        nearest = difflib.get_close_matches(name, settings, n=1, cutoff=0.0)[0]
        raise StartRefused(
            f"{name} is no setting.", f"Did you mean {nearest}? pgrecall settings lists all of them."
        )
