"""Files that are appended to, and others in their places."""

from __future__ import annotations

import os
from pathlib import Path

from session_adapters.growing.file import GrowingFile
from session_adapters.reading.files import open_file
from session_adapters.reading.lines import BLOCK


def test_one_that_is_written_anew_while_it_is_read_does_not_go_on(tmp_path: Path) -> None:
    """What was read ends nowhere in it, so that nothing there could be compared: a longer file with the same header
    counted as what came after."""
    path = tmp_path / "session.jsonl"
    header = b'{"id":"%s"}\n' % (b"x" * 500)
    path.write_bytes(header)
    with open_file(path) as fd:
        file = GrowingFile(fd)
        assert len(list(file.new(fd, len(header)))) == 1
        with path.open("r+b") as writer:
            writer.write(header + b'{"n":1}\n' * BLOCK)
            writer.flush()
            status = os.fstat(fd)
            assert file.goes_on(fd, status)
            for read, _ in enumerate(file.new(fd, status.st_size)):
                if read == 0:
                    writer.truncate(len(header))
            writer.seek(len(header))
            writer.write(b'{"m":10}\n' * BLOCK)
        assert os.fstat(fd).st_size > status.st_size
        assert not file.goes_on(fd, os.fstat(fd))
