"""Secrets in text, masked (`--redact`).

Only what is unmistakable is taken for one: keys with the prefixes that their makers gave them so that they are found,
passwords and tokens in addresses and headers, and private-key blocks. Nothing is guessed from how random a text
looks: that marks commit hashes and misses passwords. Each pattern is tried only on text that holds its mark, so that
a text without secrets costs a few passes of `str.find`.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import msgspec

__all__ = ["Pattern", "Redactor", "patterns"]

R = TypeVar("R", bound=msgspec.Struct)

_IDENTITIES = frozenset({"agent", "session_id", "unified_id"})
"""Fields that say which session it is: an export of another name is another session."""


class Pattern(NamedTuple):
    """One kind of secret."""

    kind: str
    """What it is, for people; stands in the mask."""
    marks: tuple[str, ...]
    """Lower case. One of them stands in every text that holds such a secret."""
    expression: re.Pattern[str]
    """The group `secret` is masked; without such a group, all of it."""


def _pattern(kind: str, marks: str, expression: str, flags: int = 0) -> Pattern:
    # A key stands by itself: not in the middle of a longer word, nor after an escaped character of JSON.
    return Pattern(kind, tuple(marks.split()), re.compile(expression, flags | re.ASCII))


_START = r"(?<![A-Za-z0-9_])"
_END = r"(?![A-Za-z0-9_])"
_WORD = r"[A-Za-z0-9_-]"

_KEY_BLOCK = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?s:.){1,20000}?-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:[A-Za-z0-9+/=\s:,.()-]|\\[nrt]){1,20000})"
)
"""Where the end is missing (a log cut off in the middle), what looks like the inside of one."""

_PARAMETERS = (
    r"(?:access[_-]?token|refresh[_-]?token|id[_-]?token|auth[_-]?token|session[_-]?token|token|api[_-]?key|apikey"
    r"|access[_-]?key|client[_-]?secret|secret|password|passwd|pwd|signature|sig|x-amz-signature"
    r"|x-amz-security-token|x-goog-signature|authorization)"
)

_PATTERNS: tuple[Pattern, ...] = (
    _pattern("private key", "private", _KEY_BLOCK),
    _pattern("age key", "age-secret-key-1", r"AGE-SECRET-KEY-1[0-9A-Z]{50,70}"),
    _pattern(
        "password in an address",
        "://",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\"'<>\\]{0,200}:(?P<secret>[^\s/@\"'<>\\]{1,500})@",
    ),
    _pattern("token in an address", "://", r"\bhttps?://(?P<secret>[A-Za-z0-9_-]{20,255})@"),
    _pattern(
        "token in an address",
        "= %3d",
        rf"[?&#;]{_PARAMETERS}(?:=|%3D)(?P<secret>[^\s&#;\"'<>\\)\]}}|]{{6,2000}})",
        re.IGNORECASE,
    ),
    _pattern(
        "authorization header",
        "authorization",
        r"authorization[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?:bearer|basic|token|apikey)\s{1,3}"
        r"(?P<secret>[A-Za-z0-9._~+/=-]{8,4000})",
        re.IGNORECASE,
    ),
    _pattern("Anthropic key", "sk-ant-", rf"{_START}sk-ant-[A-Za-z0-9_-]{{20,250}}"),
    _pattern("OpenRouter key", "sk-or-", rf"{_START}sk-or-(?:v\d-)?[A-Za-z0-9_-]{{20,250}}"),
    _pattern("OpenAI key", "sk-", rf"{_START}sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{{20,250}}"),
    _pattern("OpenAI key", "sk-", rf"{_START}sk-[A-Za-z0-9]{{32,64}}{_END}"),
    _pattern("AWS key", "akia asia abia acca", rf"{_START}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}"),
    _pattern(
        "AWS secret key",
        "secret",
        r"aws_?secret_?(?:access_?)?key[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?P<secret>[A-Za-z0-9/+=]{40})"
        r"(?![A-Za-z0-9/+=])",
        re.IGNORECASE,
    ),
    _pattern("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_START}gh[pousr]_[A-Za-z0-9]{{36,255}}"),
    _pattern("GitHub token", "github_pat_", rf"{_START}github_pat_[A-Za-z0-9_]{{22,255}}"),
    _pattern("GitLab token", "gl", rf"{_START}gl(?:pat|ptt|dt|rt|soat|cbt|imt|agent)-[A-Za-z0-9_-]{{20,255}}"),
    _pattern("Slack token", "xox", rf"{_START}xox[abeoprs]-[A-Za-z0-9-]{{10,255}}"),
    _pattern("Slack token", "xapp-", rf"{_START}xapp-\d-[A-Za-z0-9-]{{10,255}}"),
    _pattern(
        "Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/]{20,255})"
    ),
    _pattern(
        "Discord webhook", "/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{5,25}/(?P<secret>[\w-]{40,100})"
    ),
    _pattern("Discord token", ".", rf"{_START}[MNO]{_WORD}{{23,27}}\.{_WORD}{{6}}\.{_WORD}{{27,45}}"),
    _pattern("Telegram bot token", ":aa", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{32,35}(?![A-Za-z0-9_-])"),
    _pattern("Google key", "aiza", rf"{_START}AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])"),
    _pattern("Google token", "ya29.", rf"{_START}ya29\.[A-Za-z0-9_-]{{20,2000}}"),
    _pattern("Google client secret", "gocspx-", rf"{_START}GOCSPX-[A-Za-z0-9_-]{{20,60}}"),
    _pattern("Stripe key", "_live_ _test_", rf"{_START}(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{{16,255}}"),
    _pattern("Stripe webhook secret", "whsec_", rf"{_START}whsec_[A-Za-z0-9+/=]{{24,100}}"),
    _pattern("Hugging Face token", "hf_", rf"{_START}hf_[A-Za-z0-9]{{30,60}}"),
    _pattern("npm token", "npm_", rf"{_START}npm_[A-Za-z0-9]{{36}}{_END}"),
    _pattern("PyPI token", "pypi-", rf"{_START}pypi-Ag[A-Za-z0-9_-]{{50,1000}}"),
    _pattern("SendGrid key", "sg.", rf"{_START}SG\.[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9_-]{{43}}"),
    _pattern("DigitalOcean token", "_v1_", rf"{_START}do[opr]_v1_[a-f0-9]{{64}}"),
    _pattern("Databricks token", "dapi", rf"{_START}dapi[a-f0-9]{{32}}(?:-\d)?{_END}"),
    _pattern("Shopify token", "shp", rf"{_START}shp(?:at|ca|pa|ss)_[a-fA-F0-9]{{32}}"),
    _pattern("xAI key", "xai-", rf"{_START}xai-[A-Za-z0-9]{{40,100}}"),
    _pattern("Groq key", "gsk_", rf"{_START}gsk_[A-Za-z0-9]{{40,100}}"),
    _pattern("Perplexity key", "pplx-", rf"{_START}pplx-[A-Za-z0-9]{{40,100}}"),
    _pattern("Replicate token", "r8_", rf"{_START}r8_[A-Za-z0-9]{{37,40}}{_END}"),
    _pattern("Tavily key", "tvly-", rf"{_START}tvly-[A-Za-z0-9-]{{20,100}}"),
    _pattern("Linear key", "lin_", rf"{_START}lin_(?:api|oauth)_[A-Za-z0-9]{{32,64}}"),
    _pattern("Notion token", "ntn_", rf"{_START}ntn_[A-Za-z0-9]{{40,60}}"),
    _pattern("Vault token", "hv", rf"{_START}hv[sbr]\.[A-Za-z0-9_-]{{24,255}}"),
    _pattern("JSON web token", "eyj", rf"{_START}eyJ{_WORD}{{8,4000}}\.eyJ{_WORD}{{8,8000}}\.{_WORD}{{10,2000}}"),
)


def patterns() -> tuple[Pattern, ...]:
    """Every kind of secret that is known, in the order in which they are looked for."""
    return _PATTERNS


class Redactor:
    """Masks secrets and counts them. One per export; not for several threads at once."""

    def __init__(self) -> None:
        self.places: Counter[str] = Counter()
        """Kind → how many times something was masked."""
        self._seen: set[bytes] = set()

    @property
    def secrets(self) -> int:
        """How many different secrets were masked; the same one in two places is one."""
        return len(self._seen)

    @property
    def report(self) -> str:
        """What was masked, for people: `3 secrets masked in 5 places: 4 GitHub token, 1 private key`."""
        total = self.places.total()
        if not total:
            return "no secrets found to mask"
        kinds = ", ".join(f"{number} {kind}" for kind, number in self.places.most_common())
        secrets = f"{self.secrets} secret{'' if self.secrets == 1 else 's'}"
        return f"{secrets} masked in {total} place{'' if total == 1 else 's'}: {kinds}"

    def text(self, text: str) -> str:
        """`text` with every secret in it replaced by `[masked: its kind]`."""
        if len(text) < 12:
            return text
        lowered = text.lower()
        for pattern in _PATTERNS:
            if any(mark in lowered for mark in pattern.marks):
                text = pattern.expression.sub(lambda found, kind=pattern.kind: self._mask(found, kind), text)  # type: ignore[misc]
        return text

    def value(self, value: Any) -> Any:
        """A decoded JSON value with `text` applied to every string in it, keys included; itself where nothing is
        masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            changed = {self.value(key): self.value(one) for key, one in value.items()}
            return changed if changed != value else value
        if isinstance(value, list | tuple):
            items = [self.value(one) for one in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, msgspec.Struct):
            return self.record(value)
        return value

    def record(self, record: R) -> R:
        """A record of ours with every text in it masked, except what identifies a session; itself where there was
        nothing to mask, so that a whole session takes little more memory than before."""
        changes: dict[str, Any] = {}
        for name in record.__struct_fields__:
            before = getattr(record, name)
            if name not in _IDENTITIES and (after := self.value(before)) is not before and after != before:
                changes[name] = after
        return msgspec.structs.replace(record, **changes) if changes else record

    def _mask(self, found: re.Match[str], kind: str) -> str:
        whole = found[0]
        begin, end = found.span("secret") if "secret" in found.re.groupindex else found.span()
        secret = found.string[begin:end]
        if secret.startswith("[masked:"):
            return whole
        self.places[kind] += 1
        self._seen.add(sha256(secret.encode("utf-8", "replace")).digest())
        at = begin - found.start()
        return f"{whole[:at]}[masked: {kind}]{whole[at + len(secret) :]}"
