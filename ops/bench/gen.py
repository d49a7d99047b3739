"""A synthetic log of any size with questions and their evidence, from a seed.

    python -m ops.bench.gen OUTFOLDER --messages 2000 --questions 100 --seed 7

Two people talk over months. What is asked about is told in one turn or in two and nowhere else. A quarter of the
log tells the like of other people, things and places; another quarter names those in question, some often and
most seldom, and tells nothing that is asked. Written in the form that dataset.py reads, one conversation a file,
so the replay runs it. The same arguments give the same bytes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
NAMED = 0.25
"""Share of the turns that name what is asked about and tell nothing of it."""
ROOM = 3
"""Turns that a log needs for each turn of evidence."""


def words(text: str) -> list[str]:
    return text.split()


FIRST = words("""
Adela Anselm Birgit Bruno Carmen Cosmo Delia Dmitri Elif Emre Farid Fiona Gideon Greta Hamid Hazel Imke Jonas Kavya
Leif Marta Nadia Oskar Petra Quentin Rosa Selim Tilda Umar Vera Wanda Xenia Yusuf Zora""")
HEADS = words("""
Ash Birch Cold Dun Elm Fair Glen Hart Iron Kirk Lang Mill North Oak Pen Quarry Raven Stone Thorn Under Vale West
Wind York""")
TAILS = words("bourne bridge bury cliff combe dale field ford gate ham hurst ley mere shaw stead wick")
NAMES = [head + tail for head, tail in product(HEADS, TAILS)]
COLOURS = words("amber black blue cream crimson green grey ivory orange purple teal white yellow")
STUFFS = words("bamboo brass canvas ceramic copper cork enamel felt leather linen oak pewter silk slate velvet")
THINGS = words("""
armchair backpack bench bookcase bowl bracelet cabinet clock cushion desk footstool frame kettle ladder lamp mirror
mug notebook planter plate pot purse screen shelf stool teapot tray trunk umbrella vase""")
KINDS = words("bazaar bookshop centre club emporium gallery hall market museum pavilion shop studio workshop")
POOLS: dict[str, Sequence[tuple[str, ...]]] = {
    "person": list(product(FIRST, NAMES)),
    "thing": list(product(COLOURS, STUFFS, THINGS)),
    "place": list(product(["the"], NAMES, KINDS)),
    "town": list(product(["Great", "Little", "Lower", "Saint", "South", "Upper"], NAMES)),
}
"""What a question may be about. Asked about once: the size of the pools bounds the number of questions."""
SLOTS: dict[str, list[str]] = {
    "skill": ["bind books", "carve spoons", "fence", "juggle", "play chess", "sail", "throw pots", "weave"],
    "job": ["baker", "beekeeper", "carpenter", "dentist", "glazier", "nurse", "pilot", "surveyor", "translator"],
    "occasion": ["a walk", "breakfast", "coffee", "dinner", "lunch", "tea"],
    "weather": ["fog", "hail", "rain", "snow", "sunshine", "wind"],
    "dish": ["bean soup", "dumplings", "leek pie", "noodles", "pancakes", "risotto", "roast squash", "stew"],
    "daypart": ["afternoon", "evening", "morning", "night", "week", "weekend"],
    "mood": ["cheerful", "drowsy", "fine", "hungry", "restless", "tired", "wide awake"],
    "chore": ["dusting", "ironing", "laundry", "mending", "shopping", "vacuuming", "washing-up", "weeding"],
    "pet": ["cat", "dog", "parrot", "rabbit", "tortoise"],
}
ASIDES = """\
All this {weather} makes me {mood}.|And how was your {daypart}?|Are you still {mood}?|Do tell me more.
Good to hear, {other}.|I could eat {dish} every {daypart}.|I feel {mood} today.|I thought as much.
I spent a {daypart} on the {chore}.|It was {dish} again last {daypart}.|My {daypart} was mostly {chore} and {dish}.
No, not yet.|Nothing beats {dish} after the {chore}.|Oh, {other}, that made me laugh.|Really? I had no idea.
Remind me later.|The {pet} is {mood} because of the {weather}.|The {pet} stole my {dish}.|What a {daypart} that was!
The {pet} slept through the {chore}.|There was {weather} the whole {daypart}.|Yes, and with {weather} on top.
They promise {weather} for the {daypart}.|What do you cook when you are {mood}?|You sound {mood}, {other}.
Would you take the {pet} for a {daypart}?|Your {pet} looked {mood} last {daypart}.""".replace("\n", "|")


@dataclass(frozen=True, slots=True)
class Frame:
    """One kind of thing to ask about. `said`: for each turn of evidence, in order, the ways to say it; `asked`: the
    ways to ask. Ways stand with a bar between them."""

    category: int
    said: tuple[str, ...]
    asked: str
    answer: str


MULTI_HOP, TEMPORAL, SINGLE_HOP = 1, 2, 4
BOUGHT = """I finally bought the {thing} at {place}, and it set me back ${price}.|\
The {thing} from {place} is mine at last, all ${price} of it.|I paid {place} ${price} for the {thing}."""
PRICE = "How much money did {speaker} spend on the {thing}?|What was the price of {speaker}'s {thing}?"
MEETING = """I am seeing {person} for {occasion} on {date}.|{person} and I have agreed on {occasion}, {date}.|\
On {date} it is {occasion} with {person} for me."""
MET_WHEN = "When do {speaker} and {person} get together?|Which day is {speaker} going to meet {person}?"
MOVED = "{person} has moved to {town}.|{town} is where {person} lives these days."
WORK = "{person} found work as a {job}.|They took {person} on as a {job}."
TRADE = "What does the friend who settled in {town} do for a living?|Which trade has the one in {town}?"
LOST = """I left my {thing} behind in {place} and had to go back for it.|\
My {thing} turned up: it had been lying in {place} all along."""
LOST_WHERE = "Where did {speaker} forget the {thing}?|In which spot was {speaker}'s lost {thing}?"
OPENING = "{place} opens its doors on {date}, I am told.|Mark {date}: they are opening {place}."
OPEN_WHEN = "When is the first day of {place}?|Since what date can one go to {place}?"
FEE = "A month at {place} costs ${price}.|They charge ${price} a month at {place}."
RAISED = "{place} went up to ${higher} a month.|From now on it is ${higher} a month at {place}."
RISE = "By how much did the monthly fee of {place} rise?|What was {place} charging before and after?"
TEACHES = "{person} is teaching me to {skill}.|I have begun to {skill}, with {person} showing me how."
LESSONS = "What is {speaker} learning from {person}?|Which lessons does {person} give {speaker}?"
LENT = "{person} borrowed the {thing} from me.|I lent {person} my {thing}."
AWAY = "{person} went off to {town} until spring.|Until spring {person} stays in {town}."
LENT_WHERE = "In which town is whoever has the {thing} on loan?|Where would one look for the lent {thing}?"
MENTIONS = {
    "person": """I dreamt of {person} last {daypart}.|{person} sends you greetings.|I cooked {dish} for {person}.|\
Have you heard from {person}?|{person} was {mood} all {daypart}.|I owe {person} a letter.""",
    "thing": """The {thing} is in my way again.|The {pet} hid behind the {thing}.|Do you like the {thing}?|\
I cleaned the {thing} this {daypart}.|I keep looking at the {thing}.|The {thing} got wet in the {weather}.""",
    "place": """I walked past {place} in the {weather}.|There was a queue outside {place}.|Do you know {place}?|\
Someone at {place} was {mood}.|I only ever hear good of {place}.|I lost my way near {place}.""",
    "town": """I have never been to {town}.|They had {weather} in {town}, it seems.|Is {town} far from here?|\
The train stopped in {town} for a whole {daypart}.|People in {town} live on {dish}.""",
}
"""Ways to name what is asked about that answer no question."""
FRAMES = (
    Frame(SINGLE_HOP, (BOUGHT,), PRICE, "${price}"),
    Frame(TEMPORAL, (MEETING,), MET_WHEN, "{date}"),
    Frame(MULTI_HOP, (MOVED, WORK), TRADE, "{job}"),
    Frame(SINGLE_HOP, (LOST,), LOST_WHERE, "{place}"),
    Frame(TEMPORAL, (OPENING,), OPEN_WHEN, "{date}"),
    Frame(MULTI_HOP, (FEE, RAISED), RISE, "from ${price} to ${higher}"),
    Frame(SINGLE_HOP, (TEACHES,), LESSONS, "to {skill}"),
    Frame(MULTI_HOP, (LENT, AWAY), LENT_WHERE, "{town}"),
)


class TooMany(ValueError):
    """More questions than the log has room for, or than there is to ask about; the message says which."""


@dataclass(slots=True)
class Place:
    """A turn to be spoken, and what is said once it is known. `number`: its place in the whole log, from 0."""

    number: int
    session: int
    said_at: datetime
    id: str
    speaker: str
    other: str
    text: str = ""


class Log:
    """A conversation of `messages` turns with `questions` questions, drawn from `seed`. Raises TooMany."""

    def __init__(self, messages: int, questions: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._speakers = self._random.sample(FIRST, 2)
        named_else = {
            name: [parts for parts in pool if parts[0] not in self._speakers] for name, pool in POOLS.items()
        }
        self._unused = {name: self._random.sample(pool, len(pool)) for name, pool in named_else.items()}
        self._places = list(self._empty(messages))
        frames = [FRAMES[number % len(FRAMES)] for number in range(questions)]
        if ROOM * sum(len(frame.said) for frame in frames) > messages:
            raise TooMany(f"{messages} messages are too few for {questions} questions")
        free = self._random.sample(self._places, messages)
        self._in_question: list[tuple[str, str]] = []
        self.questions = [self._asked(frame, free) for frame in frames]
        for _ in range(int(LIKE_IT * messages)):
            self._tell_like(free.pop())
        # The r-th in question is named in proportion to 1 / r, as unevenly as people name things.
        shares = [1 / rank for rank in range(1, len(self._in_question) + 1)]
        named = int(NAMED * messages)
        for kind, name in self._random.choices(self._in_question, weights=shares, k=named):
            place = free.pop()
            place.text = filled(self._one_of(MENTIONS[kind]), place, self._slots() | {kind: name})
        for place in free:
            place.text = filled(self._one_of(ASIDES), place, self._slots())
        self._random.shuffle(self.questions)

    @property
    def document(self) -> dict[str, Any]:
        """The conversation in the data set's form."""
        document: dict[str, Any] = {"speaker_a": self._speakers[0], "speaker_b": self._speakers[1]}
        for place in self._places:
            key = f"session_{place.session}"
            if key not in document:
                hour = place.said_at.strftime("%I:%M %p").lower()
                document[f"{key}_date_time"] = f"{hour} on {place.said_at.day} {place.said_at:%B, %Y}"
            turn = {"speaker": place.speaker, "dia_id": place.id, "text": place.text}
            document.setdefault(key, []).append(turn)
        return document | {"qa": self.questions}

    def _empty(self, messages: int) -> Iterator[Place]:
        """The turns in order, in sessions days apart, the two speakers in turn."""
        day, session, first = BEGINNING, 0, 0
        while first < messages:
            session += 1
            day += timedelta(days=self._random.randint(*DAYS_BETWEEN))
            said_at = day + timedelta(minutes=self._random.randrange(7 * 60, 22 * 60))
            end = min(messages, first + self._random.randint(*TURNS_OF_A_SESSION))
            for number in range(first, end):
                speaker, other = self._speakers[:: 1 if number % 2 else -1]
                yield Place(number, session, said_at, f"D{session}:{number - first + 1}", speaker, other)
            first = end

    def _asked(self, frame: Frame, free: list[Place]) -> dict[str, Any]:
        """Say it in as many of the free places as it takes, in order of time; the question about it."""
        told = sorted((free.pop() for _ in frame.said), key=lambda place: place.number)
        about = self._drawn(frame, told[-1], asked=True)
        self._in_question += [(kind, about[kind]) for kind in POOLS if kind in about]
        for place, ways in zip(told, frame.said, strict=True):
            place.text = filled(self._one_of(ways), place, about)
        return {
            "question": filled(self._one_of(frame.asked), told[0], about),
            "answer": frame.answer.format(**about),
            "evidence": [place.id for place in told],
            "category": frame.category,
        }

    def _tell_like(self, place: Place) -> None:
        """Say the like of what is asked about, of what nobody asks about."""
        frame = self._random.choice(FRAMES)
        ways = self._random.choice(frame.said)
        place.text = filled(self._one_of(ways), place, self._drawn(frame, place, asked=False))

    def _drawn(self, frame: Frame, place: Place, *, asked: bool) -> dict[str, str]:
        """What fills a frame; a thing asked about is taken from its pool, so that nothing else can be it."""
        about = self._slots()
        for name, unused in self._unused.items():
            if any(f"{{{name}}}" in ways for ways in frame.said):
                if asked and len(unused) == 1:
                    raise TooMany(f"no {name} is left to ask about: ask fewer questions")
                about[name] = " ".join(unused.pop() if asked else self._random.choice(unused))
        price = self._random.randint(9, 950)
        day = place.said_at + timedelta(days=self._random.randint(2, 60))
        higher = price + self._random.randint(2, 60)
        return about | {"price": str(price), "higher": str(higher), "date": f"{day.day} {day:%B}"}

    def _one_of(self, ways: str) -> str:
        return self._random.choice(ways.split("|"))

    def _slots(self) -> dict[str, str]:
        return {name: self._random.choice(ways) for name, ways in SLOTS.items()}


def filled(way: str, place: Place, about: dict[str, str]) -> str:
    """A sentence of `place`'s speaker about what `about` says for each slot."""
    text = way.format(**about, speaker=place.speaker, other=place.other)
    return text[0].upper() + text[1:]


def written(messages: int, questions: int, seed: int) -> str:
    """The file's text. Raises TooMany."""
    return json.dumps(Log(messages, questions, seed).document, ensure_ascii=False, indent=1) + "\n"


def main(
    out: Annotated[Path, typer.Argument(metavar="OUTFOLDER", help="made if it is not there")],
    messages: Annotated[int, typer.Option(min=1, help="turns of the log")] = 2000,
    questions: Annotated[int, typer.Option(min=1, help="each with its evidence")] = 100,
    seed: Annotated[int, typer.Option(help="also the file's name: seed-7.json")] = 7,
) -> None:
    """Write one conversation; other seeds in the same folder are further ones."""
    try:
        text = written(messages, questions, seed)
    except TooMany as error:
        raise typer.BadParameter(str(error)) from error
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"seed-{seed}.json"
    path.write_text(text, encoding="utf-8", newline="\n")
    Console().print(f"{path}: {messages} messages, {questions} questions", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
