"""Masking secrets. Every sample is made up: right in form, a key to nothing."""

from __future__ import annotations

import base64
import random
import re
import string
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unseen_secrets
from hermes_tui.redact.redactor import Redactor, patterns
from secret_samples import LOOK_ALIKES, SECRETS, Sample
from session_adapters.model import Message, Session, ToolCall, ToolResult
from unseen_secrets import Unseen

LETTERS = string.ascii_letters + string.digits
CHANCE = random.Random(5)


def some(length: int, alphabet: str = LETTERS) -> str:
    return "".join(CHANCE.choice(alphabet) for _ in range(length))


HEX = "0123456789abcdef"
CAPITALS = string.ascii_uppercase + "234567"
KEYS = {
    "Anthropic key": f"sk-ant-api03-{some(90)}-AA",
    "OpenRouter key": f"sk-or-v1-{some(64, HEX)}",
    "OpenAI key": f"sk-proj-{some(60)}",
    "AWS key": f"AKIA{some(16, CAPITALS)}",
    "GitHub token": f"ghp_{some(36)}",
    "GitLab token": f"glpat-{some(20)}",
    "Slack token": f"xoxb-{some(12, '0123456789')}-{some(24)}",
    "Telegram bot token": f"{some(9, '123456789')}:AA{some(33)}",
    "Google key": f"AIza{some(35)}",
    "Google client secret": f"GOCSPX-{some(28)}",
    "Stripe key": f"sk_live_{some(24)}",
    "Hugging Face token": f"hf_{some(34)}",
    "npm token": f"npm_{some(36)}",
    "PyPI token": f"pypi-AgEIcHlwaS5vcmc{some(80)}",
    "SendGrid key": f"SG.{some(22)}.{some(43)}",
    "DigitalOcean token": f"dop_v1_{some(64, HEX)}",
    "Databricks token": f"dapi{some(32, HEX)}",
    "xAI key": f"xai-{some(80)}",
    "Groq key": f"gsk_{some(52)}",
    "Replicate token": f"r8_{some(37)}",
    "JSON web token": f"eyJ{some(30)}.eyJ{some(60)}.{some(43)}",
    "age key": f"AGE-SECRET-KEY-1{some(58, CAPITALS)}",
    "Vault token": f"hvs.{some(30)}",
    "Linear key": f"lin_api_{some(40)}",
    "Notion token": f"ntn_{some(46)}",
    "Perplexity key": f"pplx-{some(48)}",
    "Tavily key": f"tvly-{some(32)}",
    "Shopify token": f"shpat_{some(32, HEX)}",
    "Discord token": f"{base64.b64encode(some(18, string.digits).encode()).decode()}.{some(6)}.{some(38)}",
    "Google token": f"ya29.{some(60)}",
    "webhook secret": f"whsec_{some(32)}",
    "NVIDIA key": f"nvapi-{some(64)}",
    "Cerebras key": f"csk-{some(48)}",
    "Langfuse key": f"sk-lf-{some(8, HEX)}-{some(4, HEX)}-{some(4, HEX)}-{some(4, HEX)}-{some(12, HEX)}",
    "LangSmith key": f"lsv2_pt_{some(32, HEX)}_{some(10, HEX)}",
    "Jina key": f"jina_{some(60)}",
    "E2B key": f"e2b_{some(40, HEX)}",
    "Docker token": f"dckr_pat_{some(27)}",
    "Grafana token": f"glsa_{some(32)}_{some(8, HEX)}",
    "Sentry token": f"sntryu_{some(64, HEX)}",
    "Tailscale key": f"tskey-auth-k{some(11)}-{some(32)}",
    "Atlassian token": f"ATATT3xFfGF0{some(180)}",
    "Figma token": f"figd_{some(40)}",
    "Supabase token": f"sbp_{some(40, HEX)}",
    "Postman key": f"PMAK-{some(24, HEX)}-{some(34, HEX)}",
    "New Relic key": f"NRAK-{some(27, string.ascii_uppercase + string.digits)}",
    "ClickHouse key": f"4b1d{some(38)}",
    "Defined Networking key": f"dnkey-{some(26, HEX)}-{some(52, HEX)}",
    "Octopus Deploy key": f"API-{some(26, string.ascii_uppercase + string.digits)}",
    "Yandex token": f"AQVN{some(34)}7",
    "1Password key": "-".join(["A3", *(some(length, CAPITALS) for length in (6, 11, 5, 5, 5))]),
    "GoCardless token": f"live_{some(39)}7",
    "Lob key": f"live_{some(35, HEX)}",
    "Twitter token": f"{'A' * 22}{some(85)}",
    "minisign key": f"RWRTY0Iy{some(120)}",
    "Bitbucket token": f"ATBB{some(32)}",
    "Brevo key": f"xkeysib-{some(64, HEX)}-{some(16)}",
    "NuGet key": f"oy2{some(43, string.ascii_lowercase + string.digits)}",
    "Clojars token": f"CLOJARS_{some(60)}",
    "Alibaba key": f"LTAI{some(19)}7",
    "Render key": f"rnd_{some(27)}7",
    "Duffel token": f"duffel_live_{some(43)}",
    "PostHog key": f"phx_{some(43)}",
    "Matrix token": f"syt_{some(12)}_{some(20)}_{some(6)}",
    "Vercel token": f"vcp_{some(40)}7",
    "Cloudflare origin key": f"v1.0-{some(24, HEX)}-{some(146, HEX)}",
    "Harness token": f"pat.{some(22)}.{some(24)}.{some(20)}",
    "Frame.io token": f"fio-u-{some(64)}",
    "Scalingo token": f"tk-us-{some(48)}",
    "Intra42 secret": f"s-s4t2ud-{some(64, HEX)}",
    "SettleMint token": f"sm_aat_{some(16)}",
    "Supabase key": f"sb_secret_{some(31)}",
    "Apify token": f"apify_api_{some(36)}",
    "RunPod key": f"rpa_{some(45, string.ascii_uppercase + string.digits)}",
    "Grafana key": f"eyJrIjoi{some(80)}",
    "WakaTime key": f"waka_{some(8, HEX)}-{some(4, HEX)}-{some(4, HEX)}-{some(4, HEX)}-{some(12, HEX)}",
}
# fmt: off
AROUND = (
    "{}", "export KEY={}", 'key: "{}",', "({})", "`{}`", "{}\nnext", "https://x.org/{}?run",
    'curl -H "x-api-key: {}"', '{{"k": "{}"}}', "a; {}", "**{}**", "_{}*", "-{}\n+x",
    # What comes before is an escape, of JSON, of a terminal, of an address, and no letter of a word.
    r'{{"output": "A=1\n{}\nB=2"}}', r"\t{}", "\x1b[32m{}\x1b[0m", "\x1b[01;31m\x1b[K{}\x1b[m", r"\u001b[1m{}",
    "%20{}&x=1", "to=%3D{}",
)
# fmt: on


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_is_masked_wherever_it_stands(kind: str) -> None:
    for around in AROUND:
        redactor = Redactor()
        masked = redactor.text(around.format(KEYS[kind]))
        assert masked == around.format(f"[masked: {kind}]")
        assert (redactor.secrets, dict(redactor.places)) == (1, {kind: 1})


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://shop:s3cr%40et@db:5432/x", "postgres://shop:[masked: password in an address]@db:5432/x"),
        ("redis://:hunter22@cache", "redis://:[masked: password in an address]@cache"),
        ("https://x.org/?a=1&token=abcdef123&b=2", "https://x.org/?a=1&token=[masked: token in an address]&b=2"),
        ("https://x.org/cb#access_token=abcdef123", "https://x.org/cb#access_token=[masked: token in an address]"),
        (
            "to=https%3A%2F%2Fx%2F?Token%3Dabcdef123&b",
            "to=https%3A%2F%2Fx%2F?Token%3D[masked: token in an address]&b",
        ),
        ("jdbc:x;password=abcdef123;b=2", "jdbc:x;password=[masked: token in an address];b=2"),
        (f"git clone https://{'a1' * 10}@h/x", "git clone https://[masked: token in an address]@h/x"),
        (f"https://{'a1' * 9}a@h/x", f"https://{'a1' * 9}a@h/x"),
        ("https://h/?X-Amz-Signature=0123456789ab", "https://h/?X-Amz-Signature=[masked: token in an address]"),
        ("Authorization: Bearer abcdef.ghij-kl", "Authorization: Bearer [masked: authorization header]"),
        ('{"Authorization": "Basic dXNlcjpwYXNz"}', '{"Authorization": "Basic [masked: authorization header]"}'),
        (
            "https://hooks.slack.com/services/T0AB/B0CD/abcdefghijkl",
            "https://hooks.slack.com/services/[masked: Slack webhook]",
        ),
        (f"aws_secret_access_key = {'a1B/' * 10}", "aws_secret_access_key = [masked: AWS secret key]"),
        (f"'awsSecretKey': '{'a1B/' * 10}'", "'awsSecretKey': '[masked: AWS secret key]'"),
        (f"AWS_SECRET_KEY={'a1B/' * 10}", "AWS_SECRET_KEY=[masked: AWS secret key]"),
        (f"awsSecretAccessKey={'a1B/' * 10}a", "awsSecretAccessKey=[masked: named secret]"),
        (f"AccountKey={'a1' * 43}==;End", "AccountKey=[masked: Azure storage key];End"),
    ],
)
def test_addresses_and_headers_keep_everything_but_the_secret(text: str, masked: str) -> None:
    assert Redactor().text(text) == masked


@pytest.mark.parametrize(
    "form",
    [
        '{} = "{}"', "{}={}", "{} := `{}`", "{} ?= {}", "{} ::= {}", "{} .= '{}'", "{} => '{}'", "{}: {}",
        "{}: '{}'", '"{}": "{}"',
        'var {} string = "{}"', '{}: str = "{}"', "<{}>{}</x>", "<{}>\n    {}\n</x>", '<add name="{}" value="{}" />',
        'put("{}", "{}")', "{}: >-\n  {}", "- name: {}\n  value: {}", 'headers["{}"] = "{}"',
        "{} for the staging server: {}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["shopToken", "SHOP_TOKEN", "shop_api_key", "DB_PASSWORD"])
def test_a_secret_with_a_name_is_masked_however_it_is_set(form: str, name: str) -> None:
    for secret in ("k7Qx0Lm2Rt9Vz4Ws8Yb3Nc", "0b1c2d3e4f5061728394a5b6c7d8e9f0"):
        assert Redactor().text(form.format(name, secret)) == form.format(name, "[masked: named secret]")


VARIANTS = {
    "AWS key": [
        *(f"{name}{some(16, CAPITALS)}" for name in ("ASIA", "ABIA", "ACCA")),
        f"ABSK{some(120)}",
        f"bedrock-api-key-{some(40)}",
    ],
    "Hugging Face token": [f"api_org_{some(34)}"],
    "New Relic key": [f"NRJS-{some(19, HEX)}", f"NRII-{some(32)}"],
    "Yandex token": [f"AQVN{some(34)}7", f"YC{some(37)}7", f"t1.{some(9)}7.{some(86)}"],
    "Lob key": [f"test_{some(35, HEX)}"],
    "GitHub token": [*(f"gh{kind}_{some(36)}" for kind in "ousr"), f"github_pat_{some(22)}_{some(59)}"],
    "GitLab token": [f"gl{kind}-{some(20)}" for kind in ("ptt", "dt", "rt", "soat", "cbt", "imt", "agent", "ft")]
    + [f"GR1348941{some(20)}"],
    "Slack token": [*(f"xox{kind}-{some(24)}" for kind in "aeoprs"), f"xapp-1-{some(24)}"],
    "OpenAI key": [*(f"sk-{kind}-{some(60)}" for kind in ("svcacct", "admin", "None")), f"sk-{some(48)}"],
    "Stripe key": [f"{kind}_{some(24)}" for kind in ("sk_test", "rk_live", "rk_test", "sk_prod")],
    "DigitalOcean token": [f"do{kind}_v1_{some(64, HEX)}" for kind in "or"],
    "Databricks token": [f"dapi{some(32, HEX)}-3"],
    "Shopify token": [f"shp{kind}_{some(32, HEX)}" for kind in ("ca", "pa", "ss")],
    "Vault token": [*(f"hv{kind}.{some(30)}" for kind in "br"), f"s.{some(21)}a1B"],
    "Linear key": [f"lin_oauth_{some(64)}"],
    "LangSmith key": [f"lsv2_sk_{some(32, HEX)}_{some(10, HEX)}"],
    "Docker token": [f"dckr_oat_{some(32)}"],
    "Grafana token": [f"glc_{some(60)}"],
    "Sentry token": [f"sntrys_eyJ{some(60)}"],
    "OpenRouter key": [f"sk-or-{some(40)}"],
    "Brevo key": [f"xsmtpsib-{some(64, HEX)}-{some(16)}"],
    "Notion token": [f"secret_{some(42)}7"],
    "Fly.io token": [f"fo1_{some(43)}"],
}


@pytest.mark.parametrize("kind", VARIANTS)
def test_every_variant_of_a_kind_is_masked(kind: str) -> None:
    """Alone, so that no other mark in the text leads to it."""
    for key in VARIANTS[kind]:
        assert Redactor().text(key) == f"[masked: {kind}]"


def test_all_of_a_kind_in_one_text_are_masked_and_told_in_good_words() -> None:
    keys = [KEYS["GitHub token"], f"gho_{some(36)}", KEYS["GitHub token"]]
    redactor = Redactor()
    assert redactor.text(" ".join(keys)) == " ".join(["[masked: GitHub token]"] * 3)
    assert redactor.report == "2 secrets masked in 3 places: 3 GitHub token"
    one = Redactor()
    one.text(keys[0])
    assert one.report == "1 secret masked in 1 place: 1 GitHub token"


def test_the_shortest_texts_that_hold_a_secret() -> None:
    for before, secret, after in (("ab://:", "x", "@"), ("ftp://u:", "p", "@h"), ("redis://:", "b", "@c")):
        masked = Redactor().text(f"{before}{secret}{after}")
        assert masked == f"{before}[masked: password in an address]{after}"
    assert Redactor().text("?sig=abcdef") == "?sig=[masked: token in an address]"


def test_private_key_blocks_whole_escaped_and_cut_off() -> None:
    lines = "\n".join(some(64, LETTERS + "+/") for _ in range(4))
    for name in ("", "RSA ", "OPENSSH ", "EC ", "ENCRYPTED "):
        block = f"-----BEGIN {name}PRIVATE KEY-----\n{lines}\n-----END {name}PRIVATE KEY-----"
        assert Redactor().text(f"cat key\n{block}\ndone") == "cat key\n[masked: private key]\ndone"
        assert Redactor().text(block.replace("\n", "\\n")) == "[masked: private key]"
    cut = Redactor().text(f"-----BEGIN PRIVATE KEY-----\n{lines}\n{lines[:10]}")
    assert cut == "[masked: private key]"
    block = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{lines}\n-----END PGP PRIVATE KEY BLOCK-----"
    assert Redactor().text(block) == "[masked: private key]"


@pytest.mark.parametrize("before", ["{}→", "{:6}\t", "{} | ", "{}: ", "> ", "+", "- ", "    "])
def test_a_private_key_that_is_cut_off_in_lines_that_are_numbered_or_quoted(before: str) -> None:
    """As agents show a file of which they read the beginning."""
    lines = ["-----BEGIN RSA PRIVATE KEY-----", *(some(64, LETTERS + "+/") for _ in range(9))]
    shown = "\n".join(before.format(number) + line for number, line in enumerate(lines, 1))
    assert Redactor().text(f"cat\n{shown}") == f"cat\n{before.format(1)}[masked: private key]"


def test_a_value_whose_name_stands_apart_from_it() -> None:
    """As the arguments of tools have them, decoded."""
    secret, key = "abcdef.ghij-kl/mnop", "a1B/" * 10
    redactor = Redactor()
    assert redactor.value(
        {
            "headers": {
                "Authorization": f"Basic {secret}",
                "proxy-authorization": f"Bearer {secret}",
                "Accept": "*/*",
            },
            "pairs": [["Authorization", f"Bearer {secret}"], {"name": "authorization", "value": f"bearer {secret}"}],
            "env": {"AWS_SECRET_ACCESS_KEY": key, "AccountKey": f"{'a1' * 43}==", "SECRET_NAME": "the wiki"},
            "other": {"checksum": key, "secret": 7, "authorization": ["none"], "said": "Bearer of bad news"},
        }
    ) == {
        "headers": {
            "Authorization": "Basic [masked: authorization header]",
            "proxy-authorization": "Bearer [masked: authorization header]",
            "Accept": "*/*",
        },
        "pairs": [
            ["Authorization", "Bearer [masked: authorization header]"],
            {"name": "authorization", "value": "bearer [masked: authorization header]"},
        ],
        "env": {
            "AWS_SECRET_ACCESS_KEY": "[masked: AWS secret key]",
            "AccountKey": "[masked: Azure storage key]",
            "SECRET_NAME": "the wiki",
        },
        "other": {"checksum": key, "secret": 7, "authorization": ["none"], "said": "Bearer of bad news"},
    }
    assert (redactor.secrets, redactor.places.total()) == (3, 6)


def test_ids_titles_and_paths_are_masked_like_texts() -> None:
    key = KEYS["GitHub token"]
    one = Session(agent="tiny", session_id=key, title=key, path=f"/home/{key}/a.jsonl")
    masked = Redactor().record(one)
    assert key not in str(masked)
    assert key not in masked.unified_id
    assert (masked.agent, masked.title) == ("tiny", "[masked: GitHub token]")


@pytest.mark.parametrize(
    "text",
    [
        "fixed in 3b3dbc70cd5d5f3a0b3b3dbc7d6f20bd0a098b02, see 72270340-b660-4989-9233-9960b073ec0f",
        "task-manager-for-everyone-who-likes-long-names and risk-averse-people-who-do-not-take-any-at-all",
        "https://example.org/path?page=2&sort=name#section-one and http://localhost:8080/a@b",
        "sk-learn, sk-SK, ghp_short, hf_model, AKIA, eyJ, xoxb-",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n-----BEGIN PUBLIC KEY-----",
        "task-force-one-and-risk-0123456789abcdef0123456789abcdef, my_hf_model_of_the_day, disk-lf-1",
        "the token is in the vault; password: see the wiki; Bearer of bad news",
        '"session_key": "agent:main:telegram:group:-1001234567:5", session_key=agent:main:slack:dm:D0700001',
        "password = base64.b16encode(data); api_key = keys1[0]; password = ':****'",
        "commit 0a098b0 touched 12:30:45 and 10.0.0.1:5432/AAA",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    redactor = Redactor()
    assert redactor.text(text) == text
    assert redactor.report == "no secrets found to mask"


@given(st.text(max_size=200))
def test_masking_twice_is_masking_once(text: str) -> None:
    text = f"{text} {KEYS['GitHub token']} postgres://u:{KEYS['Groq key']}@h/ ?token={KEYS['OpenAI key']}"
    redactor = Redactor()
    once = redactor.text(text)
    again = Redactor()
    assert again.text(once) == once
    assert again.places.total() == 0


def test_a_whole_session_is_masked_and_counted() -> None:
    key, other = KEYS["GitHub token"], KEYS["Anthropic key"]
    call = ToolCall(tool_call_id="c", tool_name="bash", input={"env": {key: [key]}}, output=f"out {other}")
    session = Session(
        agent="tiny",
        session_id="s",
        title=f"use {key}",
        raw={"x": {"y": key}},
        messages=(
            Message(role="user", content=f"my key is {key}", thinking=other),
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", tool_result=ToolResult(tool_call_id="c", output=[f"{key}"])),
            Message(role="user", content="nothing here"),
        ),
    )
    redactor = Redactor()
    masked = redactor.record(session)
    assert key not in str(masked)
    assert other not in str(masked)
    assert masked.unified_id == session.unified_id
    assert masked.messages[3] is session.messages[3]
    assert redactor.secrets == 2
    assert redactor.places == {"GitHub token": 6, "Anthropic key": 2}
    assert redactor.report == "2 secrets masked in 8 places: 6 GitHub token, 2 Anthropic key"


def cpu_of(text: str, size: int) -> float:
    """Seconds of this thread for so many characters of such text; the least of three, as others are at work too."""
    text = (text * (size // len(text) + 1))[:size]

    def once() -> float:
        began = time.thread_time()
        Redactor().text(text)
        return time.thread_time() - began

    return min(once() for _ in range(3))


HOSTILE = (
    *"aA0=\"'`:;.,@/\\-_+<&? \n\r\t\u200b\xa0",
    *("\x1b[1m", "\x1b[", "\x1b]8;;", "a1", "a:", "a.", "a b ", "a\n ", "a1\\\n", "a\u200b", "1. ripple ", "?token="),
    *(
        "curl -u ",
        "curl -u a:",
        "mysql -p",
        "login -p ",
        "login -p a1b ",
        "redis-cli -a ",
        "htpasswd -b a ",
        " -p",
        "--password ",
    ),
    *(
        "a://",
        "a://b:c",
        "https://",
        "https://a:b/",
        "@tcp(a:",
        "a=b;",
        "cookie: a=b; ",
        "authorization: bearer ",
        "bearer a",
    ),
    *(
        "password",
        "password=",
        "password=a.b ",
        '"password": "',
        "password is ",
        "<password>",
        "secret ",
        "key for a a a",
    ),
    *("seed ", "seed: abandon ", "eyJ", "eyJaaaaaaaa.", "M" * 24 + ".", "sk-ant-", "kind: Secret\n  a: abcdefg1\n"),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "LS0tLS1CRUdJTi",
        "Private-Lines: 1\n",
        "a:5432:b:c:d ",
        '{"name": "token", "value": ',
    ),
    " ".join(mark for pattern in patterns() for mark in pattern.marks) + " ",
    "".join(random.Random(7).choices(LETTERS + "+/", k=150_000)),
)


def test_work_grows_with_the_text_and_not_with_its_square() -> None:
    """Four times the text is four times the work; where it grew with the square it was sixteen times."""
    pairs = {text[:40]: (cpu_of(text, 40_000), cpu_of(text, 160_000)) for text in HOSTILE}
    assert {text: pair for text, pair in pairs.items() if pair[1] > 8 * pair[0] + 0.02} == {}


def test_every_kind_is_found_in_a_sample() -> None:
    assert all(mark == mark.lower() for pattern in patterns() for mark in pattern.marks)
    redactor = Redactor()
    for text in (
        *(one.text for one in SECRETS),
        *KEYS.values(),
        *(key for keys in VARIANTS.values() for key in keys),
    ):
        redactor.text(text)
    assert {pattern.kind for pattern in patterns()} - set(redactor.places) == set()


HIDDEN = re.compile(r"\x1b\[[0-9;:]*[A-Za-z]|[\u200b-\u200d\u2060\ufeff\u00ad]")


def is_readable(sample: Sample | Unseen) -> bool:
    """Whether half of a secret, or more, is left in a row."""
    before, after = HIDDEN.sub("", sample.text), HIDDEN.sub("", Redactor().text(sample.text))
    for secret in sample.secrets:
        half = min(max(5, (len(secret) + 1) // 2), len(secret))
        runs = (secret[begin : begin + half] for begin in range(len(secret) - half + 1))
        if any(after.count(run) >= before.count(run) for run in runs):
            return True
    return False


def by_kind(samples: Iterable[Unseen]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in Counter(one.kind for one in samples).most_common())


def test_of_two_hundred_secrets_at_most_one_in_twenty_is_missed() -> None:
    missed = [one.text for one in SECRETS if is_readable(one)]
    assert len(SECRETS) > 200
    assert len(missed) <= len(SECRETS) * 0.05, missed


def test_of_two_hundred_look_alikes_at_most_three_in_a_hundred_are_masked() -> None:
    taken = [text for text in LOOK_ALIKES if Redactor().text(text) != text]
    assert len(LOOK_ALIKES) > 200
    assert len(taken) <= len(LOOK_ALIKES) * 0.03, taken


def test_of_secrets_written_without_sight_of_the_rules_few_are_missed() -> None:
    missed = [one for one in unseen_secrets.SECRETS if is_readable(one)]
    assert len(unseen_secrets.SECRETS) > 250
    assert len(missed) <= len(unseen_secrets.SECRETS) * 0.05, by_kind(missed)


def test_of_look_alikes_written_without_sight_of_the_rules_few_are_masked() -> None:
    taken = [one for one in unseen_secrets.LOOK_ALIKES if Redactor().text(one.text) != one.text]
    assert len(unseen_secrets.LOOK_ALIKES) > 150
    assert len(taken) <= len(unseen_secrets.LOOK_ALIKES) * 0.03, by_kind(taken)


def test_expressions_are_compiled_when_a_text_has_their_mark() -> None:
    counted = (
        "from hermes_tui.redact.redactor import Redactor; from hermes_tui.redact.pattern import compiled;"
        "size = lambda: compiled.cache_info().currsize;"
        "print(size(), Redactor().text('nothing of them') and size(), Redactor().text('glpat-' + 'x' * 9) and size())"
    )
    found = subprocess.run([sys.executable, "-c", counted], check=True, capture_output=True, text=True).stdout
    at_start, without, with_one = map(int, found.split())
    assert (at_start, without) == (0, 0)
    assert 0 < with_one < 12


@pytest.mark.parametrize("behind", [" and so it went on", "\nand so it went on", "andsoitwenton"], ids=repr)
def test_the_beginning_of_a_text_shows_no_part_of_a_secret_that_goes_on_behind_it(behind: str) -> None:
    shown = []
    for sample in SECRETS:
        text = f"It began so.\n{sample.text}{behind * 300}"
        masked = Redactor().text(text)
        for secret in sample.secrets:
            at = text.find(secret)
            for length in {at + 8, at + len(secret) // 2, at + len(secret) - 1} if at >= 0 else ():
                part = text[max(at, length - 60) : length]
                beginning = Redactor().beginning(text, length)[:length]
                shown += [(sample.kind, length - at, beginning)] * (part in beginning and part not in masked)
    assert shown == []


def test_the_beginning_of_a_text_is_as_in_the_whole() -> None:
    for sample in SECRETS:
        text = f"{'It began so. ' * 9}\n{sample.text}\n{'It went on. ' * 400}"
        assert Redactor().text(text).startswith(Redactor().beginning(text, 700)), sample
        assert Redactor().beginning(text, len(text)) == Redactor().text(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"d": "', '", "use": "sig", ' + '"note": "a b", ' * 60 + '"kty": "OKP"}'),
        ("data:\n  blob: ", "\n" + "  note: of a deployment\n" * 40 + "kind: Secret\n"),
        (
            '-----BEGIN RSA PRIVATE KEY-----",\n12:01 app "',
            '",\n' + '12:01 app "qwertyuiop",\n' * 40 + '12:01 app "-----END RSA PRIVATE KEY-----"',
        ),
    ],
    ids=["key set", "manifest", "lines of a log"],
)
def test_the_beginning_of_a_text_is_masked_by_what_stands_far_behind(before: str, after: str) -> None:
    secret = some(40) + "a1B2"
    text = f"{before}{secret}{after}{' and so on' * 400}"
    assert secret not in Redactor().text(text)
    assert secret not in Redactor().beginning(text, len(before) + 60)
