"""create_app(): the only place where the parts are put together."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import tzinfo

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgrecall import __version__
from pgrecall.access import Access, configured
from pgrecall.adding import Adding
from pgrecall.analysing import Analysing
from pgrecall.contract import zone_of
from pgrecall.embedding.fastembed import MODEL as FASTEMBED_MODEL
from pgrecall.embedding.fastembed import FastEmbedEmbedder
from pgrecall.embedding.protocol import Embedder
from pgrecall.embedding.static import StaticEmbedder
from pgrecall.errors import PgrecallError, StartRefused
from pgrecall.forgetting import Forgetting
from pgrecall.indexing import Indexing
from pgrecall.language.protocol import LanguageModel
from pgrecall.memory import Caps, Weights
from pgrecall.readiness import PGVECTOR_HNSW
from pgrecall.routes import Services, answer, failed, router
from pgrecall.searching import Searching
from pgrecall.settings import Settings, revealed
from pgrecall.store import Store
from pgrecall.tally import ProviderTally, Tally
from pgrecall.temporal.grammar import languages
from pgrecall.versions.asking import wanted
from pgrecall.versions.patterns import stated
from pgrecall.versions.withholding import Mode

logger = logging.getLogger("pgrecall")


def create_app(settings: Settings, database_url: str) -> FastAPI:
    """The server over the database at `database_url`. Raises StartRefused where the settings contradict."""
    access = configured(
        settings.host, settings.auth_scheme, revealed(settings.auth_token), settings.allow_open_access
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        tally = Tally()
        embedder = make_embedder(settings, tally.embedding)
        model = make_language_model(settings, tally.language)
        store = Store(
            database_url,
            schema=settings.database_schema,
            pool_size=settings.pool_size,
            prepare=settings.database_prepare == "auto",
            candidates=candidates(settings),
        )
        await asyncio.gather(store.open(), asyncio.to_thread(compile_grammars))
        try:
            app.state.services = services(settings, store, embedder, model, tally, access)
            behind = [asyncio.create_task(Analysing(store).run())]
            if settings.index_from and store.pgvector >= PGVECTOR_HNSW:
                behind.append(asyncio.create_task(Indexing(store, settings.index_from).run()))
            try:
                yield
            finally:
                for task in behind:
                    task.cancel()
                await asyncio.wait(behind)
        finally:
            await store.close()
            await embedder.close()
            if model is not None:
                await model.close()

    app = FastAPI(
        title="pgrecall",
        version=__version__,
        description="A memory server for AI agents that lives in one Postgres. It gives evidence, never answers.",
        lifespan=lifespan,
    )
    app.include_router(router)
    app.add_exception_handler(PgrecallError, on_failure)
    app.add_exception_handler(HTTPException, on_http)
    app.add_middleware(Shield)
    return app


def candidates(settings: Settings) -> int:
    """Never fewer than a search may be asked for."""
    return max(settings.hnsw_ef_search, settings.return_limit)


def compile_grammars() -> None:
    """Dates, states, questions: 1.4 s, which no call shall wait for. 16 first Adds at once compiled the states' 16
    times, each in 3 s."""
    languages()
    stated("", owners_own=True)
    wanted("")


def services(
    settings: Settings,
    store: Store,
    embedder: Embedder,
    model: LanguageModel | None,
    tally: Tally,
    access: Access,
) -> Services:
    required = settings.llm_mode == "required"
    adding = Adding(
        store,
        embedder,
        model if settings.extract else None,
        required=required,
        fact_tokens=settings.llm_fact_tokens,
        keyed=settings.fact_keys,
        tally=tally,
    )
    searching = Searching(
        store,
        embedder,
        model if settings.recall_question else None,
        model if settings.second_round else None,
        required=required,
        recall_weight=settings.recall_weight,
        recall_tokens=settings.llm_recall_tokens,
        number_weight=settings.number_weight,
        option_weight=settings.option_weight,
        caps=Caps(
            settings.return_limit,
            settings.window_radius,
            settings.raw_first,
            settings.return_char_budget,
            settings.return_token_budget,
            Weights(
                settings.dense_weight,
                settings.lexical_weight,
                settings.neighbour_weight,
                settings.second_neighbour_weight,
                settings.session_weight,
                settings.fact_weight,
                settings.spelling_weight,
                settings.time_weight,
            ),
            glossed=settings.resolve_dates,
            tagged=settings.version_tags,
            variety=settings.variety,
            candidates=candidates(settings),
        ),
        withhold=WITHHELD[settings.withhold],
        tally=tally,
    )
    return Services(
        access=access,
        adding=adding,
        searching=searching,
        forgetting=Forgetting(store, tally),
        store=store,
        tally=tally,
        add_seconds=settings.add_deadline,
        search_seconds=settings.search_deadline,
        extracts=model is not None and settings.extract,
        zone=configured_zone(settings.timezone),
    )


WITHHELD = {"off": Mode.OFF, "current": Mode.CURRENT, "dated": Mode.DATED, "both": Mode.CURRENT | Mode.DATED}


def configured_zone(name: str) -> tzinfo:
    """The zone of PGRECALL_TIMEZONE. Raises StartRefused."""
    zone = zone_of(name)
    if zone is None:
        raise StartRefused("PGRECALL_TIMEZONE is no time zone.", "Name one: Europe/Berlin, Asia/Shanghai, +02:00")
    return zone


def make_embedder(settings: Settings, tally: ProviderTally | None = None) -> Embedder:
    """The embedder that the settings name. Raises StartRefused."""
    match settings.embed_backend:
        case "static":
            return StaticEmbedder()
        case "fastembed":
            return FastEmbedEmbedder(settings.embed_model or FASTEMBED_MODEL, tally=tally)
        case "openai":
            # Not above, here and below: the client takes a second to import, a third of a start without it.
            from pgrecall.embedding.openai import MODEL, OpenAIEmbedder

            return OpenAIEmbedder(
                model=settings.embed_model or MODEL,
                api_key=revealed(settings.embed_api_key),
                base_url=settings.embed_base_url,
                dimensions=settings.embed_dimensions,
                send_dimensions=settings.embed_send_dimensions,
                timeout=settings.embed_timeout,
                retries=settings.embed_retries,
                concurrency=settings.embed_concurrency,
                batch=settings.embed_batch,
                tally=tally,
            )


def make_language_model(settings: Settings, tally: ProviderTally | None = None) -> LanguageModel | None:
    """The language model, None in mode off. Raises StartRefused."""
    if settings.llm_mode == "off":
        return None
    from pgrecall.language.openai import OpenAILanguageModel

    return OpenAILanguageModel(
        api_key=revealed(settings.llm_api_key),
        base_url=settings.llm_base_url,
        model=settings.llm_model,
        timeout=settings.llm_timeout,
        retries=settings.llm_retries,
        concurrency=settings.llm_concurrency,
        json_mode=settings.llm_json_mode,
        tally=tally,
    )


async def on_failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, PgrecallError)
    services: Services = request.app.state.services
    services.tally.calls[error.code] += 1
    return failed(error)


async def on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return answer(
        {
            "error": "not_found" if error.status_code == 404 else "http_error",
            "detail": {"reason": error.detail},
        },
        error.status_code,
        dict(error.headers or {}),
    )


class Shield:
    """Answers what nobody foresaw with a 500. The log gets the kind of error and where it arose, not its
    text: that may quote what a user said."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            return  # gone in the middle of its own body: nobody is there to be answered
        except Exception as error:
            if scope["type"] != "http":
                raise
            frames = traceback.extract_tb(error.__traceback__)[-3:]
            where = " < ".join(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in reversed(frames))
            logger.error("unforeseen %s in %s", type(error).__name__, where)  # noqa: TRY400  its text stays out
            if not started:
                await answer(
                    {
                        "error": "internal_error",
                        "detail": {"reason": "unforeseen; the server's log says where"},
                    },
                    500,
                )(scope, receive, send)
