"""Spec 001, section 7: an agent never sees or changes what is another's, whatever the ids are."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.memory.message import HectorMessage
from hermes_tui.memory.session_service import LoadOptions
from hermes_tui.memory.sql.database import SqlDatabase
from hermes_tui.memory.sql.service import SQLSessionService

NAMES = ["s1", "S1", "s1 ", "default", "a/b", "%", "_", "' OR '1'='1", "ä", "x" * 200]
names = st.sampled_from(NAMES)
steps = st.lists(
    st.tuples(st.sampled_from(["append", "append", "append", "delete", "create"]), names, names, st.integers(1, 4)),
    max_size=14,
)


@examples(40)
@given(steps=steps)
def test_07_random_agents_and_sessions_never_meet(
    database: SqlDatabase, steps: list[tuple[str, str, str, int]]
) -> None:
    expected: dict[tuple[str, str], list[str]] = defaultdict(list)
    services = {name: SQLSessionService(database, name) for name in NAMES}
    for number, (step, agent, session, count) in enumerate(steps):
        key = agent, session
        if step == "append":
            said = [f"{number}.{part} of {agent!r} in {session!r}" for part in range(count)]
            # One id for the same message of all agents: a key that is not the agent's own would show.
            messages = [
                HectorMessage(role="ROLE_USER", text=text, message_id=f"m{len(expected[key]) + part}")
                for part, text in enumerate(said)
            ]
            services[agent].append_messages(session, messages)
            expected[key] += said
        elif step == "delete":
            services[agent].delete_session(session)
            expected.pop(key, None)
        else:
            services[agent].get_or_create_session(session)
    for agent, service in services.items():
        for session in NAMES:
            found = service.get_messages_with_options(session)
            assert [one.text for one in found.messages] == expected.get((agent, session), [])
            last = service.get_messages_with_options(session, LoadOptions(limit=2, roles=("ROLE_USER",)))
            assert [one.text for one in last.messages] == expected.get((agent, session), [])[-2:]
            later = service.get_messages_with_options(session, LoadOptions(from_message_id="m1"))
            assert [one.text for one in later.messages] == expected.get((agent, session), [])[1:]
            assert service.count_messages(session) == len(expected.get((agent, session), []))
        for one in service.sessions():
            service.delete_session(one.id)
