"""docker-compose.yml, .env.example and ops/Dockerfile, where no Docker engine is at hand to try them."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from pgrecall.environment import load, variable
from pgrecall.settings import Settings

CHECKOUT = Path(__file__).resolve().parents[2]
SETTINGS = {variable(name) for name in Settings.model_fields}


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())


def named(file: str) -> set[str]:
    return set(re.findall(r"PGRECALL_[A-Z0-9_]*[A-Z0-9]", (CHECKOUT / file).read_text()))


@pytest.mark.parametrize("file", ["docker-compose.yml", "ops/Dockerfile", ".env.example", "README.md"])
def test_every_variable_is_a_setting(file: str) -> None:
    assert named(file) <= SETTINGS


def test_example_names_every_setting() -> None:
    assert named(".env.example") == SETTINGS


def test_example_as_it_is_changes_nothing_and_its_values_are_the_defaults(tmp_path: Path) -> None:
    example = CHECKOUT / ".env.example"
    assert load(env_file=str(example))[0] == Settings()
    lines = re.findall(r"^# ([A-Z0-9_]+=.+)$", example.read_text(), re.MULTILINE)
    assert len(lines) > 20
    (tmp_path / ".env").write_text("\n".join(lines))
    assert load(env_file=str(tmp_path / ".env"))[0] == Settings()


def test_example_holds_no_secret_not_even_a_placeholder() -> None:
    found = re.findall(
        r"^# (\w*(?:PASSWORD|TOKEN|KEY|URL))=(.*)$", (CHECKOUT / ".env.example").read_text(), re.MULTILINE
    )
    assert len(found) == 8
    assert {value for _, value in found} == {""}


def test_server_waits_for_a_migrated_database(compose: Any) -> None:
    services = compose["services"]
    assert services["postgres"]["image"] == "pgvector/pgvector:pg18"
    assert services["migrate"]["command"] == "migrate"
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert services["server"]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert "restart" not in services["migrate"]


def test_data_lie_in_a_volume_where_the_image_of_18_keeps_them(compose: Any) -> None:
    (mount,) = compose["services"]["postgres"]["volumes"]
    volume, target = mount.split(":")
    assert volume in compose["volumes"]
    assert target == "/var/lib/postgresql"


def test_both_services_have_health_checks_whose_code_compiles(compose: Any) -> None:
    assert compose["services"]["postgres"]["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    form, *command = compose["services"]["server"]["healthcheck"]["test"]
    assert (form, *command[:2]) == ("CMD", "python", "-c")
    assert "/health" in command[2]
    compile(command[2], "docker-compose.yml", "exec")


def test_composed_server_asks_for_a_secret_and_starts_without_none(compose: Any) -> None:
    environment = compose["services"]["server"]["environment"]
    assert environment["PGRECALL_AUTH_TOKEN"].startswith("${PGRECALL_AUTH_TOKEN:?")
    assert environment["PGRECALL_AUTH_SCHEME"] == "${PGRECALL_AUTH_SCHEME:-bearer}"
    assert environment["PGRECALL_HOST"] == "0.0.0.0"
    for service in ("migrate", "server"):
        url = compose["services"][service]["environment"]["PGRECALL_DATABASE_URL"]
        assert re.fullmatch(r"postgresql://pgrecall:\$\{POSTGRES_PASSWORD:\?.*\}@postgres:5432/pgrecall", url)


def instructions() -> list[tuple[str, str]]:
    """Of ops/Dockerfile: name and arguments, continued lines joined."""
    text = (CHECKOUT / "ops/Dockerfile").read_text().replace("\\\n", "")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line and line[0] != "#"]


def test_dockerfile_copies_what_exists_and_the_build_context_has() -> None:
    copies = [arguments for name, arguments in instructions() if name == "COPY" and "--from" not in arguments]
    sources = {source for arguments in copies for source in arguments.split()[:-1]}
    assert sources >= {"server", "sql", "migrations", "pyproject.toml", "requirements.lock"}
    ignored = (CHECKOUT / ".dockerignore").read_text().splitlines()
    for source in sources:
        assert (CHECKOUT / source).exists()
        assert f"!{source}" in ignored


def test_image_installs_what_is_locked_and_runs_as_an_account_of_its_own() -> None:
    runs = [arguments for name, arguments in instructions() if name == "RUN"]
    assert any("--require-hashes --requirement requirements.lock" in run for run in runs)
    (account,) = [arguments for name, arguments in instructions() if name == "USER"]
    assert account != "root"
    assert any("useradd" in run and shlex.split(run)[-1] == account for run in runs)


def test_health_check_of_the_image_is_python_that_compiles() -> None:
    (check,) = [arguments for name, arguments in instructions() if name == "HEALTHCHECK"]
    program, option, code = yaml.safe_load(check[check.index("[") :])
    assert (program, option) == ("python", "-c")
    assert "/health" in code
    compile(code, "Dockerfile", "exec")


def test_continuous_integration_runs_lint_and_the_tests() -> None:
    script = CHECKOUT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-2:] == ["make lint", "make test"]
