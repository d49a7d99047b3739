"""A chain is the same for every order of arrival, and its links follow one another without a gap."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pgrecall.versions.chains import Said, chains
from pgrecall.versions.statements import OWNER, Statement, subject_key, value_key

START = datetime(2023, 1, 1, tzinfo=UTC)
statements = st.builds(
    Statement,
    subject=st.sampled_from([OWNER, "my sister", "sister"]),
    attribute=st.sampled_from(["residence", "car", "pet"]),
    value=st.none() | st.sampled_from(["Leeds", "leeds", "Porto", "old Porto"]),
    relative=st.booleans(),
    closes=st.booleans(),
)


@st.composite
def logs(draw: st.DrawFn) -> list[Said]:
    """Statements said at moments of their own, in the order in which they arrived."""
    told = draw(st.lists(statements, max_size=8))
    moments = draw(st.permutations(range(len(told))))
    return [
        Said(one, START + timedelta(days=at), n, n) for n, (one, at) in enumerate(zip(told, moments, strict=True))
    ]


@given(logs(), st.data())
def test_chain_is_the_same_for_every_order_of_arrival(log: list[Said], data: st.DataObject) -> None:
    arrived = data.draw(st.permutations(log))
    renumbered = [Said(one.statement, one.at, order, one.memory) for order, one in enumerate(arrived)]
    assert chains(renumbered) == chains(log)


@given(logs(), st.data())
def test_order_in_which_they_are_read_changes_nothing(log: list[Said], data: st.DataObject) -> None:
    one_moment = [
        Said(one.statement, data.draw(st.sampled_from([None, START])), one.order, one.memory) for one in log
    ]
    assert chains(data.draw(st.permutations(one_moment))) == chains(one_moment)


@given(logs())
def test_links_follow_one_another(log: list[Said]) -> None:
    for (subject, attribute), links in chains(log).items():
        assert links
        for link, following in pairwise(links):
            assert link.until is not None
            assert following.since is not None
            assert link.until <= following.since
            assert link.closed or link.until == following.since
        assert all((link.subject, link.attribute) == (subject, attribute) for link in links)
        assert links[-1].until is None or links[-1].closed
        assert all(bool(link.ended_by) == link.closed for link in links)


@given(logs())
def test_every_memory_of_a_link_states_its_value(log: list[Said]) -> None:
    by_memory = {one.memory: one.statement for one in log}
    seen = [
        memory for links in chains(log).values() for link in links for memory in (*link.memories, *link.ended_by)
    ]
    assert len(seen) == len(set(seen))
    for (subject, attribute), links in chains(log).items():
        for link in links:
            for memory in link.memories:
                statement = by_memory[memory]
                assert (subject_key(statement.subject), statement.attribute) == (subject, attribute)
                assert value_key(statement.value or "") == value_key(link.value or "")
