"""A conversation tree in one or more JSONL files, opened along one branch.

All lines are gone through once for their ids; text is decoded for the branch that is shown alone, from its newest
part upwards.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from session_adapters.attachments.outside import blob_path
from session_adapters.model import Attachment, Message
from session_adapters.reading.damaged_places import reading_session, reason_of
from session_adapters.transcript import PAGE, Branch, Change, Transcript, first_difference, part_of
from session_adapters.tree.branches import list_branches
from session_adapters.tree.builder import TreeBuilder
from session_adapters.tree.file import Shown, TreeFile, TreeStore
from session_adapters.tree.messages import SUMMARY
from session_adapters.tree.paths import common_prefix

__all__ = ["TreeTranscript"]


class TreeTranscript(Transcript):
    """See the module. `paths` are all files of the session, in the order in which they count."""

    def __init__(
        self,
        agent: str,
        session_id: str,
        path: str,
        paths: Callable[[], list[str]],
        *,
        page: int = PAGE,
        blobs: Sequence[Path] = (),
    ) -> None:
        """`blobs`: folders of the agent's store of blobs."""
        super().__init__(agent, session_id, path)
        self._blobs = blobs
        self._paths = paths
        self._page = page
        self._pinned: str | None = None
        self._branches: tuple[object, tuple[Branch, ...]] | None = None
        self._followed = 0
        """Nodes of the tree when the branch was last read."""
        with reading_session(agent, session_id, path):
            self._load()

    # Reading -----------------------------------------------------------------------------------------------

    def file_of(self, attachment: Attachment) -> Path | None:
        """See `Transcript.file_of`."""
        return blob_path(self._blobs, attachment)

    def new_store(self, paths: Sequence[str]) -> TreeStore:
        """The session's structure, not yet read. Raises `OSError`."""
        return TreeFile(paths)

    def _load(self) -> None:
        file = self.new_store(self._paths())
        file.read()
        self.file = file
        self._follow()
        self._build(self._page_before(len(self._path)))
        self._followed = len(file.tree)

    def _follow(self) -> None:
        """Set the branch that is shown."""
        tree, leaf = self.file.tree, self.file.leaf()
        pinned = tree.find(self._pinned)
        if pinned is not None:
            leaf = tree.below(pinned)
        self._path = tree.path(leaf)
        # Position on the path → compactions whose kept part begins there: where the agent's view begins.
        places: dict[int, list[int]] = {}
        if shapes := self.file.shapes:
            own = [(place, index) for place, index in enumerate(self._path) if index in shapes]
            begins = {index: self.file.kept_from(shapes[index]) for _, index in own}
            wanted = set(begins.values())
            position = {index: place for place, index in enumerate(self._path) if index in wanted}
            for place, index in own:
                places.setdefault(min(position.get(begins[index], place), place), []).append(index)
        self._kept = places

    def _page_before(self, stop: int, page: int = 0) -> int:
        """Where on the path the page that ends at `stop` begins: at a prompt where one is in reach. It has `page`
        bytes, if that is more than a page has."""
        page = max(page, self._page)
        size, start = 0, stop
        turn = None
        while start > 0 and (size < page or turn is None) and size < 2 * page:
            start -= 1
            size += self.file.spots.length(self._path[start])
            if size <= 2 * page and self.file.is_prompt(self._path[start]):
                turn = start
                if size >= page:
                    break
        return start if start == 0 or turn is None else turn

    def _build(self, start: int, stop: int | None = None) -> None:
        """Read the branch from position `start` on, up to its end or `stop`."""
        builder, first, stop = self.new_builder(), list[int](), len(self._path) if stop is None else stop
        self._read(builder, first, start, stop)
        builder.take_change()
        self._start, self._stop, self._builder, self._first = start, stop, builder, first
        self._publish()

    def new_builder(self) -> TreeBuilder:
        """One for messages of this session."""
        builder = TreeBuilder()
        builder.blobs = self._blobs
        builder.damaged = self.file.damaged[0]
        return builder

    def _publish(self) -> None:
        self.messages = self._builder.messages
        self.complete, self.is_cut = self._start == 0, self._stop < len(self._path)
        self.begins = self._start / max(1, len(self._path))
        self.problems = [
            problem
            for path, damaged in zip(self.file.paths, self.file.damaged, strict=True)
            for problem in damaged.problems(self.agent, path, self.session_id, unit=self.file.unit)
        ]

    def _read(self, builder: TreeBuilder, first: list[int], start: int, stop: int) -> None:
        """Give the builder the positions `start` to `stop`, and note the index of each one's first message. Raises
        `OSError`, and then it was given nothing."""
        found: list[list[Shown]] = []
        with self.file.reading() as shown:
            for place in range(start, stop):
                index = self._path[place]
                own = () if index in self.file.shapes else (index,)
                found.append([shown(one) for one in (*self._kept.get(place, ()), *own)])
        for some in found:
            first.append(len(builder.messages))
            for one in some:
                builder.take(*one)

    def read_on(self, builder: TreeBuilder, start: int, room: int) -> int:
        """Give `builder` what comes on the shown branch from position `start` on, loaded or not, `room` bytes or so;
        where that ends: there too, if nothing is left. Raises `OSError`."""
        stop = start
        while stop < len(self._path) and room > 0:
            room -= self.file.spots.length(self._path[stop])
            stop += 1
        self._read(builder, [], start, stop)
        return stop

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        before = len(self.messages)
        while not self.complete and len(self.messages) <= before:  # a page may hold nothing but settings
            loaded = sum(self.file.spots.length(index) for index in self._path[self._start : self._stop])
            try:
                self._build(self._page_before(self._start, loaded), self._stop)
            except OSError:
                return 0  # `refresh` says that the file is gone
        return len(self.messages) - before

    def let_go(self) -> None:
        """See `Transcript.let_go`."""
        super().let_go()
        self._builder = self.new_builder()

    def load_part(self, step: int) -> bool:
        """See `Transcript.load_part`: a stretch of the branch."""
        if step > 0 and not self.is_cut:
            return False
        before, at = self._path, self._start if step < 0 else self._stop if step else 0
        try:
            if self._paths() != self.file.paths or not self.file.unchanged_so_far():
                return False
            self.file.read()
            if len(self.file.tree) != self._followed:
                self._follow()
            found = self._beside(at, step or 1)
            if not found or (self._path is not before and common_prefix(before, self._path) < at):
                return False
            self._build(found.start, found.stop)
        except OSError:
            return False  # `refresh` says that the file is gone
        self._followed = len(self.file.tree)
        return True

    def _beside(self, at: int, step: int) -> range:
        path, spots, is_prompt = self._path, self.file.spots, self.file.is_prompt
        return part_of(
            len(path), at, step, lambda place: spots.length(path[place]), lambda place: is_prompt(path[place])
        )

    # Following ---------------------------------------------------------------------------------------------

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        try:
            if self._paths() == self.file.paths and self.file.unchanged_so_far():
                grown = self.file.read()
                if len(self.file.tree) != self._followed or self.is_cut:
                    return self._moved()
                if grown:
                    self._publish()
                return Change()
            self._load()
        except FileNotFoundError:
            return Change(gone=True)
        except OSError as error:
            self.problems.append(self.problem(f"cannot be read now: {reason_of(error)}"))
            return Change()
        return Change(first=0, rewritten=True)

    def _moved(self) -> Change:
        """Follow the branch to where it leads now, keeping what is loaded of it. Raises `OSError`, and then all is as
        it was: what could not be read is read the next time."""
        old, old_kept = self._path, self._kept
        self._follow()
        try:
            change = self._read_on(old, old_kept)
        except OSError:
            self._path, self._kept = old, old_kept
            raise
        self._followed = len(self.file.tree)
        return change

    def _read_on(self, old: Sequence[int], old_kept: dict[int, list[int]]) -> Change:
        loaded = list(self._builder.messages)
        shared = common_prefix(old, self._path)
        if shared >= self._stop and all(
            place >= self._stop or old_kept.get(place) == at for place, at in self._kept.items()
        ):
            stop = self._beside(self._stop, 1).stop if self.is_cut else len(self._path)
            self._read(self._builder, self._first, self._stop, stop)
            self._stop = stop
            self._publish()
            return Change(first=self._builder.take_change())
        if self._start > shared or not shared:
            self._build(self._page_before(len(self._path)))
            return Change(first=0, rewritten=True)
        self._build(self._start, min(self._stop, len(self._path)) if self.is_cut else None)
        return Change(first=first_difference(loaded, self.messages))

    # Branches ----------------------------------------------------------------------------------------------

    @property
    def branches(self) -> tuple[Branch, ...]:
        """See `Transcript.branches`. A session with one branch has none to choose from."""
        state = (len(self.file.tree), self._pinned, self._start, self._stop, len(self.messages))
        if self._branches is None or self._branches[0] != state:
            self._branches = (
                state,
                list_branches(self.file, self._path, self._start, self._first, len(self.messages)),
            )
        return self._branches[1]

    def branch_of(self, message_id: str) -> str | None:
        """See `Transcript.branch_of`."""
        tree = self.file.tree
        index = tree.find(message_id.removesuffix(SUMMARY))
        if index is None or index in self._path:
            return None
        return next((tree.nodes.ids[tip] for tip in tree.tips(self.file.leaf()) if index in tree.path(tip)), None)

    def aside(self, text: int) -> list[Message]:
        """What was said on branches that are not shown, in the order of the file. Of what is shown, `text` bytes
        count too."""
        shown = bytearray(len(self.file.tree))  # a set of a long branch would take a hundred times as much
        for index in self._path:
            shown[index] = True
        tree, builder = self.file.tree, self.new_builder()
        builder.text = text
        with self.file.reading() as shown_as:
            for index, spoken in enumerate(tree.nodes.spoken):
                if spoken and not shown[index] and tree.counts(index):
                    builder.take(*shown_as(index))
        return builder.messages

    def every_branch(self) -> Iterator[tuple[float, Sequence[Message]]]:
        """See `Transcript.every_branch`. Raises `OSError`."""
        file, at = self.file, 0
        tree, spots = file.tree, file.spots
        said = array("q", (node for node, spoken in enumerate(tree.nodes.spoken) if spoken and tree.counts(node)))
        with file.reading() as shown:
            while at < len(said):
                some = part_of(
                    len(said), at, 1, lambda one: spots.length(said[one]), lambda one: file.is_prompt(said[one])
                )
                builder, at = self.new_builder(), some.stop
                for one in some:
                    builder.take(*shown(said[one]))
                yield at / len(said), builder.messages

    def switch(self, leaf_id: str) -> Change:
        """See `Transcript.switch`."""
        tree = self.file.tree
        if leaf_id not in {tree.nodes.ids[tip] for tip in tree.tips(self.file.leaf())}:
            return super().switch(leaf_id)
        active = tree.spoken_above(self.file.leaf())
        before = self._pinned
        self._pinned = None if active is not None and tree.nodes.ids[active] == leaf_id else leaf_id
        try:
            return self._moved()
        except OSError as error:
            self._pinned = before
            raise LookupError(f"cannot read {self.path}: {error.strerror or error}") from error
