"""Attachments: measured while a record is read, their bytes on demand.

An adapter has an attachment's base64 for a moment. It is measured then and forgotten, so that neither a list nor an
open session grows with the pictures in it. Whoever wants the bytes reads the session again inside `keeping`.
"""

from session_adapters.attachments.image_header import image_type
from session_adapters.attachments.made import Kept, keeping, made_attachment, made_from_url
from session_adapters.attachments.outside import blob_measured, blob_path, read_blob, read_named

__all__ = [
    "Kept",
    "blob_measured",
    "blob_path",
    "image_type",
    "keeping",
    "made_attachment",
    "made_from_url",
    "read_blob",
    "read_named",
]
