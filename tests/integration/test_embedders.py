"""One conformance suite that each embedder passes; what only one of them does follows in its own file."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ops.bench import replies
from ops.bench.provider import StandIn
from pgrecall.deadline import Deadline
from pgrecall.embedding.fastembed import FastEmbedEmbedder
from pgrecall.embedding.openai import OpenAIEmbedder
from pgrecall.embedding.protocol import Embedder
from pgrecall.embedding.static import VOCABULARY, WEIGHTS, StaticEmbedder
from pgrecall.errors import DeadlineExceeded, StartRefused
from pgrecall.memory import DIMENSIONS

TEXTS = [
    "I adopted a small cat named Miso",
    "A cat called Miso was adopted",
    "The quarterly tax return is due in Lisbon",
    "我昨天收养了一只猫",
    "🦊" * 500,
    "x",
] * 4


class FakeFastEmbed:
    """Has the form of the module fastembed."""

    class TextEmbedding:
        def __init__(self, model_name: str) -> None:
            if model_name == "unknown":
                raise ValueError(model_name)
            self.width = 2048 if model_name == "wide" else 384

        def embed(self, documents: list[str]) -> Iterable[NDArray[np.float32]]:
            for text in documents:
                yield np.array(replies.vector(text, self.width), np.float32) * 7


@pytest.fixture(params=["static", "openai", "fastembed"])
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    with StandIn() as provider:
        embedder: Embedder
        if request.param == "static":
            embedder = StaticEmbedder()
        elif request.param == "openai":
            embedder = OpenAIEmbedder(api_key=None, base_url=provider.base_url, dimensions=512)
        else:
            embedder = FastEmbedEmbedder(module=FakeFastEmbed())
        yield embedder
        await embedder.close()


async def test_rows_are_of_full_width_unit_length_and_finite(embedder: Embedder) -> None:
    rows = await embedder.embed(TEXTS, Deadline(20))
    assert rows.shape == (len(TEXTS), DIMENSIONS)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)


async def test_columns_beyond_its_dimensions_are_zeros(embedder: Embedder) -> None:
    rows = await embedder.embed(TEXTS, Deadline(20))
    assert rows[:, : embedder.identity.dimensions].any()
    assert not rows[:, embedder.identity.dimensions :].any()


async def test_text_has_the_same_bits_alone_and_in_any_company(embedder: Embedder) -> None:
    together = await embedder.embed(TEXTS, Deadline(20))
    alone = [(await embedder.embed([text], Deadline(20)))[0] for text in TEXTS[:6]]
    turned = (await embedder.embed(TEXTS[::-1], Deadline(20)))[::-1]
    assert (together[:6] == np.array(alone)).all()
    assert (together == turned).all()


async def test_similar_texts_are_closer_than_others(embedder: Embedder) -> None:
    cat, same_cat, tax = await embedder.embed(TEXTS[:3], Deadline(20))
    assert cat @ same_cat > cat @ tax


async def test_no_pieces_are_no_rows(embedder: Embedder) -> None:
    assert (await embedder.embed([], Deadline(20))).shape == (0, DIMENSIONS)


async def test_used_up_deadline_stops_it(embedder: Embedder) -> None:
    with pytest.raises(DeadlineExceeded):
        await embedder.embed(TEXTS, Deadline(0))


def test_identity_names_all_that_a_vector_depends_on(embedder: Embedder) -> None:
    identity = embedder.identity
    assert identity.backend in {"static", "openai", "fastembed"}
    assert identity.model
    assert 0 < identity.dimensions <= DIMENSIONS
    assert identity.endpoint.startswith("http://127.0.0.1:") == (identity.backend == "openai")
    assert identity.preprocessing == 1


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    for name, _ in (WEIGHTS, VOCABULARY):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(Path(spec.origin).parent / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("name", [WEIGHTS[0], VOCABULARY[0]])
def test_static_embedder_refuses_files_that_are_not_the_ones(model_folder: Path, name: str) -> None:
    StaticEmbedder(model_folder)
    with (model_folder / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(StartRefused) as refused:
        StaticEmbedder(model_folder)
    assert "pip install" in refused.value.remedy
    (model_folder / name).unlink()
    with pytest.raises(StartRefused, match="cannot be read"):
        StaticEmbedder(model_folder)


async def test_static_embedder_gives_zeros_for_a_text_without_tokens() -> None:
    assert not (await StaticEmbedder().embed([""], Deadline(20))).any()


async def test_static_embedder_is_fast() -> None:
    embedder = StaticEmbedder()
    texts = [f"{TEXTS[0]} and {TEXTS[2]} on day {day}" for day in range(4000)]
    started = time.monotonic()
    await embedder.embed(texts, Deadline(20))
    # Some 10,000 a second on two cores; the bound leaves room for a busy machine.
    assert time.monotonic() - started < 4


def test_static_embedder_never_imports_wordllama() -> None:
    code = (
        "import sys; from pgrecall.embedding.static import StaticEmbedder; StaticEmbedder();"
        "sys.exit('wordllama' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_fastembed_says_how_to_install_it() -> None:
    if find_spec("fastembed") is not None:
        pytest.skip("fastembed is installed")
    with pytest.raises(StartRefused) as refused:
        FastEmbedEmbedder()
    assert refused.value.remedy == "pip install 'pgrecall[fastembed]'"


@pytest.mark.parametrize("model", ["unknown", "wide"])
def test_fastembed_refuses_a_model_it_cannot_use(model: str) -> None:
    with pytest.raises(StartRefused, match="PGRECALL_EMBED_MODEL"):
        FastEmbedEmbedder(model, module=FakeFastEmbed())
