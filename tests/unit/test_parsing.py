"""Replies of the language model: what becomes a fact, and what never does."""

from __future__ import annotations

import json

import pytest

from pgrecall.language.parsing import parse_facts, parse_missing_question, parse_recall_question
from pgrecall.language.protocol import MalformedReply
from pgrecall.memory import Fact, RecallQuestion

LINES = [
    "[2023-05-20 14:00] I: I adopted a cat named Miso, she cost 1,200 euros",
    "[2023-05-20 14:01] Tom: My flight to Lisbon leaves at 9:45, with Jean-Luc O'Brien",
    "[2023-05-21 08:00] I: McDonald's again, the LGBTQ march may be on my iPhone’s calendar",
]


def reply(*facts: object) -> str:
    return json.dumps({"facts": list(facts)})


def kept(fact: str, *numbers: int) -> bool:
    return bool(parse_facts(reply({"fact": fact, "lines": list(numbers)}), LINES))


def test_fact_keeps_its_lines_counted_from_zero() -> None:
    facts = parse_facts(reply({"fact": "I adopted a cat named Miso.", "lines": [1]}), LINES)
    assert facts == [Fact("I adopted a cat named Miso.", (0,))]


def test_lines_are_put_in_order_once_each() -> None:
    facts = parse_facts(reply({"fact": "I have a cat", "lines": [3, 1, 3]}), LINES)
    assert facts == [Fact("I have a cat", (0, 2))]


@pytest.mark.parametrize("entry", [{}, {"lines": None}, {"lines": []}, {"lines": [0, 4, -1]}])
def test_fact_that_points_at_no_line_rests_on_the_whole_request(entry: dict[str, object]) -> None:
    assert parse_facts(reply({"fact": "I have a cat", **entry}), LINES) == [Fact("I have a cat", (0, 1, 2))]


def test_number_beyond_the_lines_is_left_out() -> None:
    assert parse_facts(reply({"fact": "I have a cat", "lines": [1, 99]}), LINES)[0].sources == (0,)


@pytest.mark.parametrize("opening", ["```json\n", "```\n", "```JSON\n"])
def test_fence_around_the_object_is_allowed(opening: str) -> None:
    assert len(parse_facts(f"\n{opening}{reply({'fact': 'I ran', 'lines': [1]})}\n```\n", LINES)) == 1


def test_bare_list_of_facts_is_allowed() -> None:
    assert len(parse_facts('[{"fact": "I have a cat", "lines": [1]}]', LINES)) == 1


def test_no_facts_is_an_answer() -> None:
    assert parse_facts('{"facts": []}', LINES) == []


@pytest.mark.parametrize(
    "malformed",
    [
        "I found that you adopted a cat.",
        "Here you are: " + reply({"fact": "I ran", "lines": [1]}),
        reply({"fact": "I ran", "lines": [1]}) + " Anything else?",
        reply({"fact": "I ran", "lines": [1]})[:-4],
        "",
        "null",
        "7",
        '"I ran"',
        "{}",
        '{"facts": null}',
        '{"facts": {"fact": "I ran"}}',
        '{"facts": ["I ran"]}',
        '{"facts": [{"lines": [1]}]}',
        '{"facts": [{"fact": 7, "lines": [1]}]}',
        '{"facts": [{"fact": "I ran", "lines": 1}]}',
        '{"facts": [{"fact": "I ran", "lines": ["1"]}]}',
        '{"facts": [{"fact": "I ran", "lines": [true]}]}',
        '{"facts": [{"fact": "I ran", "lines": [1]}, "and more"]}',
        "[" * 100_000,
        '{"facts": ' + "9" * 5000 + "}",
    ],
)
def test_anything_else_is_malformed(malformed: str) -> None:
    with pytest.raises(MalformedReply):
        parse_facts(malformed, LINES)


def test_blank_and_repeated_facts_are_dropped() -> None:
    texts = ["I have a cat", " ", "i  have a CAT", "", "I have a flight"]
    facts = parse_facts(reply(*({"fact": text, "lines": [1]} for text in texts)), LINES)
    assert [fact.content for fact in facts] == ["I have a cat", "I have a flight"]


def test_the_first_24_facts_stay() -> None:
    facts = parse_facts(reply(*({"fact": f"I know {chr(97 + n)}", "lines": [1]} for n in range(26))), LINES)
    assert [fact.content[-1] for fact in facts] == list("abcdefghijklmnopqrstuvwx")


def test_what_postgres_cannot_store_is_cleaned_away() -> None:
    raw = '{"facts": [{"fact": "I\\u0000 have\\n a \\ud83d cat", "lines": [1]}]}'
    assert parse_facts(raw, LINES)[0].content == "I have a cat"


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("I paid 1200 euros for Miso", 1),
        ("I paid 1,200 euros for MISO", 1),
        ("My cat's name is Miso's own", 1),
        ("On 20 May 2023 I adopted a cat", 1),
        ("Tom told me that his flight to Lisbon leaves at 9:45", 2),
        ("I know that Tom’s flight leaves with Luc O’Brien", 2),
        ("Yesterday Tom told me of Lisbon", 2),
        ("McDonalds is where I ate again", 3),
        ("I ate at McDonald’s and I've an iPhone", 3),
        ("The LGBTQ march may be on my calendar. May it be!", 3),
    ],
)
def test_names_and_numbers_of_the_lines_pass(fact: str, line: int) -> None:
    assert kept(fact, line)


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("I paid 200 euros for the cat", 1),
        ("I paid 12000 euros for the cat", 1),
        ("I have 2 cats", 1),
        ("I adopted a cat in June", 1),
        ("I adopted a cat from Anna", 1),
        ("Anna told me about Miso", 1),
        ("I adopted a cat named Miso", 2),
        ("Tom told me about Jean-Paul", 2),
        ("Will told me about Lisbon", 2),
        ("I use an iPad", 3),
        ("I met McDonald and MacDonald", 3),
        ("Я видел Анну", 1),
    ],
)
def test_invented_name_or_number_costs_the_fact_its_place(fact: str, line: int) -> None:
    assert not kept(fact, line)


def test_fact_without_a_line_is_guarded_by_all_lines() -> None:
    assert kept("Tom told me about Miso")
    assert not kept("Anna told me about Miso")


def test_recall_question_is_read() -> None:
    assert parse_recall_question('{"recall_question": " Did I tell\\n you? "}') == RecallQuestion("Did I tell you?")


@pytest.mark.parametrize(
    "malformed", ["Did I tell you?", "{}", "[]", '{"recall_question": 7}', '{"recall_question": " "}']
)
def test_anything_else_is_no_question(malformed: str) -> None:
    with pytest.raises(MalformedReply):
        parse_recall_question(malformed)
    with pytest.raises(MalformedReply):
        parse_missing_question(malformed)


def test_null_means_that_nothing_is_missing_but_is_no_recall_question() -> None:
    assert parse_missing_question('{"recall_question": null}') is None
    with pytest.raises(MalformedReply):
        parse_recall_question('{"recall_question": null}')


@pytest.mark.parametrize(
    ("companions", "key_words", "time"),
    [
        ('"key_words": ["cat", " kitten ", "", 3], "time": " last May "', ("cat", "kitten"), "last May"),
        ('"key_words": "cat", "time": 2023', (), None),
        ('"key_words": null, "time": null', (), None),
        ('"key_words": ["' + "x" * 101 + '"], "time": ""', (), None),
        (
            '"key_words": ' + str([f"w{n}" for n in range(20)]).replace("'", '"'),
            tuple(f"w{n}" for n in range(8)),
            None,
        ),
    ],
)
def test_key_words_and_time_come_with_the_recall_question_or_not_at_all(
    companions: str, key_words: tuple[str, ...], time: str | None
) -> None:
    reply = f'{{"recall_question": "Did I?", {companions}}}'
    assert parse_recall_question(reply) == RecallQuestion("Did I?", key_words, time)
