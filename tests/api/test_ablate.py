"""The ablation on a server of its own, with a made-up conversation."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from ops.bench.ablate import ROWS, SHIPPED, Ablation, Row, ablation_table, save, temporary_place
from ops.bench.dataset import parse
from ops.bench.replay import saved
from pgrecall.settings import Settings

SAID = ("I bought a boat.", "What colour?", "Green.", "The vet saw Miso.", "The lens is 35mm.", "Rain again.")
CONVERSATION = parse(
    "boat",
    {
        "speaker_a": "Ines",
        "session_1": [
            {"speaker": ("Ines", "Karl")[place % 2], "dia_id": f"D1:{place + 1}", "text": text}
            for place, text in enumerate(SAID)
        ],
        "session_1_date_time": "1:59 pm on 8 May, 2023",
        "session_1_observation": {"Ines": [["Ines owns a green boat.", ["D1:1", "D1:3"]]]},
        "qa": [
            {"question": "Who saw Misso?", "evidence": ["D1:4"], "category": 4},
            {"question": "Which lens, the 35mm?", "evidence": ["D1:5"], "category": 4},
        ],
    },
)
CHOSEN = (SHIPPED, "spelling off", "BM25 alone", "window radius 1")


@pytest.fixture(scope="module")
def rows() -> Iterator[dict[str, Row]]:
    with temporary_place() as place, Progress(console=Console(file=io.StringIO())) as progress:
        ablation = Ablation(place, [CONVERSATION], progress, top_k=100, workers=2, observations=True)
        yield {row.name: row for row in ablation.rows(CHOSEN)}
    assert not place.exists()


def test_every_row_asks_every_question_and_none_fails(rows: dict[str, Row]) -> None:
    assert tuple(rows) == CHOSEN
    for row in rows.values():
        assert [one["question"] for one in row.outcomes] == [0, 1]
        assert not row.searches.errors
        assert len(row.searches.latencies) == 2


def test_each_row_is_searched_under_its_own_settings(rows: dict[str, Row]) -> None:
    ranks = {name: [one["ranks"] for one in row.outcomes] for name, row in rows.items()}
    assert ranks["BM25 alone"][1] == [1]

    second = [row.outcomes[1]["contents"] for row in (rows["window radius 1"], rows[SHIPPED])]
    hit = [contents[0].partition("] ")[2] for contents in second]
    assert hit == ["Ines: The lens is 35mm."] * 2
    # With a radius, the hit's neighbours follow it: the turn before, then the turn after.
    assert [one.partition("] ")[2] for one in second[0][1:3]] == ["Karl: The vet saw Miso.", "Karl: Rain again."]


def test_observations_are_there_as_facts(rows: dict[str, Row]) -> None:
    assert rows[SHIPPED].outcomes[0]["contents"][-1].endswith("Ines owns a green boat.")


def test_the_table_has_a_line_per_row_within_eighty_columns(rows: dict[str, Row]) -> None:
    paper = io.StringIO()
    Console(file=paper, width=80).print(ablation_table(list(rows.values())))

    lines = paper.getvalue().splitlines()
    assert [line.split("│")[1].strip() for line in lines if line.startswith("│")] == list(CHOSEN)
    assert "…" not in paper.getvalue()


def test_a_saved_row_reads_like_a_saved_replay(rows: dict[str, Row], tmp_path: Path) -> None:
    save(rows["BM25 alone"], tmp_path)

    assert saved(tmp_path / "BM25-alone.json") == rows["BM25 alone"].outcomes


@pytest.mark.parametrize("name", ROWS)
def test_a_row_changes_nothing_but_settings_that_exist(name: str) -> None:
    changed = Settings.model_validate(ROWS[name])

    assert changed.model_fields_set == set(ROWS[name])
    assert (changed == Settings()) == (name == SHIPPED)


def test_a_part_alone_keeps_its_own_weight() -> None:
    dense, words = (Settings.model_validate(ROWS[name]) for name in ("dense alone", "BM25 alone"))

    assert (dense.dense_weight, dense.lexical_weight) == (Settings().dense_weight, 0)
    assert (words.dense_weight, words.lexical_weight) == (0, Settings().lexical_weight)
    assert dense.neighbour_weight == words.neighbour_weight == dense.session_weight == words.session_weight == 0
