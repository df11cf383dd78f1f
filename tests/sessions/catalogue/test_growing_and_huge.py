"""Checklist R-2 (a store that grows while it is read) and R-7 (a session of 300 MB in bounded memory)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from session_adapters.model import Session
from spending import Spender

Store = Callable[..., Path]
Told = list[tuple[str, str]]

APPENDED_TO = ("claude", "codex", "copilot", "omp", "pi")
"""Agents that write a line after the other."""
MEGABYTE = 1 << 20


def told(session: Session) -> Told:
    """Who said what. The outputs of tools are left out: they come to a message that is there already."""
    return [(message.role, message.content) for message in session.messages]


def branches(path: Path) -> bool:
    """Whether two records follow the same one: what is cut off may be the branch that is shown."""
    followed = [json.loads(line).get("parentId") for line in path.read_text().splitlines()]
    named = [parent for parent in followed if parent is not None]
    return len(named) > len(set(named))


def longest(manager: SessionManager, agent: str) -> tuple[str, Path]:
    """Id and file of the session with the most messages, one after the other."""
    found = [one for one in manager.list(agent, limit=None) if not one.parent_id and not branches(Path(one.path))]
    one = max(found, key=lambda one: one.message_count)
    return one.session_id, Path(one.path)


def is_prefix(some: Told, whole: Told) -> bool:
    """The last message may be half of what it becomes: agents write an answer in several lines."""
    return some[:-1] == whole[: max(0, len(some) - 1)] and len(some) <= len(whole)


@pytest.mark.parametrize("agent", APPENDED_TO)
def test_r_2_a_session_that_is_cut_anywhere_is_the_beginning_of_the_whole(
    agent: str, store: Store, tmp_path: Path
) -> None:
    home = store(agent, "home")
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", agents=[agent], indexed=False)
    session_id, path = longest(manager, agent)
    data = path.read_bytes()
    session = manager.get(agent, session_id)
    whole, warnings = told(session), session.warnings
    assert len(whole) > 3
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    cuts = [end - back for end in ends[len(ends) // 2 :] for back in (0, 1, 2, 40)][-60:]
    lengths = set()
    for cut in cuts:
        path.write_bytes(data[:cut])
        session = manager.get(agent, session_id)
        some = told(session)
        assert is_prefix(some, whole), cut
        assert session.warnings <= warnings, "what is being written is not damaged"
        lengths.add(len(some))
        path.write_bytes(data[:cut].removesuffix(b"\n"))
        assert told(manager.get(agent, session_id)) == some, "a line that lacks only its newline is all there"
        manager.total_cost()
        manager.diff((agent, session_id), (agent, session_id))
        assert [json.loads(line) for line in manager.export(agent, session_id, "jsonl").splitlines()]
    assert len(lengths) > 1


@pytest.mark.parametrize("agent", APPENDED_TO)
def test_r_2_a_session_that_is_written_meanwhile(agent: str, store: Store, tmp_path: Path) -> None:
    home = store(agent, "home")
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", agents=[agent], indexed=False)
    session_id, path = longest(manager, agent)
    data = path.read_bytes()
    whole = told(manager.get(agent, session_id))
    begun = data.index(b"\n", len(data) // 3) + 1
    path.write_bytes(data[:begun])

    looked = threading.Semaphore(2)

    def write() -> None:
        """Pieces that end anywhere, none before the reader has looked again."""
        with path.open("ab", buffering=0) as file:
            step = max(1, (len(data) - begun) // 23)
            for at in range(begun, len(data), step):
                looked.acquire(timeout=180)
                file.write(data[at : at + step])

    writer = threading.Thread(target=write)
    writer.start()
    sizes = []
    while True:
        last = not writer.is_alive()
        some = told(manager.get(agent, session_id))
        assert is_prefix(some, whole)
        sizes.append(len(some))
        if last:
            break
        looked.release()
    writer.join(60)
    assert some == whole
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 1


def test_r_2_a_torn_line_counts_when_it_is_whole(tmp_path: Path) -> None:
    spender = Spender(tmp_path / "home")
    path = spender.session("one", {"input": 1_000_000}, {"input": 1_000_000})
    data = path.read_bytes()
    manager = spender.manager()
    path.write_bytes(data[:-30])
    assert manager.total_cost().total_usd == pytest.approx(1.0)
    path.write_bytes(data)
    assert manager.total_cost().total_usd == pytest.approx(2.0)


MEASURED = dedent(
    """
    import json, re, sys
    from pathlib import Path
    from hermes_tui.sessions.export import export
    from hermes_tui.sessions.manager import SessionManager
    from session_adapters.base import Environment

    manager = SessionManager(Environment(home=Path(sys.argv[1])), agents=["claude"], indexed=False)
    peaks = {}

    def note(what):
        # The most it ever had; `getrusage` would begin with what the process had that started this one.
        peaks[what] = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

    manager.get("claude", "small")
    manager.total_cost(model="none")
    note("start")
    assert len(manager.list("claude")) == 2
    note("list")
    assert manager.open("claude", "huge").messages[-1].tool_result is not None
    note("open")
    assert manager.total_cost().call_count > 2000
    note("cost")
    session = manager.get("claude", "huge")
    assert len(session.messages) > 4000
    note("get")
    assert sum(map(len, export(session, "markdown"))) > 100_000_000
    note("export")
    print(json.dumps(peaks))
    """
)


def write_huge(path: Path) -> None:
    """Append 300 MB. As Claude Code does it, each result of a tool stands in its line twice."""
    output = "a line of what a tool printed\n" * 2000
    written = 0
    with path.open("a") as file:
        for number in range(300 * MEGABYTE):
            at = f"2026-03-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
            common = {"sessionId": "huge", "cwd": "/srv/shop", "version": "2.1.0", "timestamp": at}
            call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "make"}}
            usage = {"input_tokens": 10, "output_tokens": 10}
            answer = {"id": f"m{number}", "role": "assistant", "model": "claude-haiku-4-5", "usage": usage}
            message = {**answer, "content": [call]}
            asked = {"type": "assistant", "uuid": f"b{number}", **common, "message": message}
            printed = f"{number} {output}"
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": printed}
            answered = {"type": "user", "uuid": f"c{number}", **common, "toolUseResult": {"stdout": printed}}
            told = {**answered, "message": {"role": "user", "content": [result]}}
            written += file.write(f"{json.dumps(asked)}\n{json.dumps(told)}\n")
            if written >= 300 * MEGABYTE:
                return


def test_r_7_a_session_of_300_megabytes(tmp_path: Path) -> None:
    """Of what is not shown nothing is kept, and of text that stands there twice one copy: 150 MB."""
    spender = Spender(tmp_path / "home")
    spender.session("small", {"input": 1})
    write_huge(spender.session("huge", {"input": 1}))
    argv = [sys.executable, "-c", MEASURED, str(spender.home)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    peaks = {what: peak - json.loads(done.stdout)["start"] for what, peak in json.loads(done.stdout).items()}
    assert peaks["list"] < 16
    assert peaks["open"] < 32
    assert peaks["cost"] < 48
    assert peaks["get"] < 220
    assert peaks["export"] < peaks["get"] + 16
