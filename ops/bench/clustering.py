"""How close the vectors of one log lie to each other: whether a made log is as clustered as a real one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from ops.bench.dataset import Conversation
from pgrecall.deadline import Deadline
from pgrecall.embedding.segments import embed_texts
from pgrecall.embedding.static import StaticEmbedder

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def products(conversation: Conversation) -> NDArray[np.float32]:
    """Inner products of the static embedder's vectors, each pair of the log's messages once."""
    texts = [turn.content for turn in conversation.turns]
    vectors = asyncio.run(embed_texts(StaticEmbedder(), texts, Deadline(600)))
    upper: NDArray[np.float32] = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
    return upper


def clustering(logs: Mapping[str, Sequence[Conversation]]) -> Table:
    """Quantiles of the inner products within a log, means over the logs."""
    table = Table(title="inner products within a log", title_justify="left")
    table.add_column("logs", no_wrap=True)
    for heading in (*(f"p{share * 100:.0f}" for share in SHARES), "mean"):
        table.add_column(heading, justify="right")
    for name, conversations in logs.items():
        quantiles, means = [], []
        for one in conversations:
            found = products(one)
            quantiles.append(np.quantile(found, SHARES))
            means.append(found.mean())
        table.add_row(name, *(f"{value:.2f}" for value in np.mean(quantiles, axis=0)), f"{np.mean(means):.2f}")
    return table
