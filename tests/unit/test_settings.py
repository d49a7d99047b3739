"""Settings from the environment, an .env file and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pgrecall.app import create_app
from pgrecall.environment import load
from pgrecall.errors import StartRefused
from pgrecall.settings import Settings, revealed, shown

HIDDEN = "hunter2-s3cret"


def refusal(**arguments: Any) -> StartRefused:
    with pytest.raises(StartRefused) as caught:
        load(**{"env_file": None, **arguments})
    return caught.value


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / ".env"


def test_defaults_are_the_reference_values() -> None:
    settings, notes = load(env_file=None)
    assert notes == []
    expected = {
        "database_url": None, "data_dir": None, "host": "127.0.0.1", "port": 8000, "workers": 1,
        "auth_scheme": None, "auth_token": None, "embed_backend": "static", "embed_api_key": None,
        "embed_timeout": 20.0, "embed_retries": 1, "embed_concurrency": 4, "embed_batch": 10,
        "llm_mode": "off", "llm_model": "gpt-4o-mini", "llm_api_key": None, "llm_timeout": 25.0,
        "llm_retries": 1, "llm_concurrency": 40, "llm_fact_tokens": 1200, "llm_recall_tokens": 200,
        "extract": True, "recall_question": True, "second_round": False, "recall_weight": 0.5,
        "return_limit": 100, "window_radius": 0, "raw_first": True, "return_char_budget": 400_000,
        "return_token_budget": None, "add_deadline": 80.0, "search_deadline": 80.0,
    }  # fmt: skip
    assert {name: getattr(settings, name) for name in expected} == expected


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().port = 1  # type: ignore[misc]  # what is under test


def test_command_line_goes_over_environment_over_env_file(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env_file.write_text("PGRECALL_PORT=1\nPGRECALL_WORKERS=2\nPGRECALL_HOST=::1\n")
    monkeypatch.setenv("PGRECALL_PORT", "3")
    monkeypatch.setenv("pgrecall_workers", "4")
    settings, _ = load({"port": 5}, str(env_file))
    assert (settings.port, settings.workers, settings.host) == (5, 4, "::1")


@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("PGRECALL_LLM_MODEL=a", "a"),
        ("export PGRECALL_LLM_MODEL=a", "a"),
        ("PGRECALL_LLM_MODEL='a # b'", "a # b"),
        ('PGRECALL_LLM_MODEL="a b"  # said so', "a b"),
        ("PGRECALL_LLM_MODEL = a ", "a"),
        ("\ufeffPGRECALL_LLM_MODEL=a\r\n", "a"),
        ("# PGRECALL_LLM_MODEL=b c\n\nPGRECALL_LLM_MODEL=a", "a"),
        ("no line for us\nPGRECALL_LLM_MODEL=a", "a"),
        ("PGRECALL_LLM_MODEL=", "gpt-4o-mini"),
    ],
)
def test_env_file_is_read_as_shells_and_editors_write_it(env_file: Path, line: str, model: str) -> None:
    env_file.write_text(line)
    assert load(env_file=str(env_file))[0].llm_model == model


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"PGRECALL_DATABASE_URL postgres://u:{HIDDEN}@h/d", 1),
        (f"OTHER=1\n\n  export PGRECALL_DATABASE_URL postgres://u:{HIDDEN}@h/d\n", 3),
        (f"PGRECALL_DATABASE_URL:postgres://u:{HIDDEN}@h/d?sslmode=require", 1),
        (f"PGRECALL_AUTH_TOKEN='{HIDDEN}", 1),
    ],
)
def test_line_that_cannot_be_read_stops_the_start_with_its_number(env_file: Path, text: str, line: int) -> None:
    env_file.write_text(text)
    refused = refusal(env_file=str(env_file))
    assert refused.reason == f"Line {line} of {env_file} cannot be read."
    assert HIDDEN not in str(refused)


def test_env_file_in_another_encoding_stops_the_start(env_file: Path) -> None:
    env_file.write_bytes("PGRECALL_LLM_MODEL=modèle".encode("utf-16"))
    assert "cannot be read" in refusal(env_file=str(env_file)).reason


def test_misspelt_variable_stops_the_start_naming_the_nearest(
    env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env_file.write_text(f"PGRECALL_DATABSE_URL=postgres://u:{HIDDEN}@h/d")
    in_file = refusal(env_file=str(env_file))
    monkeypatch.setenv("PGRECALL_DATABSE_URL", f"postgres://u:{HIDDEN}@h/d")
    for refused in (in_file, refusal()):
        assert refused.reason == "PGRECALL_DATABSE_URL is no setting."
        assert "PGRECALL_DATABASE_URL" in refused.remedy
        assert HIDDEN not in str(refused)


def test_secret_in_the_name_of_a_variable_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"PGRECALL_AUTH_TOKEN: {HIDDEN}", "")
    assert HIDDEN not in str(refusal())


def test_what_kubernetes_injects_is_ignored_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    injected = {
        "PGRECALL_PORT": "tcp://10.0.0.1:8000",
        "PGRECALL_SERVICE_HOST": "10.0.0.1",
        "PGRECALL_SERVICE_PORT": "8000",
        "PGRECALL_SERVICE_PORT_HTTP": "8000",
        "PGRECALL_PORT_8000_TCP": "tcp://10.0.0.1:8000",
        "PGRECALL_PORT_8000_TCP_PROTO": "tcp",
        "PGRECALL_PORT_8000_TCP_PORT": "8000",
        "PGRECALL_PORT_8000_TCP_ADDR": "10.0.0.1",
        "PGRECALL_POSTGRES_SERVICE_HOST": "10.0.0.2",
        "PGRECALL_POSTGRES_PORT": "tcp://10.0.0.2:5432",
    }
    for name, value in injected.items():
        monkeypatch.setenv(name, value)
    settings, notes = load(env_file=None)
    assert settings == Settings()
    assert len(notes) == 1
    assert all(name in notes[0] for name in injected)


@pytest.mark.parametrize("name", ["DATABASE_URL", "MIGRATION_URL", "DATABASE_SCHEMA", "DATA_DIR", "AUTH_TOKEN"])
def test_empty_value_that_would_mean_another_place_or_an_open_door_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(f"PGRECALL_{name}", " ")
    assert refusal().reason == f"PGRECALL_{name} is set, but empty."


@pytest.mark.parametrize("token", ["changeme", "Your-Token", "xxxxxxxx", "********"])
def test_placeholder_secret_stops_the_start(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("PGRECALL_AUTH_SCHEME", "bearer")
    monkeypatch.setenv("PGRECALL_AUTH_TOKEN", token)
    settings, _ = load(env_file=None)
    with pytest.raises(StartRefused, match=r"placeholder|guessed"):
        create_app(settings, "")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", HIDDEN), ("WORKERS", "0"), ("RAW_FIRST", HIDDEN), ("RECALL_WEIGHT", "1.01"),
        ("ADD_DEADLINE", "inf"), ("SEARCH_DEADLINE", "nan"), ("AUTH_SCHEME", HIDDEN), ("LLM_MODE", HIDDEN),
    ],
)  # fmt: skip
def test_value_that_is_none_is_told_by_its_variable_and_never_printed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"PGRECALL_{name}", value)
    refused = refusal()
    assert refused.reason.startswith(f"PGRECALL_{name}: ")
    assert HIDDEN not in str(refused)


@pytest.mark.parametrize(
    "url",
    [
        "postgres://app:s%40crt@db.example.com:5432/memories?sslmode=verify-full&sslrootcert=/ca.pem",
        "postgresql://app@/memories?host=%2Frun%2Fpostgresql",
        "postgresql+psycopg://app@one:5432,two:5433/memories",
        "postgres://[::1]/memories",
        "postgres://app:what?@db/memories",
    ],
)
def test_url_of_a_postgres_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", f"{url}\n")
    assert revealed(load(env_file=None)[0].database_url) == url


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://app:{HIDDEN}@db/memories",
        f"host=db password={HIDDEN}",
        f"postgres://app:{HIDDEN}@{HIDDEN}@db/memories",
        f"postgres://app:{HIDDEN}/{HIDDEN}@db/memories",
        f"postgres://app@db/memories?{HIDDEN}",
        f"postgres://app:{HIDDEN}%zz@db/memories",
        HIDDEN,
    ],
)
@pytest.mark.parametrize("name", ["PGRECALL_DATABASE_URL", "PGRECALL_MIGRATION_URL"])
def test_url_that_libpq_would_misread_stops_the_start_unprinted(
    monkeypatch: pytest.MonkeyPatch, name: str, url: str
) -> None:
    monkeypatch.setenv(name, url)
    refused = refusal()
    assert refused.reason == f"{name} is no URL of a Postgres."
    assert HIDDEN not in str(refused)


def test_openai_key_serves_the_language_model_and_never_the_embeddings(
    env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env_file.write_text("OPENAI_API_KEY=in-file\n")
    assert revealed(load(env_file=str(env_file))[0].llm_api_key) == "in-file"
    monkeypatch.setenv("OPENAI_API_KEY", "borrowed")
    settings, _ = load(env_file=str(env_file))
    assert revealed(settings.llm_api_key) == "borrowed"
    assert settings.embed_api_key is None
    monkeypatch.setenv("PGRECALL_LLM_API_KEY", "own")
    assert revealed(load(env_file=None)[0].llm_api_key) == "own"


@pytest.mark.parametrize(
    ("field", "value", "printed"),
    [
        ("auth_token", HIDDEN, "***"),
        ("embed_api_key", HIDDEN, "***"),
        ("database_url", f"postgres://app:{HIDDEN}@db:5432/m?sslmode=require&sslpassword={HIDDEN}",
         "postgres://app:***@db:5432/m?sslmode=require&sslpassword=***"),
        ("database_url", "postgres://one:5432,two/m", "postgres://one:5432,two/m"),
        ("llm_base_url", f"https://user:{HIDDEN}@api.example.com/v1", "https://user:***@api.example.com/v1"),
        ("embed_base_url", f"https://{HIDDEN}@api.example.com/v1", "https://***@api.example.com/v1"),
        ("embed_base_url", f"https://api.example.com/v1?key={HIDDEN}", "https://api.example.com/v1?key=***"),
        ("embed_base_url", f"https://user:{HIDDEN}/x@api.example.com", "***"),
        ("database_url", f"postgres://app:{HIDDEN}?@db/m", "***"),
        ("raw_first", False, "false"),
        ("data_dir", None, ""),
        ("port", 8000, "8000"),
    ],
)  # fmt: skip
def test_secrets_are_masked_also_inside_urls(field: str, value: Any, printed: str) -> None:
    settings = Settings.model_validate({field: value})
    assert shown(settings, field) == printed
