"""What the Pi and omp adapters share: files, summaries, forks.

Format: spec 004 §4.2.7 and §4.2.8.

Layouts, told apart by what is in the files: a session per file in a folder per directory (real), a folder per
session with one or more files (the document's).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from session_adapters.base import Adapter, Report, Root, SessionMissing, SessionUnreadable, Source, unique
from session_adapters.growing.counter import Begun, LinesCounter, Pairs
from session_adapters.model import Problem, Session, SessionSummary
from session_adapters.reading.damaged_places import REPORTED
from session_adapters.reading.folders import file_source, is_directory, is_file
from session_adapters.reading.searchable import Text
from session_adapters.transcript import PAGE
from session_adapters.tree.end import PAGE_END, TreeEnd, tells_step
from session_adapters.tree.ends import gather, header_id, named_id, probe, stem_id
from session_adapters.tree.follower import BranchReader, branched_texts
from session_adapters.tree.summary import TreeCounts, relate_files
from session_adapters.tree.transcript import TreeTranscript
from session_adapters.usage import Usage, unpacked

__all__ = ["DOCUMENT", "FILE", "FOLDER", "TreeAdapter"]

FILE = "file"
FOLDER = "folder"
"""Layouts of a `Source`; what a folder holds is found out when it is read."""
DOCUMENT = "document"
"""`raw["layout"]` of a session in the document's layout."""


class TreeAdapter(Adapter):
    """See the module."""

    grows_alone = True

    # Finding -----------------------------------------------------------------------------------------------

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`. Nothing but directories is read."""
        yield from unique(self._walk(report))

    def _walk(self, report: Report) -> Iterator[Source]:
        for root in self.roots():
            for entry in self._listed(root.path, report):
                if entry.name.endswith(".jsonl") and not is_directory(entry):
                    yield from self._file(entry, root, report)
                elif is_directory(entry):
                    yield from self._folder(entry, root, report)

    def _folder(self, folder: os.DirEntry[str], root: Root, report: Report) -> Iterator[Source]:
        """A folder of sessions, or one session's folder: the file names tell in which way to look."""
        entries = self._listed(Path(folder.path), report)
        files = [entry for entry in entries if entry.name.endswith(".jsonl") and not is_directory(entry)]
        if files and not any(named_id(entry.name) for entry in files):
            yield from self._whole_folder(folder, files, root, report)
        else:
            for entry in files:
                yield from self._file(entry, root, report)
        for entry in entries:
            if is_directory(entry):
                yield from self.inside(entry, root, report)

    def inside(self, folder: os.DirEntry[str], root: Root, report: Report) -> Iterator[Source]:
        """Sources in a folder beside session files; Pi has none there."""
        return iter(())

    def _listed(self, path: Path, report: Report) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(path) as found:
                return sorted(found, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            report(Problem(agent=self.name, path=str(path), reason=f"cannot be listed: {error.strerror or error}"))
            return []

    def _file(self, entry: os.DirEntry[str], root: Root, report: Report) -> Iterator[Source]:
        source = self.file_source(entry.path, root, report)
        if source is not None:
            yield source

    def file_source(self, path: str, root: Root, report: Report) -> Source | None:
        """The source for one session file; None when it vanished or is no file that can be read (reported)."""
        reason = ""
        try:
            status = os.stat(path)  # noqa: PTH116 - ten thousand times for one list
            if not stat.S_ISREG(status.st_mode):
                reason = "is not a regular file"
        except FileNotFoundError:
            if not Path(path).is_symlink():
                return None
            reason = "is a link to a file that is not there"
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
        if reason:
            report(Problem(agent=self.name, path=path, reason=reason))
            return None
        session_id = named_id(path)
        place = {"root": str(root.path), "layout": FILE, "profile": root.profile}
        return file_source(self.name, path, status, session_id=session_id, **place)

    def _whole_folder(
        self, folder: os.DirEntry[str], files: Sequence[os.DirEntry[str]], root: Root, report: Report
    ) -> Iterator[Source]:
        found = [source for entry in files for source in self._file(entry, root, report)]
        try:
            status = folder.stat()
        except OSError:
            return  # vanished
        if found:
            yield Source(
                agent=self.name,
                path=folder.path,
                stamp=(status.st_dev, status.st_ino, *(number for source in found for number in source.stamp)),
                session_id=folder.name,
                root=str(root.path),
                layout=FOLDER,
                profile=root.profile,
                size=sum(source.size for source in found),
                modified=max(source.modified for source in found),
            )

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`. A name that does not tell the id makes it look at the first lines of files."""
        if not session_id:
            return None
        listed = list(self.sources(lambda problem: None))
        named = [source for source in listed if session_id in (source.session_id, Path(source.path).stem)]
        if len(named) > 1:  # the one that the list gives this name
            every = [one for source in named for one in self.summaries(source, lambda problem: None)]
            paths = {one.path for one in relate_files(every) if one.session_id == session_id}
            named = [source for source in named if source.path in paths] or named
        if named:
            return named[0]
        for source in listed:
            if any(header_id(path) == session_id for path in self._paths(source)):
                return source
        return None

    def other_names(self, summary: SessionSummary) -> Collection[str]:
        """See `Adapter.other_names`: the name of the file."""
        return (Path(summary.path).stem,)

    def _paths(self, source: Source) -> list[str]:
        if source.layout != FOLDER:
            return [source.path]
        found = self._listed(Path(source.path), lambda problem: None)
        return [entry.path for entry in found if entry.name.endswith(".jsonl") and is_file(entry)]

    def header_of(self, source: Source) -> tuple[str, str] | None:
        """(id, working directory) by the header of a session file."""
        counts = probe(source.path) if source.layout != FOLDER else None
        if counts is None or counts.header is None:
            return None
        return counts.header.id or stem_id(source.path), counts.header.cwd or ""

    # Summaries ---------------------------------------------------------------------------------------------

    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        """See `Adapter.summaries`."""
        return [summary for summary, _ in self._counted(source, report, exact=exact)]

    def counter(self, source: Source) -> LinesCounter[TreeCounts]:
        """See `Adapter.counter`."""
        return LinesCounter(
            self._begin,
            lambda one, report: self._counted(one, report, exact=True),
            lambda counted: chain.from_iterable(counts.packs(summary) for summary, counts in counted),
        )

    def _begin(self, source: Source, fd: int, size: int) -> Begun[TreeCounts]:
        counts = TreeCounts()
        return Begun(counts, lambda one, size, report: self._summed(one, counts, report))

    def _summed(self, source: Source, counts: TreeCounts, report: Report) -> Pairs[TreeCounts] | None:
        """As `_counted`, of one file of entries."""
        if counts.goes_elsewhere or not counts.is_session:
            return None
        summary = self._summary(source, source.path, counts, partial=False)
        self._report_damage(source.path, counts, summary.session_id, report)
        counts.let_go()
        return [(self.placed(source, summary), counts)]

    def _counted(self, source: Source, report: Report, *, exact: bool) -> list[tuple[SessionSummary, TreeCounts]]:
        """The sessions in `source`, each with what was gathered of it."""
        found: list[tuple[SessionSummary, TreeCounts]] = []
        document, parts, cut = TreeCounts(), 0, False
        session_id = source.session_id
        for path in self._paths(source):
            counts = TreeCounts()
            try:
                whole = gather(path, counts, exact=exact)
                if counts.is_document:
                    parts += 1
                    cut = cut or not whole
                    gather(path, document, exact=exact)
                elif counts.is_session:
                    found.append((self._summary(source, path, counts, partial=not whole), counts))
                    session_id = found[-1][0].session_id
                elif counts.damaged:
                    self._report(report, path, "holds no session that can be read")
                    continue
                self._report_damage(path, counts, session_id, report)
            except OSError as error:
                self._report(report, path, f"cannot be read: {error.strerror or error}")
        if parts:
            summary = document.summary(
                self.name,
                source.session_id if source.layout == FOLDER else Path(source.path).stem,
                profile=source.profile,
                partial=cut,
                path=source.path,
                size=source.size,
                raw={"layout": DOCUMENT, "files": parts},
            )
            found.append((summary, document))
        return [(self.placed(source, summary), counts) for summary, counts in found]

    def placed(self, source: Source, summary: SessionSummary) -> SessionSummary:
        """The summary with what the place of its file says; Pi's says nothing."""
        return summary

    def _report_damage(self, path: str, counts: TreeCounts, session_id: str, report: Report) -> None:
        for place, reason in counts.damaged.places(limit=REPORTED):
            self._report(report, path, reason, place, session_id)

    def _report(self, report: Report, path: str, reason: str, place: str = "", session_id: str = "") -> None:
        report(Problem(agent=self.name, path=path, reason=reason, place=place, session_id=session_id))

    def _summary(self, source: Source, path: str, counts: TreeCounts, *, partial: bool) -> SessionSummary:
        header = counts.header
        raw: dict[str, object] = {"layout": "session"}
        if header is not None:
            raw["version"] = header.version if header.version is not None else 1
            if header.parent_session:
                raw["parentSession"] = header.parent_session
        size = source.size
        if source.layout == FOLDER:  # then it is that of all files in it
            try:
                size = Path(path).stat().st_size
            except OSError:  # removed since: reading it says so
                size = 0
        return counts.summary(
            self.name,
            (header.id if header is not None else None) or stem_id(path),
            profile=source.profile,
            partial=partial,
            path=path,
            size=size,
            raw=raw,
            kind="fork" if header is not None and header.parent_session else "session",
        )

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """See `Adapter.relate`."""
        return relate_files(summaries)

    def usage(self, source: Source, report: Report, session_ids: Collection[str] | None = None) -> Iterator[Usage]:
        """See `Adapter.usage`: of all branches, and what entries that are no messages spent."""
        problems: list[Problem] = []
        found = self._counted(source, problems.append, exact=True)
        for summary, counts in found:
            if session_ids is None or {summary.session_id, Path(summary.path).stem}.intersection(session_ids):
                yield from unpacked(counts.packs(summary))
        for problem in () if found else problems:
            report(problem)

    # Reading -----------------------------------------------------------------------------------------------

    def open(self, source: Source, session_id: str) -> TreeTranscript:
        """See `Adapter.open`."""
        return self._open(source, session_id, PAGE)

    def open_end(self, source: Source, session_id: str) -> TreeTranscript:
        """See `Adapter.open_end`."""
        end = self._open(source, session_id, PAGE_END, TreeEnd)
        return end if tells_step(end) else self.open(source, session_id)

    def _open(
        self, source: Source, session_id: str, page: int, kind: type[TreeTranscript] = TreeTranscript
    ) -> TreeTranscript:
        if not session_id or not Path(source.path).exists():
            raise SessionMissing(f"{self.name} session {session_id}: {source.path} is not there any more")
        for path in self._paths(source):
            if session_id in (header_id(path), stem_id(path), Path(path).stem):
                only: partial[list[str]] = partial(list, [path])
                return kind(self.name, session_id, path, only, page=page, blobs=self.blobs())
        if source.layout == FOLDER and session_id == source.session_id:
            return TreeTranscript(self.name, session_id, source.path, partial(self._documents, source), page=page)
        raise SessionMissing(f"{self.name} session {session_id} is not in {source.path}")

    def blobs(self) -> Sequence[Path]:
        """Folders of the agent's store of blobs; Pi has none."""
        return ()

    def _documents(self, source: Source) -> list[str]:
        """The files of a folder that have the document's shape."""
        found = [path for path in self._paths(source) if header_id(path) == ""]
        if not found:
            raise FileNotFoundError(source.path)
        return found

    def session_texts(self, source: Source, session_id: str) -> Iterator[Text]:
        """See `Adapter.session_texts`."""
        return branched_texts(session_id, self._open(source, session_id, 1))  # at its end: the rest comes by pages

    def text_reader(self, source: Source) -> BranchReader | None:
        """See `Adapter.text_reader`. The files of a folder come and go."""
        found = list(self.searched(source, lambda problem: None)) if source.layout == FILE else []
        if len(found) != 1:
            return None
        return BranchReader(found[0], lambda: self._open(source, found[0], 1))

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`."""
        transcript = self._open(source, session_id, 1 << 62)
        for summary in self.summaries(source, lambda problem: None, exact=True):
            if session_id in (summary.session_id, Path(summary.path).stem):
                break
        else:
            raise SessionUnreadable(f"{source.path} holds no {self.name} session that can be read")
        tree, leaf = transcript.file.tree, transcript.file.leaf()
        raw = {
            **summary.raw,
            "leaf": tree.nodes.ids[leaf] if leaf is not None else None,
            "tree": [[node.id, node.parent] for node in tree.nodes],
            "leaves": [tree.nodes.ids[tip] for tip in tree.tips(leaf)],
        }
        return Session.of(summary, transcript.messages, raw=raw, session_id=session_id)
