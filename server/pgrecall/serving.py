"""The running server: uvicorn, its processes, and the embedded Postgres kept alive beside them."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait
from typing import Any

import uvicorn
from rich.console import Console

from pgrecall.app import create_app, make_embedder, make_language_model
from pgrecall.deadline import Deadline
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.embedding.protocol import Embedder
from pgrecall.errors import EmbeddingUnavailable, LanguageRefused, LanguageUnavailable
from pgrecall.language.protocol import LanguageModel, MalformedReply
from pgrecall.readiness import Finding, Level
from pgrecall.settings import Settings

GRACE = 30
"""Seconds that calls under way have to finish after SIGTERM."""
LOOK_EVERY = 1.0
"""Seconds between looks whether the embedded Postgres lives."""
PROBE_SECONDS = 20.0


def run(settings: Settings, url: str, embedded: EmbeddedPostgres | None, console: Console) -> None:
    """Serve until a signal comes."""
    announce(settings, embedded, console)
    stopped = threading.Event()
    if embedded is not None:
        threading.Thread(target=keep_alive, args=(embedded, stopped, console), daemon=True).start()
    try:
        if settings.workers == 1:
            uvicorn.run(create_app(settings, url), **uvicorn_options(settings))
        else:
            os.environ["PGRECALL_DATABASE_URL"] = url
            os.environ["PGRECALL_HOST"] = settings.host
            uvicorn.run("pgrecall.cli:worker", factory=True, workers=settings.workers, **uvicorn_options(settings))
    finally:
        stopped.set()


def uvicorn_options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "log_level": "warning",
        "access_log": False,  # query strings and paths may name users
        "timeout_graceful_shutdown": GRACE,
        "timeout_keep_alive": 75,
        "server_header": False,
    }


def announce(settings: Settings, embedded: EmbeddedPostgres | None, console: Console) -> None:
    """Where it is, where the data lie, and what to try."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{settings.port}"
    rows = [("serving on", url), ("try", f"{url}/docs, or: pgrecall smoke {url}")]
    if embedded is not None:
        rows.append(("database", f"the embedded Postgres; the data lie in {embedded.data_dir}"))
        rows.append(("psql", f'psql "{embedded.url}"'))
    else:
        rows.append(("database", "PGRECALL_DATABASE_URL"))
    model = settings.llm_model if settings.llm_mode != "off" else "none"
    rows.append(("embedder", settings.embed_backend))
    rows.append(("language model", f"{model} ({settings.llm_mode})"))
    console.print("[bold]pgrecall[/]")
    for name, value in rows:
        console.print(f"  {name:<15} {value}", soft_wrap=True, markup=False)


def keep_alive(embedded: EmbeddedPostgres, stopped: threading.Event, console: Console) -> None:
    """Bring the embedded Postgres back when it dies."""
    while not stopped.wait(LOOK_EVERY):
        if embedded.ensure_running() and not stopped.is_set():
            console.print("[yellow]![/] The embedded Postgres had died; it is back, and has recovered.")


def stop_with_parent() -> None:
    """End this server process when the one that started it is gone, also by kill -9: else it holds the port."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def providers(settings: Settings) -> list[Finding]:
    """One call to each provider, for `pgrecall check`."""
    return asyncio.run(_providers(make_embedder(settings), make_language_model(settings), settings))


async def _providers(embedder: Embedder, model: LanguageModel | None, settings: Settings) -> list[Finding]:
    findings = []
    try:
        await embedder.embed(["Did I tell you about the lake?"], Deadline(PROBE_SECONDS))
        findings.append(Finding("embedder", "ok", f"{embedder.identity.backend} answers"))
    except EmbeddingUnavailable as error:
        findings.append(
            Finding("embedder", "failed", error.reason, "Check PGRECALL_EMBED_BASE_URL, _MODEL and _API_KEY.")
        )
    finally:
        await embedder.close()
    if model is None:
        return [*findings, Finding("language model", "ok", "off: messages only, the query stands alone")]
    try:
        await model.reply('Reply with the JSON object {"ok": true}.', "Now.", 20, Deadline(PROBE_SECONDS))
        findings.append(Finding("language model", "ok", f"{model.name} answers"))
    except (LanguageUnavailable, LanguageRefused, MalformedReply) as error:
        reason = getattr(error, "reason", "its reply is malformed")
        level: Level = "failed" if settings.llm_mode == "required" else "warning"
        remedy = "Check PGRECALL_LLM_BASE_URL, _MODEL and _API_KEY."
        findings.append(Finding("language model", level, reason, remedy))
    finally:
        await model.close()
    return findings
