"""JSON over HTTP: one request to a server, bounded in time and size."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlsplit

__all__ = ["HttpFailure", "JsonClient"]

_LIMIT = 64 << 20
"""Bytes of an answer."""


class HttpFailure(Exception):
    """No answer that can be used: a clause about why."""

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status
        """What the server answered; 0 where it did not."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A key in a header must not go to another host."""

    def redirect_request(self, *_: Any) -> None:
        """Nothing is followed: the answer is the error that it is."""


class JsonClient:
    """A server by its address, with what it wants to know of whoever asks."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, *, seconds: float = 30.0) -> None:
        """`headers` may hold a key, which goes to this server alone. Raises `ValueError` for what is no address."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the address must be one of HTTP, as in http://localhost:6333")
        if parts.username or parts.password:
            raise ValueError("an address holds no user and no password: a key is a setting of its own")
        port = f":{parts.port}" if parts.port else ""
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self.label = f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        self._seconds = seconds
        self._opener = urllib.request.build_opener(_NoRedirects)

    def call(self, method: str, *path: str, body: object = None, query: str = "") -> Any:
        """The answer. Each part of `path` is quoted. Raises `HttpFailure`."""
        url = "/".join((self.label, *(quote(part, safe="") for part in path))) + query
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, self._headers, method=method)  # noqa: S310 - HTTP alone, see above
        try:
            until = time.monotonic() + self._seconds
            with self._opener.open(request, timeout=self._seconds) as answer:
                # All of it, or a little more than is allowed.
                parts: list[bytes] = []
                length = 0
                while length <= _LIMIT and (part := answer.read1(_LIMIT + 1 - length)):
                    if time.monotonic() > until:  # the time-out of the socket starts anew with each part
                        raise TimeoutError
                    parts.append(part)
                    length += len(part)
                text = b"".join(parts)
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(300).decode("utf-8", "replace")
            raise HttpFailure(f"it answers {error.code} ({' '.join(said.split())[:160]})", error.code) from None
        except TimeoutError:
            raise HttpFailure(f"it does not answer within {self._seconds:g} s") from None
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(reason, TimeoutError):
                raise HttpFailure(f"it does not answer within {self._seconds:g} s") from None
            said = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
            raise HttpFailure(f"it cannot be reached: {said}") from None
        if len(text) > _LIMIT:
            raise HttpFailure("its answer is longer than 64 MB")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise HttpFailure("its answer is no JSON") from None
