"""Names whose values are secrets (`DB_PASSWORD`, `apiKey`), and harmless values."""

from __future__ import annotations

import re

from hermes_tui.redact.pattern import is_placeholder, secret_of

__all__ = ["NAMED", "NAME_MARKS", "is_mixed", "is_named", "is_random", "is_secret_name"]

_BEFORE_KEY = (
    "api app auth access account admin client consumer encryption hmac ingest license master private session shared "
    "signing storage subscription webhook write"
)
_ENDS = {
    "token": "",
    "pass": r"(?i:wor[dt]|wd|phrase|code|(?<=[_.-]pass))",
    "pw": r"(?i:d(?<=[_.-]pwd)|(?<=[_.-]pw))",
    "psk": "",
    "credential": "(?i:s?)",
    "secret": "(?i:(?:[_-]?(?:access)?[_-]?key(?:[_-]base)?)?)",
    "key": f"(?i:{'|'.join(rf'(?<={one}key)|(?<={one}[_ -]key)' for one in _BEFORE_KEY.split())})",
    "salt": "(?i:(?<=[_.-]salt))",
    "hash": "(?i:(?<=api_hash)|(?<=apihash))",
    "kennwort": "",
    "wachtwoord": "",
    "contrase": "(?i:[ñn]a)",
    "senha": "",
    "masterauth": "",
    "identified": "(?i:[ \t]by)",
}
NAME_MARKS = " ".join(_ENDS)
"""Words that stand in the names of secrets; what follows makes them such names. A `pass` or a `key` alone is none."""
_NAMES = "|".join(form + end for word, end in _ENDS.items() for form in (word, word.capitalize(), word.upper()))
"""Each branch begins with a letter as it stands: thus a search skips what cannot be a name ten times as fast as with
IGNORECASE."""
_NAME_END = re.compile(rf"(?:{_NAMES}|(?i:authorization))\Z")


def is_secret_name(name: str) -> bool:
    """Whether a name (`DB_PASSWORD`, `apiKey`, `X-Auth-Token`) says that its value is a secret."""
    return _NAME_END.search(name[-80:]) is not None


_BLANK = r"[ \t\xa0]{0,8}+"
_SET_TO = (
    rf"(?:[\"']?,?\s{{0,40}}+[\"']?value[\"']?{_BLANK}[:=]{_BLANK}"
    rf"|[\"'`\\]{{0,3}}\]?(?:{_BLANK}:?[ \t]{{0,2}}[A-Za-z][\w.]{{0,30}}+(?=[ \t]{{0,8}}=))?{_BLANK}"
    rf"(?:[:.?+|]{{0,3}}+=>?|:)(?!=){_BLANK}(?:[>|][+-]?[ \t]{{0,4}}\n[ \t]{{1,16}})?"
    r"|>\s{0,40}+(?=[^<>\s]{4,4000}+\s{0,40}+</)"
    rf"|[\"'],{_BLANK}(?=[\"'])"
    rf"|[ \t](?:for|of|on|to)(?:[ \t][\w.-]{{1,20}}+){{1,3}}+:{_BLANK})"
)
"""`=`, `:=`, `?=`, `: `, `: str = `, `"] = `, `: >-`; the tag of an element; two arguments of a call; `name: X,
value: …`; `token for staging: …`."""
_BARE = r"[^\s\"'`,;<>()\[\]{}|\\"
NAMED = (
    rf"(?P<name>{_NAMES})(?:{_SET_TO}"
    r"(?:\\?(?P<quote>[\"'`])(?P<quoted>[^\"'`\n\\]{4,500}+)\\?(?P=quote)"
    rf"|(?P<bare>{_BARE}]{{4,4000}}+))"
    r"|[ \t]{1,4}+(?:(?:is|was|ist|lautet|to):?[ \t])?"
    rf"(?:(?P<mark>[\"'])(?P<told>[^\"'\n]{{4,200}}+)(?P=mark)|(?P<bare_told>{_BARE}=:]{{6,400}}+(?![=:]))))"
)
"""A name that is set to a value, or has one beside it: in prose, in SQL, in the settings of servers."""

_CHOSEN = re.compile(r"(?i:pass\w*|pwd?|psk|kennwort|wachtwoord|contrase.a|senha|identified.by|masterauth)\Z")
"""Names of what people choose themselves; all others are made by machines, hence long."""
_DIGIT, _LETTER, _UPPER, _LOWER = (re.compile(one) for one in (r"\d", r"[A-Za-z]", r"[A-Z]", r"[a-z]"))
_MARK = re.compile(r"[^\w\s]|_")
_CODE = re.compile(r"\A[./~][^+=]{0,119}\Z|\A[A-Za-z_]+\Z|://|::|->|\w\(")
"""A path, one word without a digit, an address, a call."""
_PARTED = re.compile(r"[a-z]+:[a-z]+:[\w@+-]", re.ASCII)
"""Names parted by colons, as those of lanes: `agent:main:telegram:…`."""
_DOTTED = re.compile(r"\A[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z", re.ASCII)
_NAME_IN_CODE = re.compile(r"[A-Za-z_][\w.]*\Z", re.ASCII)
_OF_CODE = re.compile(
    r"arg|cfg|conf|cred|data|env|form|get|key|opt|param|pass|props|pwd|req|secret|self|setting|this|token|user|var"
)
"""What stands in the dotted names of programs, and hardly in a password."""


def is_mixed(found: re.Match[str]) -> bool:
    """Whether a value has more than letters, and stands for nothing else."""
    value = secret_of(found)
    return not is_placeholder(value) and bool(_DIGIT.search(value) or re.search(r"[^\w.-]", value))


def is_random(found: re.Match[str]) -> bool:
    """Whether a value is long and as machines make them."""
    value = secret_of(found)
    if is_placeholder(value) or len(value) < 16 or not _DIGIT.search(value) or _CODE.search(value):
        return False
    both = bool(_UPPER.search(value) and _LOWER.search(value))
    return (both and not _DOTTED.match(value)) or re.search(r"[0-9a-f]{32}", value) is not None


def is_named(found: re.Match[str]) -> bool:
    """Whether what stands after a name is a secret, and not code, a placeholder, a word or a number."""
    value = secret_of(found)
    # `password1` is no more a password than `password` is.
    if is_placeholder(value.rstrip("0123456789") or value) or " " in value or _PARTED.match(value):
        return False
    if found.string.startswith(("(", "["), found.end()) and _NAME_IN_CODE.match(value):
        return False  # it is called, or a part of it is taken
    quoted, chosen = found["quoted"] is not None, _CHOSEN.search(found["name"]) is not None
    if _DOTTED.match(value):
        code = _DIGIT.search(value) is None or _OF_CODE.search(value.lower()) is not None
    else:
        code = _CODE.search(value) is not None
    if code and not (quoted and re.search(r"[^\w.]", value)):
        return False
    if found["quoted"] is None and found["bare"] is None:
        if not chosen:
            return is_random(found)
        # It stands in prose, where other words are likelier than one that somebody chose as a password.
        asked = (_DIGIT, _LOWER) if found["told"] is not None else (_DIGIT, _LOWER, _UPPER, _MARK)
        return all(part.search(value.rstrip(".!?")) for part in asked)
    mixed = _DIGIT.search(value) is not None and _LETTER.search(value) is not None
    if chosen and quoted:
        return mixed or re.search(r"[^\w\s.-]", value) is not None
    return mixed and len(value) >= (6 if chosen else 16)
