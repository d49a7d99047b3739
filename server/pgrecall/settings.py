"""All settings, one frozen object, built only at the edge (cli.py). Inner modules get values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

PREFIX = "PGRECALL_"


class Settings(BaseModel):
    """Each field is the environment variable PGRECALL_<NAME>, or a line of `.env` (environment.py)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # Where the memories live
    database_url: SecretStr | None = Field(None, description="Postgres to use; unset: the embedded one")
    migration_url: SecretStr | None = Field(None, description="for migrations, where a pooler is in front")
    database_schema: Annotated[str, Field(min_length=1)] = Field("public", description="schema of the tables")
    database_prepare: Literal["auto", "off"] = Field("auto", description="off: behind an old pooler")
    database_wait: float = Field(30.0, ge=0, description="seconds to wait for a database that is starting")
    migrate_on_start: bool = Field(False, description="migrate when serving; the embedded one always is")
    pool_size: int = Field(10, ge=1, description="connections a server process may hold")
    data_dir: Path | None = Field(None, description="where the embedded Postgres keeps its files")

    # Who may call
    host: str = Field("127.0.0.1", description="address to serve on")
    port: int = Field(8000, ge=0, le=65535, description="port to serve on")
    workers: int = Field(1, ge=1, description="server processes")
    auth_scheme: Literal["none", "bearer", "token", "x-api-key"] | None = Field(
        None, description="how callers show the secret; may be left unset on loopback only"
    )
    auth_token: SecretStr | None = Field(None, description="the secret")
    allow_open_access: bool = Field(False, description="scheme none beyond loopback is meant")

    # Embeddings
    embed_backend: Literal["static", "openai", "fastembed"] = Field("static", description="who embeds")
    embed_model: str | None = Field(None, description="the backend's model; unset: its reference model")
    embed_api_key: SecretStr | None = Field(None, description="never borrowed from the language model's")
    embed_base_url: str | None = Field(None, description="an OpenAI-compatible endpoint")
    embed_dimensions: int = Field(1024, ge=1, le=1024, description="dimensions the endpoint is asked for")
    embed_send_dimensions: bool = Field(True, description="off: for endpoints that refuse the parameter")
    embed_timeout: float = Field(20.0, gt=0, description="seconds a call")
    embed_retries: int = Field(1, ge=0, description="retries a call")
    embed_concurrency: int = Field(4, ge=1, description="calls at once, a process")
    embed_batch: int = Field(10, ge=1, description="texts a call")

    # The language model
    llm_mode: Literal["off", "best_effort", "required"] = Field("off", description="what its failure means")
    llm_model: str = Field("gpt-4o-mini", description="the chat model")
    llm_api_key: SecretStr | None = Field(None, description="else OPENAI_API_KEY")
    llm_base_url: str | None = Field(None, description="an OpenAI-compatible endpoint")
    llm_timeout: float = Field(25.0, gt=0, description="seconds a call")
    llm_retries: int = Field(1, ge=0, description="retries a call")
    llm_concurrency: int = Field(40, ge=1, description="calls at once, a process")
    llm_fact_tokens: int = Field(1200, ge=1, description="tokens a reply with facts may take")
    llm_recall_tokens: int = Field(200, ge=1, description="tokens a recall question may take")
    llm_json_mode: bool = Field(True, description="off: for endpoints without response_format")
    fact_keys: bool = Field(False, description="ask the model which state of whom a fact tells")
    extract: bool = Field(True, description="draw facts at /add")
    recall_question: bool = Field(True, description="ask a recall question at /search")

    # What a search returns
    recall_weight: float = Field(0.5, ge=0, le=1, description="share of the recall question in the score")
    dense_weight: float = Field(0.5, ge=0, le=10, description="of the vectors' similarity, 0 to 1 a search")
    lexical_weight: float = Field(0.5, ge=0, le=10, description="of BM25, 0 to 1 a search")
    neighbour_weight: float = Field(0.4, ge=0, le=10, description="of the better neighbour's score, distance 1")
    second_neighbour_weight: float = Field(0.25, ge=0, le=10, description="the same, distance 2")
    session_weight: float = Field(0.4, ge=0, le=10, description="of the question's share in the session")
    fact_weight: float = Field(0.4, ge=0, le=10, description="of the best fact that rests on a message")
    spelling_weight: float = Field(0.5, ge=0, le=10, description="of a term in place of an unknown one")
    time_weight: float = Field(0.5, ge=0, le=10, description="for being of a time that the question names")
    number_weight: float = Field(1.5, ge=0, le=10, description="of a question's numbers beside its words")
    option_weight: float = Field(0.3, ge=0, le=10, description="of the options' words beside the question's")
    variety: float = Field(0, ge=0, le=1, description="what a memory loses by being like one above it")
    return_limit: int = Field(100, ge=1, le=1000, description="most memories a search returns")
    window_radius: int = Field(0, ge=0, le=10, description="neighbours of each hit, either side")
    resolve_dates: bool = Field(True, description="show beside `yesterday` the day that it means")
    version_tags: bool = Field(False, description="say of a state whether it still holds: `(latest as of ...)`")
    withhold: Literal["off", "current", "dated", "both"] = Field(
        "off", description="leave out what was replaced, of questions for the present, a date, or both"
    )
    hnsw_ef_search: int = Field(
        400, ge=1, le=1000, description="candidates of each kind, and of the vectors' index for large logs"
    )
    index_from: int = Field(20_000, ge=0, description="memories above which a log gets that index; 0: never")
    raw_first: bool = Field(True, description="verbatim messages before facts")
    return_char_budget: int = Field(400_000, ge=1, description="characters of the lines a search returns")
    return_token_budget: int | None = Field(None, ge=1, description="estimated tokens; unset: no bound")
    second_round: bool = Field(False, description="ask the model what is missing, and search once more")

    # Time
    timezone: str = Field("UTC", description="clock of who speaks, where a request does not say: Europe/Berlin")
    add_deadline: float = Field(80.0, gt=0, le=86400, description="seconds from arrival")
    search_deadline: float = Field(80.0, gt=0, le=86400, description="seconds from arrival")


def revealed(secret: SecretStr | None) -> str | None:
    """A secret in the clear, for the one who needs it."""
    return secret.get_secret_value() if secret is not None else None


HOST = r"(?:[\w.%-]*|\[[0-9a-fA-F:.%]+\])(?::\d*)?"
PLAIN_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+]*://)(?:(?P<user>[^:@/?#\s]*)(?P<password>:[^:@/?#\s]*)?@)?"
    rf"(?P<place>{HOST}(?:,{HOST})*(?:/[^@?#\s]*)?)(?:\?(?P<parameters>[^@#\s]*))?"
)
"""A URL in which it is certain what is a secret: one with an unencoded @ or / in its password is not."""
PLAIN_PARAMETERS = {"host", "port", "dbname", "sslmode", "sslrootcert", "connect_timeout", "application_name"}
STARS = "***"


def shown(settings: Settings, field: str) -> str:
    """A setting's value as it may be printed: no secret, and of a URL all but what it holds of secrets."""
    value = getattr(settings, field)
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if field.endswith("_url"):
        return _shown_url(value.get_secret_value() if isinstance(value, SecretStr) else value)
    return STARS if isinstance(value, SecretStr) else str(value)


def _shown_url(url: str) -> str:
    parts = PLAIN_URL.fullmatch(url)
    if parts is None:
        return STARS
    account = ""
    if parts["user"] is not None:  # beside a password it is a name; alone, before an endpoint, a key
        account = (parts["user"] + ":" + STARS if parts["password"] else STARS) + "@"
    parameters = ""
    if parts["parameters"] is not None:
        pairs = [pair.partition("=") for pair in parts["parameters"].split("&")]
        parameters = "?" + "&".join(
            name + equals + (value if name in PLAIN_PARAMETERS else STARS) for name, equals, value in pairs
        )
    return parts["scheme"] + account + parts["place"] + parameters
