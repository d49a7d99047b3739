"""States that change: keys, chains, and what each question can do without."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from pgrecall.versions.chains import Link, Said, chains
from pgrecall.versions.registry import REGISTRY, is_shared, is_single, registry_prompt
from pgrecall.versions.statements import OWNER, Statement, subject_key, value_key
from pgrecall.versions.withholding import Mode, says_more, withheld

RESIDENCE = (OWNER, "residence")
BOTH = Mode.CURRENT | Mode.DATED


def day(number: int) -> datetime:
    return datetime(2023, 1, number, 12, tzinfo=UTC)


def told(memory: Hashable, at: int | None, value: str | None, attribute: str = "residence", **how: bool) -> Said:
    """The owner's statement on a day of January 2023, having arrived in that order."""
    statement = Statement(OWNER, attribute, value, **how)
    return Said(statement, None if at is None else day(at), at or 0, memory)


def values(links: Iterable[Link]) -> list[tuple[str | None, tuple[Hashable, ...]]]:
    return [(link.value, link.memories) for link in links]


class TestRegistry:
    def test_names_are_those_that_stories_use(self) -> None:
        assert [sum(one.single is single for one in REGISTRY.values()) for single in (True, False)] == [46, 9]
        assert is_single("residence")
        assert not is_single("pet")
        assert not is_single("shoe_size")
        assert is_shared("appointment")
        assert not is_shared("residence")

    def test_every_attribute_is_said_in_both_languages(self) -> None:
        assert all(set(one.said) == {"english", "chinese"} and one.examples for one in REGISTRY.values())

    def test_prompt_names_every_attribute_and_is_short(self) -> None:
        prompt = registry_prompt()
        assert all(name in prompt for name in REGISTRY)
        assert len(prompt) < 1_500


class TestKeys:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Porto", "porto"), ("the Fiat Panda", "Fiat  Panda"), ("a nurse", "nurse"), ("O’Brien", "OBrien"),
            ("72 kg", "72kg"), ("£1,200", "£1200"), ("0113 555 0142", "(0113) 555-0142"), ("Dr. Brandt",
            "Dr Brandt"),
            ("厦门", " 厦 门。"), ("１２３", "123"), ("“teal”", "teal"),
        ],
    )  # fmt: skip
    def test_same_value_otherwise_written(self, one: str, other: str) -> None:
        assert value_key(one) == value_key(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("1.5", "15"), ("3-4", "34"), ("C++", "C"), ("C#", "C"), ("-5", "5"), ("5%", "5"), ("7:30", "730"),
            ("2023-1-11", "2023-11-1"), ("Leeds", "Leeds United"), ("a", ""), ("v1.2", "v12"), ("B2", "B1"),
            ("1,5", "15"), ("!", "?"), ("Malmö", "Malmo"), ("3 4", "34"),
        ],
    )  # fmt: skip
    def test_different_values_stay_apart(self, one: str, other: str) -> None:
        assert value_key(one) != value_key(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("my sister", "sister"), ("My sister's", "sister"), ("I", OWNER), ("owner", OWNER), ("我", OWNER),
            ("我姐姐", "姐姐"), ("我的姐姐", "姐"), ("mum", "my mother"), ("the Heron project", "Heron project"),
            ("妈妈", "我妈"),
        ],
    )  # fmt: skip
    def test_same_subject_otherwise_named(self, one: str, other: str) -> None:
        assert subject_key(one) == subject_key(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("my sister", OWNER),
            ("my sister", "Nora's sister"),
            ("my cousin Rafael", "Rafael from work"),
            ("my", "me"),
        ],
    )
    def test_different_subjects_stay_apart(self, one: str, other: str) -> None:
        assert subject_key(one) != subject_key(other)


class TestChains:
    def test_value_said_again_is_one_link(self) -> None:
        links = chains([told("a", 1, "Leeds"), told("b", 3, "leeds"), told("c", 5, "Porto")])[RESIDENCE]
        assert values(links) == [("Leeds", ("a", "b")), ("Porto", ("c",))]
        assert (links[0].since, links[0].until, links[1].since, links[1].until) == (day(1), day(5), day(5), None)

    def test_return_is_a_link_of_its_own(self) -> None:
        links = chains([told("a", 1, "Leeds"), told("b", 3, "Porto"), told("c", 5, "Leeds")])[RESIDENCE]
        assert values(links) == [("Leeds", ("a",)), ("Porto", ("b",)), ("Leeds", ("c",))]

    def test_end_closes_the_current_link(self) -> None:
        said = [told("a", 1, "Skoda", "car"), told("b", 3, None, "car", closes=True)]
        (link,) = chains(said)[OWNER, "car"]
        assert (link.until, link.closed, link.memories, link.ended_by) == (day(3), True, ("a",), ("b",))

    def test_same_value_after_an_end_is_a_new_link(self) -> None:
        said = [told("a", 1, "Skoda", "car"), told("b", 3, None, "car", closes=True), told("c", 5, "Skoda", "car")]
        assert values(chains(said)[OWNER, "car"]) == [("Skoda", ("a",)), ("Skoda", ("c",))]

    def test_end_of_another_value_ends_nothing(self) -> None:
        said = [told("a", 1, "Skoda", "car"), told("b", 3, "Volvo", "car", closes=True)]
        assert not chains(said)[OWNER, "car"][0].closed
        said = [told("a", 1, "old Volvo", "car"), told("b", 3, "Volvo", "car", closes=True)]
        assert chains(said)[OWNER, "car"][0].closed

    def test_end_of_nothing_is_no_chain(self) -> None:
        assert chains([told("a", 1, None, "car", closes=True)]) == {}

    def test_one_more_twice_is_two_more(self) -> None:
        said = [told("a", 1, "three", "count")]
        said += [told(name, at, "one more", "count", relative=True) for name, at in (("b", 2), ("c", 3))]
        assert [link.relative for link in chains(said)[OWNER, "count"]] == [False, True, True]

    def test_moment_decides_and_arrival_only_between_equals(self) -> None:
        late = Said(Statement(OWNER, "residence", "Leeds"), day(1), 9, "late")
        assert values(chains([told("now", 5, "Porto"), late])[RESIDENCE]) == [
            ("Leeds", ("late",)),
            ("Porto", ("now",)),
        ]
        same = [Said(Statement(OWNER, "residence", value), day(1), n, value) for n, value in enumerate("BA")]
        assert [link.value for link in chains(same)[RESIDENCE]] == ["B", "A"]

    def test_undated_replaces_nothing_that_is_dated(self) -> None:
        assert values(chains([told("a", 1, "Leeds"), told("b", None, "Rome")])[RESIDENCE]) == [
            ("Rome", ("b",)),
            ("Leeds", ("a",)),
        ]

    def test_several_valued_and_unknown_attributes_form_none(self) -> None:
        said = [told("a", 1, "nuts", "allergy"), told("b", 1, "44", "shoe_size"), told("c", 1, None)]
        assert chains(said) == {}


MOVES = chains([told("old", 1, "Leeds"), told("new", 10, "Porto"), told("again", 12, "Porto")])


class TestWithheld:
    def test_current_question_does_without_what_was_replaced(self) -> None:
        assert withheld(MOVES, "Where do I live now?", None, BOTH) == {"old"}

    @pytest.mark.parametrize(
        "question", ["Where have I lived?", "What's my phone number?", "When did I move?", "Leeds?"]
    )
    def test_other_questions_lose_nothing(self, question: str) -> None:
        assert withheld(MOVES, question, None, BOTH) == set()

    def test_each_mode_is_for_its_questions(self) -> None:
        assert withheld(MOVES, "Where do I live?", None, Mode.DATED) == set()
        assert withheld(MOVES, "Where did I live on 5 January 2023?", date(2023, 1, 5), Mode.CURRENT) == set()
        assert withheld(MOVES, "Where do I live?", None, Mode.OFF) == set()

    @pytest.mark.parametrize(
        ("first", "last", "leaving"),
        [(5, 5, {"new", "again"}), (11, 11, {"old"}), (10, 10, set()), (5, 11, set())],
    )
    def test_dated_question_keeps_what_held_then(self, first: int, last: int, leaving: set[str]) -> None:
        question = "Where did I live on 5 January 2023?"
        assert withheld(MOVES, question, date(2023, 1, first), BOTH, through=date(2023, 1, last)) == leaving

    def test_what_held_before_it_was_told_is_not_known(self) -> None:
        before = withheld(MOVES, "Where did I live on 1 May 2022?", date(2022, 5, 1), BOTH)
        assert before == {"new", "again"}

    def test_relative_value_keeps_what_it_is_told_by(self) -> None:
        said = [told("a", 1, "five", "weight"), told("b", 3, "six", "weight")]
        said.append(told("c", 5, "one more", "weight", relative=True))
        assert withheld(chains(said), "How much do I weigh?", None, BOTH) == set()
        dated = withheld(chains(said), "What did I weigh on 6 January 2023?", date(2023, 1, 6), BOTH)
        assert dated == {"a"}

    def test_end_replaces_and_is_replaced(self) -> None:
        said = [told("a", 1, "Skoda", "car"), told("b", 3, None, "car", closes=True)]
        assert withheld(chains(said), "Do I have a car?", None, BOTH) == {"a"}
        assert withheld(chains(said), "What car did I drive on 2 January 2023?", date(2023, 1, 2), BOTH) == {"b"}
        said.append(told("c", 5, "Fiat", "car"))
        assert withheld(chains(said), "What car do I drive?", None, BOTH) == {"a", "b"}

    def test_memory_of_another_current_state_stays(self) -> None:
        said = [told("both", 1, "Leeds"), told("both", 1, "Acme", "employer"), told("new", 5, "Porto")]
        assert withheld(chains(said), "Where do I live?", None, BOTH) == set()
        said.append(told("job", 6, "Birch", "employer"))
        assert withheld(chains(said), "Where do I live?", None, BOTH) == {"both"}

    def test_what_is_to_be_kept_stays(self) -> None:
        assert withheld(MOVES, "Where do I live?", None, BOTH, keep=["old"]) == set()

    def test_of_several_appointments_only_those_of_one_kind_replace(self) -> None:
        built = chains([told("a", 1, "Monday", "appointment"), told("b", 3, "Friday", "appointment")])
        question = "When is my dentist appointment?"
        assert withheld(built, question, None, BOTH) == set()
        texts: dict[Hashable, str] = {"a": "dentist on Monday", "b": "optician on Friday"}
        assert withheld(built, question, None, BOTH, texts=texts) == set()
        texts["b"] = "The dentist's is on Friday now"
        assert withheld(built, question, None, BOTH, texts=texts) == {"a"}

    @pytest.mark.parametrize("on", [1, 2, 3, 20])
    def test_what_was_corrected_held_on_no_day(self, on: int) -> None:
        wrong, right = told("wrong", 1, "Leeds"), replace(told("right", 3, "Cork"), corrects=True)
        moved = told("moved", 9, "Porto")
        built = chains([moved, right, wrong])
        assert [(link.corrected, link.since) for link in built[RESIDENCE]] == [
            (True, day(1)), (False, day(1)), (False, day(9)),
        ]  # fmt: skip
        question = "Where did I live on 2 January 2023?"
        gone = {"wrong", "moved"} if on < 9 else {"wrong", "right"}
        assert withheld(built, question, day(on).date(), BOTH) == gone
        assert withheld(built, "Where did I live before?", None, BOTH) == set()

    def test_appointments_of_which_the_question_names_none_all_stay(self) -> None:
        two = chains([told("dentist", 1, "3 May", "appointment"), told("haircut", 2, "9 May", "appointment")])
        texts: dict[Hashable, str] = {
            "dentist": "My dentist appointment is 3 May",
            "haircut": "My haircut appointment is 9 May",
        }
        assert withheld(two, "When is my appointment?", None, BOTH, texts=texts) == set()

    def test_another_persons_state_is_another_chain(self) -> None:
        sister = [
            Said(Statement("my sister", "residence", value), day(at), at, value)
            for value, at in (("Lyon", 2), ("Ghent", 4))
        ]
        built = chains([told("old", 1, "Leeds"), told("new", 5, "Porto"), *sister])
        assert withheld(built, "Where does my sister live now?", None, BOTH) == {"Lyon"}

    def test_message_that_says_more(self) -> None:
        leeds, nuts = Statement(OWNER, "residence", "Leeds"), Statement(OWNER, "allergy", "nuts")
        assert not says_more("I live in Leeds.", [leeds])
        assert not says_more("I live in Leeds and went to a fair.", [leeds, None])
        assert says_more("I live in Leeds and nuts make me ill.", [leeds, nuts])
        assert not says_more("I live in Leeds. Where do I get a bike?", None)
        assert says_more("I live in Leeds. My neighbour keeps two huge dogs in the yard.", None)
