"""Reads attachments outside a record: in a store of blobs, or in a named file.

What a transcript names is not to be trusted. A blob is read by its hash alone, and must have it. A file is read only
where somebody asks for that very one, is never followed over a link at its end, and only a picture comes of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

from msgspec.structs import replace

from session_adapters.attachments.image_header import image_type
from session_adapters.model import Attachment
from session_adapters.reading.files import read_small

__all__ = ["blob_measured", "blob_path", "file_place", "read_blob", "read_named"]

LIMIT = 64 << 20
"""Bytes of a file that is read."""
_BLOB = re.compile(r"blob:sha256:([a-f0-9]{64})")
"""As omp's `parseBlobRef` has it: nothing else becomes a part of a path."""
_FILE_URL = re.compile(r"file://(?:localhost)?(?=/)", re.IGNORECASE)
_LONGEST = 4096  # PATH_MAX of Linux, so what is longer is no path


def file_place(name: str) -> str:
    """The absolute path that a `file:` URL of this machine or a path names; empty for anything else."""
    found = _FILE_URL.match(name)
    path = unquote(name[found.end() :]) if found is not None else name
    if len(path) > _LONGEST or "\0" in path or not path.startswith("/") or path.startswith("//"):
        return ""
    return path


def blob_path(folders: Sequence[Path], attachment: Attachment) -> Path | None:
    """The file of a blob, in the first of the folders that has one; None where there is none."""
    found = _BLOB.fullmatch(attachment.place)
    paths = [folder / found[1] for folder in folders] if found is not None else []
    return next((path for path in paths if path.is_file() and not path.is_symlink()), None)


def blob_measured(folders: Sequence[Path], attachment: Attachment) -> Attachment:
    """The same with the size of its blob, which stands in no record, in place of its hash."""
    path = blob_path(folders, attachment)
    with suppress(OSError):  # gone meanwhile
        return replace(attachment, name="", size=path.stat().st_size) if path is not None else attachment
    return attachment


def read_blob(path: Path) -> bytes:
    """The bytes of a blob that is named by its hash. Raises `OSError`, also where they have another."""
    data = read_small(path, LIMIT)
    if sha256(data).hexdigest() != path.name:
        raise OSError(f"not what its name says: {path}")
    return data


def read_named(path: str) -> bytes:
    """The picture in a file that a transcript names. Raises `OSError`, also where it is a link or no picture."""
    if os.path.islink(path):  # noqa: PTH114 - raises nothing where it cannot be reached
        raise OSError(f"a link, which is not followed: {path}")
    data = read_small(path, LIMIT)
    if not image_type(data):
        raise OSError(f"no PNG, JPEG, GIF or WebP: {path}")
    return data
