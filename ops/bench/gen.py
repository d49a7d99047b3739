"""A synthetic log of any size with questions and their evidence, from a seed.

    python -m ops.bench.gen OUTFOLDER --messages 2000 --questions 100 --seed 7

Two people talk over months. What is asked about is told in one turn or in two and nowhere else: no other turn names
the person, thing or place in question, though a quarter of the log tells the like of others. Written in the form
that dataset.py reads, one conversation a file, so the replay runs it. The same arguments give the same bytes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

TURNS_OF_A_SESSION = (12, 28)
DAYS_BETWEEN = (1, 5)
BEGINNING = datetime(2023, 3, 6, tzinfo=UTC)
LIKE_IT = 0.25
"""Share of the turns that tell the like of what is asked about, of other people, things and places."""
ROOM = 3
"""Turns that a log needs for each turn of evidence."""

FIRST = """Adela Bruno Carmen Dmitri Elif Farid Greta Hamid Imke Jonas Kavya Leif Marta Nadia Oskar Petra Quentin
Rosa Selim Tilda Umar Vera Wanda Xenia Yusuf Zora Anselm Birgit Cosmo Delia Emre Fiona Gideon Hazel""".split()
HEADS = """Ash Birch Cold Dun Elm Fair Glen Hart Iron Kirk Lang Mill North Oak Pen Quarry Raven Stone Thorn Under
Vale West Wind York""".split()
TAILS = "bourne bridge bury cliff combe dale field ford gate ham hurst ley mere shaw stead wick".split()
NAMES = ["".join(parts) for parts in product(HEADS, TAILS)]
COLOURS = "amber black blue cream crimson green grey ivory orange purple teal white yellow".split()
STUFFS = "bamboo brass canvas ceramic copper cork enamel felt leather linen oak pewter silk slate velvet".split()
THINGS = """armchair backpack bench bookcase bowl bracelet cabinet clock cushion desk footstool frame kettle lamp
ladder mirror mug notebook planter plate pot purse screen shelf stool teapot tray trunk umbrella vase""".split()
KINDS = "bakery bookshop clinic cycle shop,garage,gallery,gym,nursery,pool hall,pottery studio,swim club".replace(
    " ", ",", 3
).split(",")
