"""Secrets that have no form of their own and are told by what stands around them.

Names (`password: …`, `API_KEY=…`), headers, addresses, options of programs, and files of well-known forms.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

from hermes_tui.redact.pattern import Pattern, compiled, is_placeholder, pattern, secret_of
from hermes_tui.redact.secret_names import NAME_MARKS, NAMED, is_mixed, is_named, is_random

__all__ = ["CONTEXTS"]

Judge = Callable[[re.Match[str]], bool]


def _is_value(found: re.Match[str]) -> bool:
    return not is_placeholder(secret_of(found))


def _is_basic(found: re.Match[str]) -> bool:
    """Whether base64 holds `user:password`."""
    try:
        return b":" in base64.b64decode(secret_of(found), validate=True)
    except (binascii.Error, ValueError):  # words after `Basic` in prose, no credentials
        return False


def _is_address_password(found: re.Match[str]) -> bool:
    secret = secret_of(found)
    # In `http://localhost:8080/@fs/src` there is a port, and no password.
    web = found.string[max(found.start() - 5, 0) : found.start()].lower().endswith(("http", "https"))
    return not is_placeholder(secret) and not (web and "/" in secret) and not re.match(r"\d{1,5}/", secret)


_PARAMETERS = (
    r"(?:access[_-]?token|refresh[_-]?token|id[_-]?token|auth[_-]?token|session[_-]?token|token|api[_-]?key|apikey"
    r"|access[_-]?key|client[_-]?secret|secret|password|passwd|pwd|signature|sig|x-amz-signature"
    r"|x-amz-security-token|x-goog-signature|authorization)"
)
_IN_ADDRESS = r"(?:[^\s\"'<>\\`:]|:(?!//))"
_BEARER = r"[A-Za-z0-9._~+/=-]"
_GAP = r"[\s\xa0]"
_SEED_WORD = r"[a-z]{3,8}+"

_AROUND: tuple[tuple[str, str, str, Judge | None], ...] = (
    (
        "password in an address",
        "://",
        rf"(?<=[A-Za-z0-9+.-])://[^\s:/\"'<>\\]{{0,200}}+:(?:(?P<secret>{_IN_ADDRESS}{{1,500}})"
        rf"@(?=[A-Za-z0-9.\[$_-]{{0,253}}+(?:[:/?,#&\s\"'`)\]}}>;\\]|\Z))|{_IN_ADDRESS}{{1,500}}+)",
        _is_address_password,
    ),
    (
        "password in an address",
        "@tcp( @unix(",
        r"(?<![\w.-])[\w.-]{1,64}+:(?:(?P<secret>[^\s\"'<>@]{1,200}+)@(?:tcp|unix)\(|[^\s\"'<>@]{1,200}+)",
        _is_value,
    ),
    ("token in an address", "://", r"https?://(?P<secret>[A-Za-z0-9_-]{20,255}+)@", _is_value),
    (
        "token in an address",
        "= %3d",
        rf"[?&#;]{_PARAMETERS}(?:=|%3D)(?P<secret>[^\s&#;\"'<>\\)\]}}|]{{6,2000}}+)",
        _is_value,
    ),
    (
        "authorization header",
        "authorization",
        rf"authorization[\"'\\]{{0,3}}{_GAP}{{0,3}}[:=]{_GAP}{{0,3}}[\"'\\]{{0,3}}(?:bearer|basic|token|apikey){_GAP}{{1,3}}"
        rf"(?P<secret>{_BEARER}{{8,4000}}+)",
        _is_value,
    ),
    ("authorization header", "response=", r"\bresponse=\"?(?P<secret>[0-9a-f]{32,64}+)", _is_value),
    # All of a text is the value of a header whose name stands elsewhere; in other texts, more is asked of it.
    (
        "authorization header",
        "bearer",
        rf"\A\s{{0,3}}bearer\s{{1,3}}(?P<secret>{_BEARER}{{16,4000}}+)\s{{0,3}}\Z",
        _is_value,
    ),
    ("authorization header", "bearer", rf"\bbearer{_GAP}{{1,3}}(?P<secret>{_BEARER}{{16,4000}}+)", is_random),
    (
        "cookie",
        "cookie",
        r"\b(?:set-)?cookie[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?:[\w.-]{1,80}+=[^;\s\"'\\]{0,11}+;\s?){0,20}"
        r"[\w.-]{1,80}+=(?P<secret>[^;\s\"'\\]{12,4000}+)",
        is_mixed,
    ),
    (
        "AWS secret key",
        "secret",
        r"aws_?secret_?(?:access_?)?key[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?P<secret>[A-Za-z0-9/+=]{40}+)"
        r"(?![A-Za-z0-9/+=])",
        _is_value,
    ),
    ("Azure storage key", "accountkey=", r"AccountKey=[\"']?(?P<secret>[A-Za-z0-9+/]{86}==)", None),
    (
        "named secret",
        "pass",
        r"<(?P<tag>[\w:.-]{0,40}(?:password|passphrase))>(?P<secret>[^<>\s]{4,200}+)</(?P=tag)>",
        is_mixed,
    ),
    (
        "named secret",
        "password passphrase",
        r"\bpass(?:word|phrase) (?:is|was):? (?P<secret>(?=[^\s\"'`,;]{0,100}\d)[^\s\"'`,;]{6,100}[^\s\"'`,;.!?])",
        is_mixed,
    ),
    (
        "registry login",
        "auth",
        r"(?:\"auth\"\s{0,3}:\s{0,3}\"|\b_auth[ \t]{0,3}=[ \t]{0,3}\"?)(?P<secret>[A-Za-z0-9+/]{8,400}+={0,2})",
        _is_basic,
    ),
    (
        "password in a file",
        "login",
        r"\blogin[ \t\n]{1,3}\S{1,100}+[ \t\n]{1,3}password[ \t\n]{1,3}(?P<secret>\S{3,200}+)",
        _is_value,
    ),
    (
        "password in a file",
        ":",
        r"(?m:^)[\w.*-]{1,200}+:(?:\d{4,5}|\*):[\w.*-]{1,64}+:[\w.*-]{1,64}+:(?P<secret>[^\s:]{4,200}+)(?m:$)",
        _is_value,
    ),
    (
        "seed phrase",
        "seed recovery mnemonic",
        r"(?:seed|recovery|mnemonic)\b[^\n\"':=]{0,24}[\"']?\s{0,3}(?:is|are|was|[:=])\s{0,3}[\"']?"
        rf"(?P<secret>{_SEED_WORD}(?:[ \t]{{1,4}}+{_SEED_WORD}){{11,23}}+)(?![ \t]{{0,4}}+[a-z])",
        None,
    ),
    (
        "seed phrase",
        "12. 12)",
        rf"\b1[.)][ \t]{{0,3}}(?P<secret>{_SEED_WORD}"
        rf"(?:\s{{1,3}}\d{{1,2}}[.)][ \t]{{0,3}}{_SEED_WORD}){{11,23}}+)(?!\w)",
        None,
    ),
)
"""Kind, marks, expression, and what is asked of a find."""

_ARGUMENT = r"(?:\"(?P<double>[^\"\n]{3,200}+)\"|'(?P<single>[^'\n]{3,200}+)'|(?P<bare>[^\s\"'`|;&<>()]{3,200}+))"
_LOGIN = (
    r"(?:\"[^\s:\"]{1,80}+:(?P<double>[^\"\n]{3,200}+)\"|'[^\s:']{1,80}+:(?P<single>[^'\n]{3,200}+)'"
    r"|[^\s:\"']{1,80}+:(?P<bare>[^\s\"'`|;&<>()]{3,200}+))"
)
_SPACED = r"[ \t]{1,3}"

_IN_COMMANDS: tuple[tuple[str, str, str, str, Judge], ...] = (
    ("", "--pass --token --secret --api-key --auth-token --access-token",
     r"(?<=\s)--(?:pass(?:word|wd|phrase)?|token|secret|api-?key|auth-token|access-token)(?:=|[ \t]{1,3})",
     _ARGUMENT, is_mixed),
    ("gh", "--body", r"(?<=[ \t])--body[ =]", _ARGUMENT, is_random),
    ("curl|wget|https?", "-u", r"(?<=[ \t])(?:-u|--user|--proxy-user)[ \t=]{0,3}", _LOGIN, _is_value),
    ("curl", "-u", r"(?<=[ \t])-U[ \t]{0,3}", _LOGIN, _is_value),
    (r"(?:mysql|mariadb)[a-z-]{0,12}", "-p", r"(?<=[ \t])-p(?!rotocol|ort|ager|lugin|ipe|rint)(?=[^\s-])",
     _ARGUMENT, is_mixed),
    ("7z[az]?|rar|unrar", "-p", r"(?<=[ \t])-h?p(?=[^\s-])", _ARGUMENT, is_mixed),
    ("zip|unzip|sqlcmd|bcp", "-p", rf"(?<=[ \t])-P{_SPACED}", _ARGUMENT, is_mixed),
    ("login|mongosh|mongo|mongodump|mongorestore", "-p", rf"(?<=[ \t])-p{_SPACED}", _ARGUMENT, is_mixed),
    ("sshpass", "-p", r"(?<=[ \t])-p[ \t]{0,3}", _ARGUMENT, _is_value),
    ("redis-cli", "-a", rf"(?<=[ \t])-a{_SPACED}", _ARGUMENT, _is_value),
    ("ldap[a-z]{3,10}", "-w", rf"(?<=[ \t])-w{_SPACED}", _ARGUMENT, _is_value),
    ("openssl", "-k", rf"(?<=[ \t])-k{_SPACED}", _ARGUMENT, is_mixed),
    ("", "-passin -passout", rf"-pass(?:in|out)?{_SPACED}[\"']?pass:", _ARGUMENT, _is_value),
    ("htpasswd", "htpasswd", rf"(?<=[ \t])-[a-zA-Z]{{0,5}}b[a-zA-Z]{{0,5}}{_SPACED}"
     r"(?:[^\s\"']{1,200}+[ \t]{1,3}){1,2}", _ARGUMENT + r"(?=\s|\Z)", _is_value),
    ("vault", "login", rf"(?<=[ \t])login{_SPACED}", _ARGUMENT, is_random),
    ("", "requirepass", rf"requirepass{_SPACED}", _ARGUMENT, is_mixed),
    ("net", "/user:", rf"/user:[^\s]{{1,80}}+{_SPACED}", _ARGUMENT, is_mixed),
    ("", "stdin passwd sudo", rf"\b(?:echo|printf){_SPACED}(?:-n{_SPACED})?", _ARGUMENT +
     r"(?=[ \t]{0,3}\|[^\n|;&]{0,80}(?:-stdin|passwd|sudo[ \t]-S))", _is_value),
)  # fmt: skip
"""Program (none: any), marks, option, argument, and what is asked of a find. The argument alone is masked."""
_PROGRAM_WITHIN = 160
"""Characters before an option in which its program stands."""


def _of_program(programs: str, judge: Judge) -> Judge:
    """What `judge` says where one of the programs stands before the option, in the same command."""
    program = rf"(?:{programs})(?![\w-])"

    def accepts(found: re.Match[str]) -> bool:
        text, end = found.string, found.start()
        first = max(end - _PROGRAM_WITHIN, 0)
        begin = max(first, *(text.rfind(one, first, end) for one in "\n|;&"))
        return compiled(program).search(text, begin, end) is not None and judge(found)

    return accepts if programs else judge


CONTEXTS: tuple[Pattern, ...] = (
    *(pattern(kind, marks, expression, re.IGNORECASE, judge) for kind, marks, expression, judge in _AROUND),
    pattern("named secret", NAME_MARKS, NAMED, accepts=is_named),
    # Its mark has a blank; nothing else of a manifest tells these values from others.
    Pattern(
        "Kubernetes secret",
        ("kind: secret",),
        r"(?<=\n)[ \t]{1,8}[\w.-]{1,80}+:[ \t](?P<secret>[A-Za-z0-9+/]{8,4000}+={0,2})(?=\s|\Z)",
        accepts=is_mixed,
    ),
    *(
        pattern("password in a command", marks, option + argument, accepts=_of_program(programs, judge))
        for programs, marks, option, argument, judge in _IN_COMMANDS
    ),
)
