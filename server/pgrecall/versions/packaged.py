"""The package's own data: TOML files beside the code, read once."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

_FOLDER = files("pgrecall.versions")


def packaged(name: str) -> dict[str, Any]:
    """The content of `name`.toml."""
    return tomllib.loads(_FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def in_every_language(kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each language that has a file `kind`_LANGUAGE.toml, with its content: a language joins by its files."""
    names = sorted(entry.name for entry in _FOLDER.iterdir())
    for name in names:
        if name.startswith(f"{kind}_") and name.endswith(".toml"):
            yield name.removeprefix(f"{kind}_").removesuffix(".toml"), packaged(name.removesuffix(".toml"))
