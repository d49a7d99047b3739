"""The command that draws facts of what is stored."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.table import Table

from pgrecall.app import make_embedder, make_language_model
from pgrecall.bulk.metering import Metered, Prices
from pgrecall.bulk.missing import Count, counted, extract, undrawn
from pgrecall.bulk.progress import Bar
from pgrecall.bulk.session import session
from pgrecall.commandline import complaints, console, prepare, running, settled
from pgrecall.drawing import Drawing
from pgrecall.errors import StartRefused
from pgrecall.ids import stored_id
from pgrecall.settings import Settings
from pgrecall.tally import Tally


def extract_command(
    missing: Annotated[bool, typer.Option("--missing", help="Of what has no facts: the only way.")] = False,
    user: Annotated[str | None, typer.Option("--user", help="Only of this user's memories.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count calls, tokens and money.")] = False,
    max_usd: Annotated[float | None, typer.Option(min=0, help="Stop before more is spent.")] = None,
    input_price: Annotated[float, typer.Option(min=0, help="US dollars for a million tokens asked.")] = 0.0,
    output_price: Annotated[float, typer.Option(min=0, help="US dollars for a million tokens answered.")] = 0.0,
) -> None:
    """Draw facts of what was stored without a language model, or while it failed.

    Tokens are estimated from above; a reply that has to be asked for again is not foreseen by --dry-run.

    Exit code 1 where the money did not suffice, or a request failed.
    """
    settings = settled()
    if not missing:
        raise StartRefused("What to extract is not said.", "Say: pgrecall extract --missing")
    if max_usd is not None and not input_price + output_price:
        raise StartRefused("--max-usd needs prices.", "Add --input-price and --output-price, per million tokens.")
    if settings.llm_mode == "off":
        raise StartRefused(
            "No language model is set.", "Set PGRECALL_LLM_MODE=best_effort and PGRECALL_LLM_API_KEY."
        )
    prices = Prices(input_price, output_price)
    key = None if user is None else stored_id(user)[0]
    with running(settings) as (url, embedded):
        prepare(settings, url, embedded is not None)
        calls, tokens = waiting(settings, url, key)
        if dry_run:
            longest = calls * settings.llm_fact_tokens * (2 if settings.fact_keys else 1)
            console.print(f"{calls} calls, {tokens} tokens asked, at most {longest} answered")
            console.print(f"at most {prices.of(tokens, longest):.2f} US dollars")
            return
        count = draw(settings, url, key, prices, max_usd, calls)
    if count.stopped or count.outcomes["failed"]:
        raise typer.Exit(1)


def waiting(settings: Settings, url: str, key: str | None) -> tuple[int, int]:
    with session(url, settings.database_schema) as connection:
        return counted(undrawn(connection, key), settings.fact_keys)


def draw(settings: Settings, url: str, key: str | None, prices: Prices, max_usd: float | None, calls: int) -> Count:
    """Extract, and print what came of it."""
    model = make_language_model(settings)
    assert model is not None
    metered, embedder = Metered(model, prices, max_usd), make_embedder(settings)
    drawing = Drawing(
        metered, required=True, fact_tokens=settings.llm_fact_tokens, keyed=settings.fact_keys, tally=Tally()
    )

    async def run() -> Count:
        try:
            with session(url, settings.database_schema) as one, session(url, settings.database_schema) as other:
                return await extract(
                    (one, other), embedder, metered, drawing, user_key=key, at_once=settings.llm_concurrency,
                    bar=Bar(complaints, "extracting", calls, "facts"),
                )  # fmt: skip
        finally:
            await metered.close()
            await embedder.close()

    count = asyncio.run(run())
    grid = Table("", "requests")
    for name in ("done", "failed", "refused"):
        grid.add_row(name, str(count.outcomes[name]))
    grid.add_row("left", str(calls - count.requests))
    console.print(grid)
    console.print(
        f"{count.facts} facts; {metered.calls} calls, {metered.asked} tokens asked, {metered.answered} answered"
        + (f", {metered.dollars:.2f} US dollars" if metered.dollars else "")
        + ("; stopped before more was spent" if count.stopped else ""),
        soft_wrap=True,
    )
    return count
