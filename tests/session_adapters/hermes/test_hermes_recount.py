"""A database that is written to is summed up by what changed in it, and comes to the same as all of it."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chances import TIMES, chance
from hermes_store import Store, adapter_for
from oracle.hermes import Oracle, OracleError
from recounts import counting, whole
from session_adapters.base import Environment
from session_adapters.hermes import session_queries, summaries
from session_adapters.hermes.adapter import HermesAdapter
from session_adapters.usage import Usage

STEPS = 40
USED = {"input_tokens": 7, "output_tokens": 3, "estimated_cost_usd": 0.01, "cost_status": "estimated"}


@pytest.fixture(params=[32, 1], ids=["few changed", "many changed"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "FEW", request.param)


def spent(adapter: HermesAdapter, session_ids: list[str] | None = None) -> list[Usage]:
    (source,) = adapter.sources(lambda problem: None)
    return list(adapter.usage(source, lambda problem: None, session_ids))


def step(hermes: Oracle, dice: random.Random, ids: list[str]) -> None:
    """Something that Hermes does."""

    def said(number: int) -> list[dict[str, Any]]:
        return [
            {"role": dice.choice(("user", "assistant")), "content": f"{number} of new"} for number in range(number)
        ]

    session, done = dice.choice(ids), dice.random()
    messages = [one["id"] for one in hermes.db("get_messages", session, include_inactive=True)]
    if done < 0.1:
        parent = {"parent_session_id": session} if dice.random() < 0.7 else {}
        ids.append(
            hermes.db("create_session", f"s{len(ids)}", dice.choice(("cli", "telegram", "subagent")), **parent)
        )
    elif done < 0.5 or not messages:
        role = dice.choice(("user", "assistant", "tool"))
        hermes.db("append_message", session, role=role, content=f"message {len(messages)}")
    elif done < 0.6:
        hermes.db("update_token_counts", session, model=dice.choice(("one", "other")), api_call_count=1, **USED)
    elif done < 0.68:
        hermes.db("rewind_to_message", session, dice.choice(messages))
    elif done < 0.74:
        hermes.db("restore_rewound", session, dice.choice(messages))
    elif done < 0.8:
        hermes.db("archive_and_compact", session, said(2))
    elif done < 0.86:
        hermes.db("replace_messages", session, said(3))
    elif done < 0.92:
        hermes.db("end_session", session, dice.choice(("compression", "branched", "user_exit")))
    elif done < 0.94:
        hermes.db("set_session_title", session, f"Title {dice.random()}")
    elif done < 0.97:
        hermes.db("reopen_session", session)
    elif len(ids) > 3:
        hermes.db("delete_session", session)
        ids.remove(session)


@pytest.mark.usefixtures("few")
def test_what_hermes_changed_comes_to_the_same_as_all_of_it(tmp_path: Path) -> None:
    for seed in range(2 * TIMES):
        home, dice = tmp_path / str(seed), chance(seed)
        with Oracle(home) as hermes:
            hermes.open()
            ids = [hermes.db("create_session", f"first {number}", "cli") for number in range(3)]
            adapter = HermesAdapter(Environment(home=home, variables={"HERMES_HOME": str(home)}))
            count = counting(adapter)
            for number in range(STEPS):
                for _ in range(dice.choice((1, 1, 1, 6))):
                    try:
                        step(hermes, dice, ids)
                    except OracleError as error:  # a message that is no prompt, an end that is there already
                        assert str(error).partition(":")[0] in ("ValueError", "IntegrityError")
                assert count() == whole(adapter), (seed, number)
                session = dice.choice(ids)
                assert spent(adapter, [session]) == [one for one in spent(adapter) if one.session_id == session]


def test_only_what_changed_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message had the rows of all sessions read: 0.6 s with 43,000 of them."""
    store = Store(tmp_path)
    read: list[str | None] = []
    take_census = session_queries.take_census

    def noted(connection: Any, note: Any, session_id: str | None = None) -> Any:
        read.append(session_id)
        return take_census(connection, note, session_id)

    monkeypatch.setattr(summaries, "take_census", noted)
    with closing(store.connection):
        for number in range(50):
            store.session(f"s{number}")
            store.say(f"s{number}", "user", "hello")
        count = counting(store.adapter)
        for expected in ([None], []):
            count()
            assert read == expected
            read.clear()
        store.say("s7", "assistant", "hello")
        store.connection.execute("UPDATE sessions SET title = 'new' WHERE id = 's9'")
        # The column is empty in messages of before it came.
        store.connection.execute("UPDATE messages SET active = 0 WHERE session_id = 's11'")
        assert count() == whole(adapter_for(tmp_path))
        assert sorted(map(str, read)) == ["s11", "s7", "s9"]


def test_what_does_not_add_up_is_counted_whole(tmp_path: Path) -> None:
    """A message of nobody's, a text that is too long for a list: it is said each time."""
    store = Store(tmp_path)
    with closing(store.connection):
        store.session("one")
        count = counting(store.adapter)
        count()
        for spoil in (
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('nobody', 'user', 'x', 1)",
            "UPDATE sessions SET model_config = hex(zeroblob(600000))",
            "UPDATE sessions SET id = x'ff' WHERE id = 'one'",
        ):
            store.connection.execute(spoil)
            for _ in range(2):
                told = count()
                assert told == whole(adapter_for(tmp_path))
                assert told[1]
