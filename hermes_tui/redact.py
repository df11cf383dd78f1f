"""Secrets in text, masked (`--redact`).

Only what is unmistakable is taken for one: keys with the prefixes that their makers gave them so that they are found,
passwords and tokens in addresses and headers, and private-key blocks. Nothing is guessed from how random a text
looks: that marks commit hashes and misses passwords. Each pattern is tried only on text that holds its mark, so that
a text without secrets costs a few passes of `str.find`.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
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
    alone: bool = False
    """Only where no longer word goes before it; asked of what was found, for that is seldom anything."""


def _pattern(kind: str, marks: str, expression: str, flags: int = 0) -> Pattern:
    return Pattern(kind, tuple(marks.split()), re.compile(expression, flags | re.ASCII))


def _key(kind: str, marks: str, expression: str) -> Pattern:
    return _pattern(kind, marks, expression)._replace(alone=True)


_ALONE = re.compile(r"(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=%[0-9A-Fa-f]{2})|(?<=[\[0-9;][mK])")
"""Where a key can begin: not in the middle of a longer word. A letter before it may belong to an escape, though: of
JSON (`\\n`), of an address (`%3D`), or of a terminal (`ESC[32m`)."""
_END = r"(?![A-Za-z0-9])"
_WORD = r"[A-Za-z0-9_-]"

_KEY_BLOCK = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?s:.){1,20000}?-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:[A-Za-z0-9+/=\s:,.()|>\u2192-]|\\[nrt]){1,20000})"
)
"""Where the end is missing (a log cut off in the middle), what looks like the inside of one, with what stands before
its lines where they are numbered or quoted (`2→MIIE`, `2 | MIIE`, `> MIIE`)."""

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
    # All of a text: the value of a header whose name stands elsewhere.
    _pattern(
        "authorization header",
        "bearer",
        r"\A\s{0,3}bearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,4000})\s{0,3}\Z",
        re.IGNORECASE,
    ),
    _key("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,250}"),
    _key("OpenRouter key", "sk-or-", r"sk-or-(?:v\d-)?[A-Za-z0-9_-]{20,250}"),
    _key("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}"),
    _key("OpenAI key", "sk-", rf"sk-[A-Za-z0-9]{{32,64}}{_END}"),
    _key("AWS key", "akia asia abia acca", rf"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}"),
    _pattern(
        "AWS secret key",
        "secret",
        r"aws_?secret_?(?:access_?)?key[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?P<secret>[A-Za-z0-9/+=]{40})"
        r"(?![A-Za-z0-9/+=])",
        re.IGNORECASE,
    ),
    _key("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _key("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _key("GitLab token", "gl", r"gl(?:pat|ptt|dt|rt|soat|cbt|imt|agent)-[A-Za-z0-9_-]{20,255}"),
    _key("Slack token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,255}"),
    _key("Slack token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,255}"),
    _pattern(
        "Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/]{20,255})"
    ),
    _pattern(
        "Discord webhook", "/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{5,25}/(?P<secret>[\w-]{40,100})"
    ),
    _key("Discord token", ".", rf"[MNO]{_WORD}{{23,27}}\.{_WORD}{{6}}\.{_WORD}{{27,45}}"),
    _pattern(
        "Telegram bot token",
        ":aa",
        r"(?:(?<!\d)|(?<=%[0-9A-Fa-f]{2}))\d{8,10}:AA[A-Za-z0-9_-]{32,35}(?![A-Za-z0-9_-])",
    ),
    _key("Google key", "aiza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _key("Google token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,2000}"),
    _key("Google client secret", "gocspx-", r"GOCSPX-[A-Za-z0-9_-]{20,60}"),
    _key("Stripe key", "_live_ _test_", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,255}"),
    _key("Stripe webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,100}"),
    _key("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,60}"),
    _key("npm token", "npm_", rf"npm_[A-Za-z0-9]{{36}}{_END}"),
    _key("PyPI token", "pypi-", r"pypi-Ag[A-Za-z0-9_-]{50,1000}"),
    _key("SendGrid key", "sg.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _key("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _key("Databricks token", "dapi", rf"dapi[a-f0-9]{{32}}(?:-\d)?{_END}"),
    _key("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _key("xAI key", "xai-", r"xai-[A-Za-z0-9]{40,100}"),
    _key("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,100}"),
    _key("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,100}"),
    _key("Replicate token", "r8_", rf"r8_[A-Za-z0-9]{{37,40}}{_END}"),
    _key("Tavily key", "tvly-", r"tvly-[A-Za-z0-9-]{20,100}"),
    _key("Linear key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    _key("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,60}"),
    _key("NVIDIA key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{60,80}"),
    _key("Cerebras key", "csk-", r"csk-[A-Za-z0-9]{40,60}"),
    _key("Langfuse key", "sk-lf-", r"sk-lf-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"),
    _key("LangSmith key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _key("Jina key", "jina_", r"jina_[A-Za-z0-9_-]{50,80}"),
    _key("E2B key", "e2b_", rf"e2b_[a-f0-9]{{40}}{_END}"),
    _key("Docker token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{24,60}"),
    _key(
        "Grafana token",
        "glsa_ glc_",
        r"(?:glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/=]{32,400})",
    ),
    _key("Sentry token", "sntry", r"sntry(?:u_[a-f0-9]{64}|s_eyJ[A-Za-z0-9+/=_-]{40,400})"),
    _key("Tailscale key", "tskey-", r"tskey-[a-z]{3,10}-[A-Za-z0-9]{6,20}-[A-Za-z0-9]{16,64}"),
    _key("Atlassian token", "atatt3", r"ATATT3[A-Za-z0-9_=-]{100,255}"),
    _key("Figma token", "figd_", r"figd_[A-Za-z0-9_-]{38,60}"),
    _key("Supabase token", "sbp_", rf"sbp_[a-f0-9]{{40}}{_END}"),
    _key("Postman key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _key("New Relic key", "nrak-", rf"NRAK-[A-Z0-9]{{27}}{_END}"),
    _pattern("Azure storage key", "accountkey=", r"AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)", re.IGNORECASE),
    _key("Vault token", "hv", r"hv[sbr]\.[A-Za-z0-9_-]{24,255}"),
    _key("JSON web token", "eyj", rf"eyJ{_WORD}{{8,4000}}\.eyJ{_WORD}{{8,8000}}\.{_WORD}{{10,2000}}"),
)


_TELLING = ("authorization", "secret", "accountkey")
"""Lower case. With one of these in its name a value may be a secret that does not look like one by itself."""


_LEAST = 8
"""Characters of the shortest text that can hold a secret: `ab://:x@`."""


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
        if len(text) < _LEAST:
            return text
        lowered = text.lower()
        for pattern in _PATTERNS:
            if any(mark in lowered for mark in pattern.marks):
                text = pattern.expression.sub(partial(self._mask, pattern), text)
        return text

    def value(self, value: Any) -> Any:
        """A decoded JSON value with `text` applied to every string in it, keys included; itself where nothing is
        masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            changed = dict(self._entry(key, one) for key, one in value.items())
            return changed if changed != value else value
        if isinstance(value, list | tuple):
            items = [self.value(one) for one in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, msgspec.Struct):
            return self.record(value)
        return value

    def _entry(self, name: Any, value: Any) -> tuple[Any, Any]:
        name = self.value(name)
        if isinstance(name, str) and isinstance(value, str) and any(mark in name.lower() for mark in _TELLING):
            lead = f"{name}="
            return name, self.text(f"{lead}{value}").removeprefix(lead)
        return name, self.value(value)

    def record(self, record: R) -> R:
        """A record of ours with every text in it masked, except what identifies a session; itself where there was
        nothing to mask, so that a whole session takes little more memory than before."""
        changes: dict[str, Any] = {}
        for name in record.__struct_fields__:
            before = getattr(record, name)
            if name not in _IDENTITIES and (after := self.value(before)) is not before and after != before:
                changes[name] = after
        return msgspec.structs.replace(record, **changes) if changes else record

    def _mask(self, pattern: Pattern, found: re.Match[str]) -> str:
        whole, kind = found[0], pattern.kind
        if pattern.alone and _ALONE.match(found.string, found.start()) is None:
            return whole
        begin, end = found.span("secret") if "secret" in found.re.groupindex else found.span()
        secret = found.string[begin:end]
        if secret.startswith("[masked:"):
            return whole
        self.places[kind] += 1
        self._seen.add(sha256(secret.encode("utf-8", "replace")).digest())
        at = begin - found.start()
        return f"{whole[:at]}[masked: {kind}]{whole[at + len(secret) :]}"
