"""What `pgrecall check` asks of the providers, and how findings and settings are laid out."""

from __future__ import annotations

import asyncio

from rich.table import Table
from rich.text import Text

from pgrecall.app import make_embedder, make_language_model
from pgrecall.deadline import Deadline
from pgrecall.embedding.protocol import Embedder
from pgrecall.environment import variable
from pgrecall.errors import DeadlineExceeded, EmbeddingUnavailable, LanguageRefused, LanguageUnavailable
from pgrecall.language.protocol import LanguageModel, MalformedReply
from pgrecall.readiness import Finding, Level
from pgrecall.settings import Settings, shown

PROBE_SECONDS = 20.0
SIGNS: dict[Level, tuple[str, str]] = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failed": ("✗", "red")}


def table(findings: list[Finding]) -> Table:
    """A line for each finding, what to do beneath it; wrapped, never cut."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for finding in findings:
        grid.add_row(Text(*SIGNS[finding.level]), Text(finding.name), Text(finding.detail))
        if finding.remedy:
            grid.add_row("", "", Text(f"→ {finding.remedy}", "bold"))
    return grid


def markdown() -> str:
    """The table of settings in README.md."""
    plain = Settings()
    lines = ["| variable | default | what it is |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = shown(plain, name)
        lines.append(f"| `{variable(name)}` | {f'`{default}`' if default else ''} | {field.description} |")
    return "\n".join(lines)


def providers(settings: Settings) -> list[Finding]:
    """One call to each provider."""
    return asyncio.run(_providers(make_embedder(settings), make_language_model(settings), settings))


async def _providers(embedder: Embedder, model: LanguageModel | None, settings: Settings) -> list[Finding]:
    findings = []
    try:
        await embedder.embed(["Did I tell you about the lake?"], Deadline(PROBE_SECONDS))
        findings.append(Finding("embedder", "ok", f"{embedder.identity.backend} answers"))
    except (EmbeddingUnavailable, DeadlineExceeded) as error:
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
    except (LanguageUnavailable, LanguageRefused, MalformedReply, DeadlineExceeded) as error:
        reason = getattr(error, "reason", "its reply is malformed")
        level: Level = "failed" if settings.llm_mode == "required" else "warning"
        remedy = "Check PGRECALL_LLM_BASE_URL, _MODEL and _API_KEY."
        findings.append(Finding("language model", level, reason, remedy))
    finally:
        await model.close()
    return findings
