"""Secrets that have no form of their own and are told by what stands around them.

Names (`password: …`, `API_KEY=…`), headers, addresses, options of programs, and files of well-known forms.
"""

from __future__ import annotations

import base64
import binascii
import re

from hermes_tui.redact.pattern import is_placeholder, pattern

__all__ = ["CONTEXTS", "is_secret_name"]

_NAMES = (
    r"(?:token|pass(?:word|wd|phrase|code)?|pwd|psk|credentials?|key"
    r"|secret(?:[_-]?(?:access)?[_-]?key(?:[_-]base)?)?)"
)
_BEFORE_KEY = re.compile(r"(?:api|auth|access|private|encryption|signing|account|subscription)[_-]?\Z", re.IGNORECASE)
"""What makes a name that ends in `key` the name of a secret."""


def is_secret_name(name: str) -> bool:
    """Whether a name (`DB_PASSWORD`, `apiKey`, `X-Auth-Token`) says that its value is a secret."""
    found = _NAME_END.search(name[-80:])
    return found is not None and _is_name(found)


_NAME_END = re.compile(rf"(?P<name>{_NAMES}|authorization)\Z", re.IGNORECASE | re.ASCII)


def _is_name(found: re.Match[str]) -> bool:
    name, begin = found["name"].lower(), found.start("name")
    if name == "key":
        return _BEFORE_KEY.search(found.string[max(begin - 16, 0) : begin]) is not None
    return name not in {"pass", "pwd"} or found.string[begin - 1 : begin] in {"_", ".", "-"}


_NAMED_MARKS = "pass pwd psk secret token key credential"
_BLANK = r"[ \t]{0,8}"
_CLOSE = r"[\"'`\\]{0,3}"
_ASSIGNED = (
    rf"(?P<name>{_NAMES}){_CLOSE}{_BLANK}(?::=|=>|=|:)(?!=){_BLANK}"
    r"(?:\\?(?P<quote>[\"'`])(?P<quoted>[^\"'`\n\\]{4,500})\\?(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;<>()\[\]{}|\\]{4,4000}))"
)
_CHOSEN = re.compile(r"(?i:password|passwd|passphrase|passcode|pass|pwd|psk)\Z")
"""Names of what people choose themselves; all others are made by machines, hence long."""
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[A-Za-z]")
_CODE = re.compile(
    r"\A[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_]\w*)+\Z|\A[./~][^+=]{0,119}\Z|\A[A-Za-z_]+\Z|://|::|->|\w\("
)
"""A dotted name, a path, one word without a digit, an address, a call."""


def _is_assigned(found: re.Match[str]) -> bool:
    """Whether what a name is set to is a secret, and not code, a placeholder, a word or a number."""
    if not _is_name(found):
        return False
    quoted = found["quoted"] is not None
    value = found["quoted"] if quoted else found["bare"]
    if is_placeholder(value.rstrip("0123456789") or value) or (
        _CODE.search(value) and not (quoted and re.search(r"[^\w.]", value))
    ):
        return False
    mixed = _DIGIT.search(value) is not None and _LETTER.search(value) is not None
    if _CHOSEN.search(found["name"]):
        if quoted and " " not in value:
            return mixed or re.search(r"[^\w\s.-]", value) is not None
        return mixed and len(value) >= 6 and " " not in value
    return mixed and len(value) >= 16 and " " not in value


def _is_basic(found: re.Match[str]) -> bool:
    """Whether base64 holds `user:password`."""
    try:
        return b":" in base64.b64decode(found["secret"], validate=True)
    except (binascii.Error, ValueError):
        return False


def _is_value(found: re.Match[str]) -> bool:
    return not is_placeholder(found["secret"])


def _is_mixed(found: re.Match[str]) -> bool:
    value = found["secret"]
    return not is_placeholder(value) and bool(_DIGIT.search(value) or re.search(r"[^\w.-]", value))


def _is_address_password(found: re.Match[str]) -> bool:
    secret = found["secret"]
    return not is_placeholder(secret) and not (found["web"] and "/" in secret) and not re.match(r"\d{1,5}/", secret)


_PARAMETERS = (
    r"(?:access[_-]?token|refresh[_-]?token|id[_-]?token|auth[_-]?token|session[_-]?token|token|api[_-]?key|apikey"
    r"|access[_-]?key|client[_-]?secret|secret|password|passwd|pwd|signature|sig|x-amz-signature"
    r"|x-amz-security-token|x-goog-signature|authorization)"
)
_ARGUMENT = r"(?P<open>[\"']?)(?P<secret>[^\s\"'|;&<>]{3,200}|(?<=[\"'])[^\"'\n]{3,200})(?P=open)"
_OPTIONS = r"[^\n|;&]{0,200}?[ \t]"

CONTEXTS = (
    pattern(
        "password in an address",
        "://",
        r"\b(?P<web>https?(?=:))?[A-Za-z][A-Za-z0-9+.-]{0,30}(?<!/)://[^\s:/\"'<>\\]{0,200}:"
        r"(?P<secret>[^\s\"'<>\\`]{1,500})@(?=[A-Za-z0-9.\[$_-]{0,253}(?:[:/?,#&\s\"'`)\]}>;\\]|\Z))",
        accepts=_is_address_password,
    ),
    pattern(
        "password in an address",
        "@tcp( @unix(",
        r"(?<![\w.-])[\w.-]{1,64}:(?P<secret>[^\s\"'<>@]{1,200})@(?:tcp|unix)\(",
        accepts=_is_value,
    ),
    pattern("token in an address", "://", r"\bhttps?://(?P<secret>[A-Za-z0-9_-]{20,255})@", accepts=_is_value),
    pattern(
        "token in an address",
        "= %3d",
        rf"[?&#;]{_PARAMETERS}(?:=|%3D)(?P<secret>[^\s&#;\"'<>\\)\]}}|]{{6,2000}})",
        re.IGNORECASE,
        accepts=_is_value,
    ),
    pattern(
        "authorization header",
        "authorization",
        r"authorization[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?:bearer|basic|token|apikey|digest)\s{1,3}"
        r"(?P<secret>[A-Za-z0-9._~+/=-]{8,4000})",
        re.IGNORECASE,
        accepts=_is_value,
    ),
    # All of a text: the value of a header whose name stands elsewhere.
    pattern(
        "authorization header",
        "bearer",
        r"\A\s{0,3}bearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,4000})\s{0,3}\Z",
        re.IGNORECASE,
        accepts=_is_value,
    ),
    pattern(
        "cookie",
        "cookie",
        r"\b(?:set-)?cookie[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?:[\w.-]{1,80}=[^;\s\"'\\]{0,11};\s?){0,20}"
        r"[\w.-]{1,80}=(?P<secret>[^;\s\"'\\]{12,4000})",
        re.IGNORECASE,
        accepts=_is_mixed,
    ),
    pattern(
        "AWS secret key",
        "secret",
        r"aws_?secret_?(?:access_?)?key[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?P<secret>[A-Za-z0-9/+=]{40})"
        r"(?![A-Za-z0-9/+=])",
        re.IGNORECASE,
        accepts=_is_value,
    ),
    pattern("Azure storage key", "accountkey=", r"AccountKey=[\"']?(?P<secret>[A-Za-z0-9+/]{86}==)", re.IGNORECASE),
    pattern("named secret", _NAMED_MARKS, _ASSIGNED, re.IGNORECASE, accepts=_is_assigned),
    pattern(
        "named secret",
        "pass",
        r"<(?P<tag>[\w:.-]{0,40}(?:password|passphrase))>(?P<secret>[^<>\s]{4,200})</(?P=tag)>",
        re.IGNORECASE,
        accepts=_is_mixed,
    ),
    pattern(
        "named secret",
        "password passphrase",
        r"\bpass(?:word|phrase) (?:is|was):? (?P<secret>(?=[^\s\"'`,;]*\d)[^\s\"'`,;]{6,100}[^\s\"'`,;.!?])",
        re.IGNORECASE,
        accepts=_is_mixed,
    ),
    pattern(
        "registry login",
        "auth",
        r"\"auth\"\s{0,3}:\s{0,3}\"(?P<secret>[A-Za-z0-9+/]{8,400}={0,2})\"",
        accepts=_is_basic,
    ),
    pattern(
        "Kubernetes secret",
        "secret",
        r"(?<=\n)(?P<indent>[ \t]{1,8})[\w.-]{1,80}:[ \t](?P<secret>[A-Za-z0-9+/]{8,4000}={0,2})(?=\s|\Z)",
        accepts=lambda found: "kind: Secret" in found.string and _is_mixed(found),
    ),
    pattern(
        "password in a command",
        "--pass --token --secret --api-key",
        r"(?<=\s)--(?:pass(?:word|wd|phrase)?|token|secret|api-?key|auth-token|access-token)"
        rf"(?:=|[ \t]{{1,3}}){_ARGUMENT}",
        accepts=_is_mixed,
    ),
    pattern(
        "password in a command",
        "curl wget http",
        rf"\b(?:curl|wget|http)\b{_OPTIONS}(?:-u|--user)[ \t=]?(?P<quote>[\"']?)"
        r"[^\s:\"']{1,80}:(?P<secret>[^\s\"']{3,200})",
        accepts=_is_value,
    ),
    pattern(
        "password in a command",
        "mysql mariadb",
        rf"\b(?:mysql|mariadb)[a-z-]{{0,12}}{_OPTIONS}-p(?!rotocol|ort|ager|lugin|ipe|rint)(?P<quote>[\"']?)(?P<secret>[^\s\"'-][^\s\"']{{2,100}})",
        accepts=_is_mixed,
    ),
    pattern(
        "password in a command",
        "login",
        rf"\blogin{_OPTIONS}-p[ \t]{{1,3}}{_ARGUMENT}",
        accepts=_is_mixed,
    ),
    pattern("password in a command", "sshpass", rf"\bsshpass[ \t]+-p[ \t]?{_ARGUMENT}", accepts=_is_value),
    pattern(
        "password in a command",
        "htpasswd",
        rf"\bhtpasswd[ \t]+-[a-zA-Z]{{0,5}}b[a-zA-Z]{{0,5}}[ \t]+(?:\S{{1,200}}[ \t]+){{1,2}}{_ARGUMENT}(?=\s|\Z)",
        accepts=_is_value,
    ),
    pattern("password in a command", "redis-cli", rf"\bredis-cli{_OPTIONS}-a[ \t]+{_ARGUMENT}", accepts=_is_value),
    pattern("password in a command", "ldap", rf"\bldap[a-z]{{3,10}}{_OPTIONS}-w[ \t]+{_ARGUMENT}", accepts=_is_value),
    pattern(
        "password in a command",
        "-passin -passout",
        r"-pass(?:in|out)[ \t]+[\"']?pass:(?P<secret>[^\s\"']{3,200})",
        accepts=_is_value,
    ),
    pattern(
        "password in a file",
        "login",
        r"\blogin[ \t\n]{1,3}\S{1,100}[ \t\n]{1,3}password[ \t\n]{1,3}(?P<secret>\S{3,200})",
        accepts=_is_value,
    ),
    pattern(
        "password in a file",
        ":",
        r"(?m:^)[\w.*-]{1,200}:(?:\d{4,5}|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:(?P<secret>[^\s:]{4,200})(?m:$)",
        accepts=_is_value,
    ),
    pattern(
        "seed phrase",
        "seed recovery mnemonic",
        r"\b(?:seed|recovery|mnemonic)\b[^\n\"':=]{0,24}[\"']?\s{0,3}(?:is|are|was|[:=])\s{0,3}[\"']?"
        r"(?P<secret>[a-z]{3,8}(?:[ \t]+[a-z]{3,8}){11,23})(?![ \t]*[a-z])",
        re.IGNORECASE,
    ),
)
