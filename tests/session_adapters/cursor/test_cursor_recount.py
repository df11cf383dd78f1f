"""The editor's database is summed up by the conversations that changed, and comes to the same as all of it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from chances import TIMES, chance
from cursor_store import Editor, adapter_for
from recounts import counting, whole
from sample_homes import quiet
from session_adapters.cursor.editor_store.composers import ComposerReader
from session_adapters.reading.searchable import Text

STEPS = 40


def write(editor: Editor, dice: random.Random, step: int) -> None:
    """Something that the editor does, or that was done to its database."""
    run, name, done = editor.connection.execute, f"c{dice.randrange(4)}", dice.random()
    headers = editor.headers.get(name, [])
    if not headers or done < 0.55:
        tokens = {"inputTokens": dice.randrange(10, 99), "outputTokens": 1}
        editor.bubble(name, dice.choice((1, 2)), f"words {step}", tokenCount=tokens)
    elif done < 0.75:  # as long as it was
        bubble = dice.choice(headers)
        facts = {"type": bubble["type"], "bubbleId": bubble["bubbleId"], "text": f"other {dice.randrange(10, 99)}"}
        editor.put(f"bubbleId:{name}:{bubble['bubbleId']}", facts)
    elif done < 0.8:
        run("DELETE FROM cursorDiskKV WHERE key = ?", (f"bubbleId:{name}:{dice.choice(headers)['bubbleId']}",))
    elif done < 0.85:
        editor.put(f"bubbleId:{name}:{dice.choice(headers)['bubbleId']}", "{half a")
    elif done < 0.93:
        status = dice.choice(("completed", "error", "aborted"))
        editor.composer(name, name=f"Title {step}", status=status, subComposerIds=[f"c{dice.randrange(4)}"])
    elif done < 0.97:
        where = {"uri": {"fsPath": f"/srv/{step}"}}
        listed: dict[str, Any] = {"allComposers": [{"composerId": name, "workspaceIdentifier": where}]}
        editor.put("composer.composerHeaders", listed, "ItemTable")
    else:
        editor.headers.pop(name)
        run("DELETE FROM cursorDiskKV WHERE key = ?", (f"composerData:{name}",))


@pytest.mark.parametrize("seed", range(3 * TIMES))
def test_what_changed_comes_to_the_same_as_all_of_it(seed: int, tmp_path: Path) -> None:
    editor, dice = Editor(tmp_path), chance(seed)
    count = counting(editor.adapter)
    for step in range(STEPS):
        for _ in range(dice.choice((1, 1, 1, 8))):
            write(editor, dice, step)
        assert count() == whole(adapter_for(tmp_path)), step


def test_only_what_changed_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor, dice = Editor(tmp_path), chance(1)
    for name in ("c0", "c1", "c2", "c3"):
        for number in range(5):
            editor.bubble(name, 1 + number % 2, f"words {dice.random()}")
    read: list[str] = []
    contents = ComposerReader.contents

    def noted(reader: ComposerReader, *given: Any) -> Any:
        read.append(reader.facts.id)
        return contents(reader, *given)

    monkeypatch.setattr(ComposerReader, "contents", noted)
    count = counting(editor.adapter)
    count()
    assert set(read) == {"c0", "c1", "c2", "c3"}
    read.clear()
    count()
    assert read == []
    editor.bubble("c1", 2, "more")
    count()
    assert set(read) == {"c1"}


@pytest.mark.parametrize("seed", range(2 * TIMES))
def test_what_is_new_makes_up_all_texts(seed: int, tmp_path: Path) -> None:
    editor, dice = Editor(tmp_path), chance(seed)
    adapter, marks, texts = editor.adapter, dict[str, str](), dict[str, list[Text]]()
    for step in range(STEPS):
        for _ in range(dice.choice((1, 1, 1, 8))):
            write(editor, dice, step)
        (source,) = [one for one in adapter.sources(quiet) if one.path == str(editor.path)]
        found = {one.session_id: (one, list(one.texts)) for one in adapter.new_texts(source, quiet, marks) or ()}
        texts = {key: some if one.whole else texts[key] for key, (one, some) in found.items()}
        marks = {key: one.mark for key, (one, _) in found.items()}
        fresh = adapter_for(tmp_path)
        together = [text for some in texts.values() for text in some]
        assert sorted(together) == sorted(fresh.texts(source, quiet)), step
        again = list(adapter.new_texts(source, quiet, marks) or ())
        assert again and not any(one.whole or list(one.texts) for one in again)


def test_drafts_are_not_read_for_the_index(tmp_path: Path) -> None:
    """Each was opened for nothing: 55,000 of them took a first index 83 s."""
    editor = Editor(tmp_path)
    for number in range(50):
        editor.composer(f"draft-{number}")
    editor.bubble("said", 1, "hello")
    editor.put("composerData:deleted", None)
    editor.put("composerData:damaged", "{")
    new = list(editor.adapter.new_texts(editor.source(), quiet, {}) or ())
    assert {one.session_id for one in new} == {"said", "damaged"}  # the latter is reported as it is read
    assert [text.prose for one in new for text in one.texts] == ["hello"]


def test_more_conversations_than_a_list_has_are_left_to_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = Editor(tmp_path)
    editor.bubble("said", 1, "hello")
    monkeypatch.setattr("session_adapters.reading.bounds.LIST_SECONDS", 0.0)
    assert editor.adapter.new_texts(editor.source(), quiet, {}) is None
