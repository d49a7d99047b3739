"""States that change, as people tell them and ask for them: rules, intents and traps."""

from __future__ import annotations

import time

import pytest

from pgrecall.versions.asking import Wanted, attributes_asked, wanted
from pgrecall.versions.patterns import corrects, rest, stated
from pgrecall.versions.statements import OWNER, Statement, subject_key


class TestStated:
    @pytest.mark.parametrize(
        ("text", "subject", "attribute", "value"),
        [
            ("I moved to Porto!", OWNER, "residence", "Porto"),
            ("Big news: we've just moved to New Haven, boxes everywhere.", OWNER, "residence", "New Haven"),
            ("I live in Cork these days. Where do I get a bike?", OWNER, "residence", "Cork"),
            ("I live in Cork, where do I get a bike?", OWNER, "residence", "Cork"),
            ("My sister moved to Lyon last month.", "My sister", "residence", "Lyon"),
            ("My sister has moved, she lives in Utrecht now.", "My sister", "residence", "Utrecht"),
            ("I work for Harrow & Finch now.", OWNER, "employer", "Harrow & Finch"),
            ("I've been promoted to head baker.", OWNER, "job_title", "head baker"),
            ("My new number is 555-0199.", OWNER, "phone", "555-0199"),
            ("My new number is 555-0199. No, sorry, I meant 555-0198.", OWNER, "phone", "555-0198"),
            ("My new number is 555-0199. Actually it's 555-0198.", OWNER, "phone", "555-0198"),
            ("Correction: I live in Porto, not Leeds.", OWNER, "residence", "Porto"),
            ("My rent is 780 euros a month.", OWNER, "rent", "780 euros"),
            ("My GP is Dr. Brandt now.", OWNER, "doctor", "Dr. Brandt"),
            ("I got engaged!", OWNER, "relationship_status", "engaged"),
            ("The CEO of Acme Mills is Priya Rao.", "Acme Mills", "ceo", "Priya Rao"),
            ("我搬到了杭州。", OWNER, "residence", "杭州"),
            ("我搬家了，搬到了杭州。", OWNER, "residence", "杭州"),
            ("我换了工作，现在在青禾教育上班。", OWNER, "employer", "青禾教育"),
            ("我住在厦门，台风天窗户漏水，该怎么补？", OWNER, "residence", "厦门"),
            ("我住在杭州。不对，是苏州。", OWNER, "residence", "苏州"),
            ("我姐姐搬到了厦门。", "我姐姐", "residence", "厦门"),
            ("我的手机号换成了138-0000-0001。", OWNER, "phone", "138-0000-0001"),
        ],
    )  # fmt: skip
    def test_state_that_its_owner_tells(self, text: str, subject: str, attribute: str, value: str) -> None:
        assert stated(text, owners_own=True) == (Statement(subject, attribute, value),)

    @pytest.mark.parametrize(
        ("text", "subject", "attribute"),
        [
            ("I sold the car yesterday.", OWNER, "car"), ("My brother sold his car.", "My brother", "car"),
            ("I quit my job.", OWNER, "employer"), ("我把车卖掉了", OWNER, "car"), ("我辞职了。",
            OWNER, "employer"),
        ],
    )  # fmt: skip
    def test_end_without_a_successor(self, text: str, subject: str, attribute: str) -> None:
        assert stated(text, owners_own=True) == (Statement(subject, attribute, None, closes=True),)

    @pytest.mark.parametrize(
        "text",
        [
            # plans, wishes, hypotheticals
            "I might move to Oslo next year.", "I'm thinking of moving to Oslo.",
            "My sister wants to move to Porto.",
            "If I lived in Rome, I'd eat pasta.", "I wish I lived in Porto.", "Imagine I work at Acme now.",
            "我想搬到杭州。", "我可能搬到杭州去。", "如果我住在杭州就好了。", "我打算去上海工作。", "我想辞职。",
            # the past, what is over, what is not
            "I used to live in Rome.", "I lived in Rome for three years.", "I moved to Leeds when I was six.",
            "I moved to Leeds in 2009 and then to Oslo.", "My sister moved to Porto before I was born.",
            "I went vegan in January and gave up.",
            "我以前住在兰州。", "我姐姐不住在厦门。", "我没把车卖了。", "我住在杭州的时候很开心。",
            # others' words, played words, jokes
            "Ana said: I live in Bern", 'Petra wrote: "I live in Trieste."', "Tom: I live in Porto",
            "Translate: I live in Bern.", "In my novel, I live in Bern.", "I live in Porto. Just kidding!",
            "I told her I live in Porto.", "小李说：“我住在宁波。”", "他说我住在杭州。", "开玩笑的，我住在月球。",
            # questions
            "Do I live in Porto?", "I live in Porto, right?", "I live in Porto, don't I?", "我住在杭州吗？",
            "我住在杭州，对吧？", "我住在哪里？", "我是不是住在杭州？",
            # no state of this kind
            "I moved to Slack.", "I'm a nurse at heart.", "I'm married to my job.", "I drive a BMW in the game.",
            "I bought a Fiat for my daughter.", "I sold the car seat.", "My rent is 900 euros too high.",
            "I'm vegan on Mondays.", "I weigh 80 kilos with my backpack on.", "I live in a shoebox.",
            "I live in Leeds and Porto.", "My girlfriend is Spanish.", "I joined Maria for lunch.",
            "My car is a mess.",
            "我在家上班。", "我在北京上班。", "我是急性子。", "我开车去上班。", "我的车是红色的。",
            "我住在朋友家。",
            "我是医生的女儿。", "我搬到二楼去了。",
            "I work at Christmas.", "I'm a great cook.", "I'm a backseat driver.", "I moved to Marketing.",
            "I live in Bath Road.", "My favourite band is playing tonight.", "My dad is in hospital.",
            "Draft a letter: I live in Cork and want to leave.", "Say I move to Porto.", "My gym is closed.",
            "我是个好司机。", "我开的是大众点评。", "我住在海边。", "我搬去和女朋友住了。", "我在楼下咖啡馆工作。",
            # corrections of what nobody knows; two values at once; an end with a successor
            "No, I meant Porto.", "Actually it's Porto.", "不对，是杭州。", "I moved to Leeds. Scratch that.",
            "My new number is 555-0199, no wait, 555-0198.", "I live in Cork. I live in Galway.",
            "我把车卖了，买了一辆比亚迪。", "I sold the car and bought a Skoda.", "", "?", "我",
        ],
    )  # fmt: skip
    def test_nothing_is_taken_in_doubt(self, text: str) -> None:
        assert stated(text, owners_own=True) == ()

    def test_only_the_owners_words_count(self) -> None:
        assert stated("I moved to Porto.", owners_own=False) == ()

    def test_what_is_pasted_is_not_read(self) -> None:
        assert stated("I live in Cork. " + "Lorem ipsum. " * 400, owners_own=True) == ()

    def test_rest_is_what_else_is_told(self) -> None:
        assert rest("I live in Cork. Where do I get a bike?").strip(" .") == ""
        assert "cat named Miso" in rest("I live in Cork. I adopted a cat named Miso.")


class TestAsking:
    @pytest.mark.parametrize(
        ("question", "subject", "attribute"),
        [
            ("Where do I live now?", OWNER, "residence"), ("Can you tell me where I live?", OWNER, "residence"),
            ("What's my sister's phone number?", "my sister", "phone"), ("Who is my GP?", OWNER, "doctor"),
            ("Which company does Nora work for these days?", "Nora", "employer"),
            ("What is the status of the Heron project?", "the Heron project", "project_status"),
            ("When does our choir meet?", "our choir", "meeting_time"), ("How much do I weigh?", OWNER, "weight"),
            ("我现在住在哪个城市？", OWNER, "residence"), ("我姐姐的电话是多少？", "我姐姐", "phone"),
            ("表哥王磊现在做什么工作？", "表哥王磊", "job_title"), ("我家有几只猫？", OWNER, "count"),
        ],
    )  # fmt: skip
    def test_present_state(self, question: str, subject: str, attribute: str) -> None:
        assert wanted(question) is Wanted.CURRENT
        assert [(subject_key(one.subject), one.attribute) for one in attributes_asked(question)] == [
            (subject_key(subject), attribute)
        ]

    @pytest.mark.parametrize(
        "question",
        [
            "Where did I live on 10 March 2023?", "As of 3 June 2023, who was my dentist?",
            "Which car was I driving in May 2023?", "What was my rent a year ago?", "In 2022, where did I work?",
            "2023年5月1日我住在哪儿？", "去年五月我在哪里上班？", "2023-05-01 我的手机号是多少？",
        ],
    )  # fmt: skip
    def test_state_at_a_date(self, question: str) -> None:
        assert wanted(question) is Wanted.DATED
        assert attributes_asked(question)

    @pytest.mark.parametrize(
        "question",
        [
            "Where have I lived?", "What was my previous address?", "When did I move to Porto?",
            "What was my first job?",
            "How has my rent changed?", "Where did I live before Porto?", "How long have I lived in Porto?",
            "我以前住在哪里？", "我住过哪些地方？", "我什么时候搬到杭州的？", "我的手机号换过吗？",
            "我的第一份工作是什么？",
        ],
    )  # fmt: skip
    def test_history(self, question: str) -> None:
        assert wanted(question) is Wanted.HISTORY

    @pytest.mark.parametrize(
        "question",
        [
            "What did I buy in May 2024?", "What did I do in March 2023?", "When did we meet in March 2023?",
            "Where did I live when I met Tom?", "Who was my dentist?", "Tell me about my job.", "My phone number?",
            "What do you know about my flat?", "Leeds?", "What is my connection to Leeds?",
            "Do I still live in Leeds?",
            "What would my rent be in Leeds?", "2023年3月我做了什么？", "说说我的工作。",
            "我和杭州有什么关系？", "",
        ],
    )  # fmt: skip
    def test_nothing_is_asked_in_doubt(self, question: str) -> None:
        assert wanted(question) not in (Wanted.CURRENT, Wanted.DATED) or not attributes_asked(question)


@pytest.mark.parametrize(
    "text",
    [
        "I " * 50_000, "I live in A " * 8_000, "A " * 50_000, "'a" * 50_000, "我住在" * 33_000, "1" * 100_000,
        "I. " * 33_000, "\n" * 100_000, "where is my " * 8_000, "2023年" * 20_000, "?" * 100_000,
        "I live in Aa " * 300, "I now now now " * 280, "我" * 3_900, "a " * 140, "我的" * 140,
        "how many " + "a " * 140,
        "so " * 1_300, "my sister " * 390, "(I moved to Aa de la " * 180,
    ],
    ids=lambda text: text[:12].strip() or "blank",
)  # fmt: skip
def test_hostile_text_costs_little(text: str) -> None:
    stated("I live in Cork.", owners_own=True)
    wanted("Where do I live?")
    started = time.perf_counter()
    stated(text, owners_own=True)
    rest(text)
    wanted(text)
    assert time.perf_counter() - started < 0.3


@pytest.mark.parametrize(
    ("question", "subject", "attribute"),
    [
        ("On whose payroll am I these days?", OWNER, "employer"), ("快递应该寄到哪里？", OWNER, "address"),
        ("What town does Nora call home now?", "Nora", "residence"), ("我现在给谁打工？", OWNER, "employer"),
        ("What number should people ring to reach me?", OWNER, "phone"),
        ("表格上我的手机号应该填什么？", OWNER, "phone"),
    ],
)  # fmt: skip
def test_a_state_is_asked_for_in_other_words_than_the_frames(question: str, subject: str, attribute: str) -> None:
    assert wanted(question) is Wanted.CURRENT
    assert [(one.subject, one.attribute) for one in attributes_asked(question)] == [(subject, attribute)]


@pytest.mark.parametrize(
    "question",
    [
        "What should I cook for my sister now?", "Does my landlord's gym still have a sauna?",
        "我和姐姐现在住在哪里？",
        "What should I say to my boss about my salary now?", "Which town do Nora and my sister call home?",
    ],
)  # fmt: skip
def test_cues_among_words_of_another_matter_ask_for_nothing(question: str) -> None:
    assert attributes_asked(question) == ()


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("I quit!", "employer", None), ("I resigned yesterday.", "employer", None),
        ("I quit my job at Acme.", "employer", "Acme"), ("I no longer work at Acme.", "employer", "Acme"),
        ("I don't work at Acme anymore.", "employer", "Acme"), ("I'm no longer vegan.", "diet", "vegan"),
        ("I don't live in Leeds any more, thank God.", "residence", "Leeds"), ("我辞职了。", "employer", None),
        ("I'm not a nurse anymore.", "job_title", "nurse"), ("我不住在南京了。", "residence", "南京"),
        ("I no longer drive the Volvo.", "car", "Volvo"), ("我已经不在云帆科技了。", "employer", "云帆科技"),
        ("Sam and I broke up.", "partner", "Sam"), ("我上周从云帆科技辞职了。", "employer", "云帆科技"),
    ],
)  # fmt: skip
def test_an_end_is_read(text: str, attribute: str, value: str | None) -> None:
    assert stated(text, owners_own=True) == (Statement(OWNER, attribute, value, closes=True),)


@pytest.mark.parametrize(
    "text",
    [
        "I quit smoking.", "I quit the choir.", "If I quit, I'd move.", "I might quit.", "I want to quit my job.",
        "Should I say I quit?", "He said I quit.", "I don't work at night anymore.",
        "I no longer work at weekends.", "老公辞职了，我很担心。",
        "I'm not a morning person anymore.", "我想辞职了。", "我打算辞职。", "我快辞职了。",
        "要是我辞职了怎么办", "我们公司不在云帆大厦了。",
    ],
)  # fmt: skip
def test_what_only_sounds_like_an_end_is_not_read(text: str) -> None:
    assert stated(text, owners_own=True) == ()


def test_an_end_whose_successor_the_message_tells_is_a_change() -> None:
    told = stated("I no longer work at Acme. I work at Bolt now.", owners_own=True)
    assert told == (Statement(OWNER, "employer", "Bolt"),)


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("Correction: my number is 555-0198.", True), ("Sorry, I meant my number is 555-0198.", True),
        ("不对，我住在杭州。", True), ("My new number is 555-0199. No, sorry, I meant 555-0198.", False),
        ("我的新号码是13800000000，不对，是13900000000。", False), ("I moved to Cork.", False),
    ],
)  # fmt: skip
def test_a_correction_of_what_was_said_before_begins_a_message(text: str, does: bool) -> None:
    assert corrects(text) is does
