"""Two hundred texts with a secret in each, and two hundred look-alikes, as they stand in agents' transcripts.

The bodies of keys are made here from a fixed seed, so that no text in this repository is a key that somebody issued
or that a scanner of repositories would stop at. `{}` in a template is where the secret stands.
"""

from __future__ import annotations

import base64
import random
import string
import urllib.parse
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["LOOK_ALIKES", "SECRETS", "Sample"]

_RANDOM = random.Random(20260101)
_LETTERS, _HEX = string.ascii_letters + string.digits, "0123456789abcdef"


class Sample(NamedTuple):
    """A text that holds a secret."""

    kind: str
    """prefix, header, address, context, key block, split: how a reader tells that it is one."""
    text: str
    secrets: tuple[str, ...]
    """What must not be readable any more."""


def _of(alphabet: str, length: int) -> str:
    """Random, with a digit, so that it is not a word by accident."""
    return "".join(_RANDOM.choice(alphabet) for _ in range(length - 1)) + "7"


def _a(length: int) -> str:
    return _of(_LETTERS, length)


def _u(length: int) -> str:
    return _of(_LETTERS + "_-", length)


def _h(length: int) -> str:
    return _of(_HEX, length)


def _up(length: int) -> str:
    return _of(string.ascii_uppercase + string.digits, length)


def _b64(data: str) -> str:
    return base64.b64encode(data.encode()).decode()


def _url64(data: str) -> str:
    return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")


def _jwt() -> str:
    head, claims = _url64('{"alg":"HS256","typ":"JWT"}'), _url64('{"sub":"1234567890","name":"Ana","iat":1516239022}')
    return f"{head}.{claims}.{_u(43)}"


def _prefixes() -> Iterator[Sample]:
    """Keys that their makers gave a form of their own, in the sentences and commands where they are met."""
    around = (
        "export KEY={}",
        "I use {} for now.",
        "{}",
        '{{"key":"{}"}}',
        "curl -s https://api.example.com -d key={}",
        "error: invalid key {} (401)",
        "1→KEY={}",
        "The old one was `{}`; rotate it.",
        "KEY: {}\nPORT: 80",
    )
    keys = (
        f"sk-ant-api03-{_u(93)}AA",
        f"sk-ant-oat01-{_u(93)}AA",
        f"sk-proj-{_u(74)}T3BlbkFJ{_u(74)}",
        f"sk-{_a(20)}T3BlbkFJ{_a(20)}",
        f"sk-svcacct-{_u(58)}T3BlbkFJ{_u(58)}",
        f"sk-or-v1-{_h(64)}",
        f"gsk_{_a(52)}",
        f"xai-{_a(80)}",
        f"pplx-{_a(48)}",
        f"hf_{_of(string.ascii_letters, 34)}",
        f"r8_{_a(37)}",
        f"ghp_{_a(36)}",
        f"gho_{_a(36)}",
        f"ghs_{_a(36)}",
        f"github_pat_{_a(22)}_{_a(59)}",
        f"glpat-{_u(20)}",
        f"glrt-{_u(20)}",
        f"xoxb-{_of('123456789', 12)}-{_of('123456789', 12)}-{_a(24)}",
        f"xoxp-{_of('123456789', 12)}-{_of('123456789', 12)}-{_of('123456789', 12)}-{_h(32)}",
        f"xapp-1-A{_up(10)}-{_of('123456789', 13)}-{_h(64)}",
        f"https://hooks.slack.com/services/T{_up(9)}/B{_up(9)}/{_a(24)}",
        f"https://discord.com/api/webhooks/{_of('123456789', 18)}/{_u(68)}",
        f"{_url64(_of('123456789', 18))}.{_a(6)}.{_u(38)}",
        f"{_of('123456789', 10)}:AA{_u(33)}",
        f"AKIA{_of('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}",
        f"AIza{_u(35)}",
        f"ya29.{_u(120)}",
        f"GOCSPX-{_u(28)}",
        f"sk_live_{_a(24)}",
        f"rk_live_{_a(24)}",
        f"whsec_{_a(32)}",
        f"npm_{_a(36)}",
        f"pypi-AgEIcHlwaS5vcmc{_u(130)}",
        f"SG.{_u(22)}.{_u(43)}",
        f"dop_v1_{_h(64)}",
        f"dapi{_h(32)}",
        f"shpat_{_h(32)}",
        f"tvly-dev-{_a(32)}",
        f"lin_api_{_a(40)}",
        f"ntn_{_a(46)}",
        f"nvapi-{_u(64)}",
        f"csk-{_of(string.ascii_lowercase + string.digits, 48)}",
        f"sk-lf-{_h(8)}-{_h(4)}-{_h(4)}-{_h(4)}-{_h(12)}",
        f"lsv2_pt_{_h(32)}_{_h(10)}",
        f"dckr_pat_{_u(27)}",
        f"glsa_{_a(32)}_{_h(8)}",
        f"sntryu_{_h(64)}",
        f"tskey-auth-{_a(12)}CNTRL-{_a(32)}",
        f"ATATT3xFfGF0{_u(171)}",
        f"figd_{_u(40)}",
        f"sbp_{_h(40)}",
        f"PMAK-{_h(24)}-{_h(34)}",
        f"NRAK-{_up(27)}",
        f"hvs.{_u(90)}",
        _jwt(),
        f"SK{_h(32)}",
        f"key-{_h(32)}",
        f"{_h(32)}-us12",
        f"pscale_tkn_{_u(43)}",
        f"dp.pt.{_a(43)}",
        f"pul-{_h(40)}",
        f"{_a(14)}.atlasv1.{_u(67)}",
        f"pat{_a(14)}.{_h(64)}",
        f"EAAAE{_u(59)}",
        f"sq0csp-{_u(43)}",
        f"nfp_{_a(36)}",
        f"sl.B{_u(135)}",
        f"rubygems_{_h(48)}",
        f"cio{_a(32)}",
        f"HRKU-AA{_u(58)}",
        f"sk_{_h(48)}",
        f"fc-{_h(32)}",
        f"pcsk_{_a(6)}_{_a(63)}",
        f"re_{_a(8)}_{_a(24)}",
        f"bkua_{_h(40)}",
        f"sgp_{_h(40)}",
        f"EZAK{_a(54)}",
        f"rdme_{_h(70)}",
        f"tfp_{_u(43)}_{_u(14)}",
        f"ico-{_a(32)}",
        f"CFPAT-{_u(43)}",
        f"dt0c01.{_up(24)}.{_up(64)}",
        f"pat-na1-{_h(8)}-{_h(4)}-{_h(4)}-{_h(4)}-{_h(12)}",
        f"sha256~{_u(43)}",
        f"squ_{_h(40)}",
        f"ops_eyJ{_a(250)}",
        f"AGE-SECRET-KEY-1{_of('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}",
        f"fm2_{_a(120)}",
        f"AKCp{_a(69)}",
        f"CCIPAT_{_a(22)}_{_h(40)}",
        f"tgp_v1_{_u(43)}",
        f"pnu_{_a(36)}",
        f"access-sandbox-{_h(8)}-{_h(4)}-{_h(4)}-{_h(4)}-{_h(12)}",
        f"FLWSECK_TEST-{_h(32)}-X",
        f"shippo_live_{_h(40)}",
        f"aio_{_a(28)}",
        f"EAAC{_a(180)}",
        f"sk.eyJ{_u(80)}.{_u(22)}",
        f"{_a(3)}8Q~{_a(34)}",
        f"wandb_v1_{_a(77)}",
        f"cfut_{_a(48)}",
        f"jina_{_u(60)}",
        f"e2b_{_h(40)}",
    )
    for number, key in enumerate(keys):
        yield Sample("prefix", around[number % len(around)].format(key), (key.rpartition("/")[2],))


def _headers() -> Iterator[Sample]:
    for template, secret in (
        ("Authorization: Bearer {}", _a(40)),
        ('{{"headers": {{"Authorization": "Bearer {}"}}}}', _u(64)),
        ("curl -H 'Authorization: token {}' https://git.example.com", _h(40)),
        ("Authorization: Basic {}", _b64("deploy:Ghr7!kkq2")),
        ("proxy-authorization: Basic {}", _b64("proxy:8uhb6tgv")),
        ("PRIVATE-TOKEN: {}", _u(20)),
        ("curl --header 'PRIVATE-TOKEN: {}' https://gitlab.example.com/api/v4/projects", _u(20)),
        ("X-API-Key: {}", _a(32)),
        ("curl -H 'x-api-key: {}' localhost:8000", _u(32)),
        ("api-key: {}", _h(32)),
        ("Cookie: sessionid={}; csrftoken=x", _a(32)),
        ("Set-Cookie: session={}; HttpOnly; Path=/", _u(60)),
        ("X-Auth-Token: {}", _h(32)),
        ("Ocp-Apim-Subscription-Key: {}", _h(32)),
        ("'X-Vault-Token': '{}'", _a(26)),
    ):
        yield Sample("header", template.format(secret), (secret,))


def _addresses() -> Iterator[Sample]:
    for template, secret in (
        ("postgres://app:{}@db:5432/shop", "s3cr3tPW"),
        ("DATABASE_URL=postgresql+psycopg://app:{}@10.0.0.5/shop", "Tr0ub4dor&3"),
        ("mysql://root:{}@127.0.0.1/shop", "hunter22"),
        ("redis://:{}@cache:6379/0", _a(24)),
        ("mongodb+srv://ana:{}@cluster0.example.net/test", "p/ss@w0rd"),
        ("mongodb://ana:{}@mongo:27017", "x@y@z99!"),
        ("amqp://worker:{}@mq", "rab8bit!"),
        ("root:{}@tcp(127.0.0.1:3306)/shop?parseTime=true", "Sup3rGo"),
        ("app:{}@unix(/run/mysqld/mysqld.sock)/shop", "g0dsn99"),
        ("jdbc:postgresql://db/shop?user=app&password={}", "jdbcPw77"),
        ("git clone https://oauth2:{}@gitlab.example.com/a/b.git", _a(20)),
        ("git remote add origin https://{}@github.com/a/b.git", _a(40)),
        ("GET /v1/me?access_token={}&limit=5", _u(60)),
        ("https://bucket.s3.amazonaws.com/a.zip?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature={}", _h(64)),
        ("https://store.blob.core.windows.net/c/b?sv=2024-01-01&sig={}", urllib.parse.quote(_a(43) + "=", safe="")),
        ("smtp://mailer@example.com:{}@smtp.example.com:587", "m41lPass"),
        ("cloudinary://123456789012345:{}@shop", _u(27)),
        ("sftp://ana:{}@files.example.com/upload", "f1lez-Up"),
    ):
        yield Sample("address", template.format(secret), (secret,))


def _contexts() -> Iterator[Sample]:
    for template, secret in (
        ('{{"user": "ana", "password": "{}"}}', "correct-horse-9"),
        ("password: {}", "Wint3r!2025"),
        ("  password: '{}'\n  host: db", "k8s&Secret"),
        ("DB_PASSWORD={}", "pgpw_5521"),
        ('export ADMIN_PASSWORD="{}"', "Adm1n#99x"),
        ("POSTGRES_PASSWORD: {}", "mysecretpw1"),
        ("SECRET_KEY = 'django-insecure-{}'", _a(50)),
        ("secret_key_base: {}", _h(128)),
        ("//registry.example.com/:_authToken={}", _h(36)),
        ("_password={}", _b64("npmPassw0rd")),
        ("psql 'host=db user=app password={} dbname=shop'", "libpq_Pw8"),
        ("PGPASSWORD={} psql -h db -U app shop", "pgEnvPw1"),
        ("MYSQL_PWD={} mysql -u root", "myEnvPw2"),
        ("kind: Secret\nmetadata:\n  name: db\ndata:\n  password: {}", _b64("s3cretInK8s")),
        ("kind: Secret\nstringData:\n  api-token: {}", _a(30)),
        ("apiVersion: v1\nkind: Secret\ndata:\n  config.toml: {}", _b64("user = 1; pw = 2")),
        ("mysql -u root -p{} shop", "Dump1234"),
        ("mysqldump --password={} shop > dump.sql", "Dump5678"),
        ("docker login -u ana -p {} registry.example.com", "D0ckerPw"),
        ("docker login --username ana --password {} registry.example.com", "D0ckerPx"),
        ('{{"auths": {{"registry.example.com": {{"auth": "{}"}}}}}}', _b64("ana:D0ckerPy99")),
        ("curl -u ana:{} https://example.com", "curlPw99"),
        ("curl --user 'ana:{}' https://example.com", "curl:Pw98"),
        ("sshpass -p '{}' ssh root@10.0.0.2", "r00tPw!"),
        ("htpasswd -b .htpasswd ana {}", "htPass12"),
        ("machine example.com login ana password {}", "netrcPw3"),
        ("db:5432:shop:app:{}", "pgpassPw4"),
        ("client_secret={}", _u(40)),
        ('"client_secret": "{}",', _a(32)),
        ('  password = "{}"', "terraf0rm!"),
        ("<password>{}</password>", "m4venPw"),
        ("spring.datasource.password={}", "spr1ngPw"),
        ("ENV API_TOKEN={}", _a(32)),
        ("docker run -e REDIS_PASSWORD={} redis", "runPw5521"),
        ("aws_secret_access_key = {}", _of(_LETTERS + "/+", 40)),
        ("AWS_SESSION_TOKEN={}", _of(_LETTERS + "/+", 300)),
        ("Environment=TOKEN={}", _h(40)),
        ("ansible_ssh_pass: {}", "ans1blePw"),
        ("redis-cli -h cache -a {} ping", "redisCliPw6"),
        ("ldapsearch -D cn=admin -w {} -b dc=example", "ldapPw77"),
        ("openssl rsa -in key.pem -passin pass:{}", "opensslPw8"),
        ("psk={}", "wifiPassphrase9"),
        ("const apiKey = '{}';", _a(32)),
        ("api_key: {}", _h(32)),
        ("DEEPGRAM_API_KEY={}", _h(40)),
        ("MISTRAL_API_KEY={}", _a(32)),
        ("TWILIO_AUTH_TOKEN={}", _h(32)),
        ('"refreshToken":"{}"', _u(64)),
        ("AccountKey={};EndpointSuffix=core.windows.net", _of(_LETTERS + "+/", 86) + "=="),
        ("PrivateKey = {}", _of(_LETTERS + "+/", 43) + "="),
        (
            "My seed phrase is {}",
            "abandon ability able about above absent absorb abstract absurd abuse access accident",
        ),
        ('MNEMONIC="{}"', "legal winner thank year wave sausage worth useful legal winner thank yellow"),
        (
            "mnemonic: {}",
            "letter advice cage absurd amount doctor acoustic avoid letter advice cage absurd amount doctor "
            "acoustic avoid letter advice cage absurd amount doctor acoustic bless",
        ),
        ("Server=db;Database=shop;User Id=sa;Password={};", "Sq1Server!"),
        ("the password is {}", "Tulip-Lamp-42"),
        ("passphrase: {}", "long words 4 keys"),
    ):
        yield Sample("context", template.format(secret), (secret,))


def _lines(text: str, width: int) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def _blocks() -> Iterator[Sample]:
    """Private keys. What stands in their middle must be gone."""
    body = _of(_LETTERS + "+/", 64 * 12)
    middle = body[64 * 5 : 64 * 6 - 8]

    def pem(kind: str, head: str = "") -> str:
        return f"-----BEGIN {kind}-----\n{head}{_lines(body, 64)}\n-----END {kind}-----"

    rsa = pem("RSA PRIVATE KEY")
    putty = (
        f"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: a\nPublic-Lines: 1\nAAAA\n"
        "Private-Lines: 12\n"
        f"{_lines(body, 64)}\nPrivate-MAC: {_h(64)}"
    )
    wrapped = _b64(rsa)
    for text in (
        rsa,
        pem("OPENSSH PRIVATE KEY"),
        pem("PRIVATE KEY"),
        pem("ENCRYPTED PRIVATE KEY"),
        pem("EC PRIVATE KEY"),
        pem("PGP PRIVATE KEY BLOCK", "\n"),
        rsa.rpartition("-----END")[0],
        rsa.replace("\n", "\\n"),
        "\n".join(f"{number}→{line}" for number, line in enumerate(rsa.splitlines(), 1)),
        putty,
    ):
        yield Sample("key block", text, (middle,))
    yield Sample("key block", f"tls.key: {wrapped}", (wrapped[400:450],))
    yield Sample("key block", f"echo {wrapped} | base64 -d > id_rsa", (wrapped[400:450],))


def _splits() -> Iterator[Sample]:
    """Keys that do not stand in one piece."""
    for number, key in enumerate((f"ghp_{_a(36)}", f"sk-ant-api03-{_u(93)}AA", f"glpat-{_u(20)}")):
        half = len(key) // 2
        first, second = key[:half], key[half:]
        if number == 1:
            yield Sample("split", f"KEY={first}\n{second}\n", (second,))
            yield Sample("split", f"KEY={first}\\\n{second}\n", (second,))
        yield Sample("split", f"{first}\x1b[32m{second}\x1b[0m", (second,))
        yield Sample("split", f"{first}\u200b{second}", (second,))
        yield Sample("split", f"token={urllib.parse.quote(key)}%0Anext", (key,))
    key = f"AKIA{_of('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}"
    yield Sample("split", f"\x1b[1m{key[:6]}\x1b[0m{key[6:]}", (key[6:],))
    yield Sample("split", f"\x1b[31mpassword\x1b[0m: \x1b[33m{'Colour3dPw'}\x1b[0m", ("Colour3dPw",))


SECRETS: tuple[Sample, ...] = (
    *_prefixes(),
    *_headers(),
    *_addresses(),
    *_contexts(),
    *_blocks(),
    *_splits(),
)


def _digests() -> Iterator[str]:
    """Random by nature, and nobody's secret."""
    yield f"commit {_h(40)}"
    yield f"git checkout {_h(7)}"
    yield f"index {_h(7)}..{_h(7)} 100644"
    yield f"Merge: {_h(9)} {_h(9)}"
    yield f"sha256:{_h(64)}"
    yield f"{_h(64)}  dist/app.tar.gz"
    yield f'"integrity": "sha512-{_of(_LETTERS + "+/", 86)}=="'
    yield f"--hash=sha256:{_h(64)}"
    yield f'ETag: "{_h(32)}"'
    yield f"md5sum {_h(32)}"
    yield f"session {_h(8)}-{_h(4)}-{_h(4)}-{_h(4)}-{_h(12)}"
    yield f"request_id=req_{_a(24)}"
    yield f'{{"id": "msg_01{_a(22)}", "type": "message"}}'
    yield f'{{"tool_use_id": "toolu_01{_a(22)}"}}'
    yield f'{{"call_id": "call_{_a(24)}"}}'
    yield f"chatcmpl-{_a(29)}"
    yield f"resp_{_h(48)}"
    yield f"container {_h(12)} exited"
    yield f"image: registry.example.com/shop@sha256:{_h(64)}"
    yield f"data:image/png;base64,iVBORw0KGgo{_of(_LETTERS + '+/', 200)}"
    yield f"trace_id={_h(32)} span_id={_h(16)}"
    yield f"bitcoin:1{_a(33)}"
    yield f"0x{_h(40)}"
    yield f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{_of(_LETTERS + '+/', 43)} ana@laptop"
    yield f"SHA256:{_of(_LETTERS + '+/', 43)} ana@laptop (ED25519)"
    yield f"gpg: Signature made using RSA key {_up(40)}"
    yield f"-----BEGIN CERTIFICATE-----\n{_lines(_of(_LETTERS + '+/', 640), 64)}\n-----END CERTIFICATE-----"
    yield f"-----BEGIN PUBLIC KEY-----\n{_lines(_of(_LETTERS + '+/', 320), 64)}\n-----END PUBLIC KEY-----"
    yield f"-----BEGIN PGP SIGNATURE-----\n\n{_lines(_of(_LETTERS + '+/', 320), 64)}\n-----END PGP SIGNATURE-----"
    yield f"age1{_of('qpzry9x8gf2tvdw0s3jn54khce6mua7l', 58)}"
    yield f"arn:aws:iam::123456789012:role/{_a(16)}"
    yield f"layer {_h(12)}: Pull complete"
    yield f"Build ID: {_up(26)}"
    yield f"nonce-{_of(_LETTERS, 22)}"
    yield f"Last-Event-ID: {_a(20)}"
    yield f"thinking signature: {_of(_LETTERS + '+/', 300)}=="
    yield f'"encrypted_content":"gAAAAAB{_u(200)}"'
    yield f"X-Request-Id: {_h(32)}"
    yield f"/var/lib/docker/overlay2/{_h(64)}/merged"
    yield f"https://example.com/assets/index-{_a(8)}.js"
    yield f"blob:{_h(8)}-{_h(4)}-{_h(4)}"
    yield f"ghcr.io/acme/app:main-{_h(7)}"
    yield f"uuid={_h(8)}-{_h(4)}-{_h(4)}-{_h(4)}-{_h(12)}"
    yield f"cache key v1-{_h(64)}"
    yield f"client_id={_h(20)}"
    yield f'"public_key": "pk_live_{_a(24)}"'
    yield f"fingerprint {':'.join(_h(2) for _ in range(16))}"


_PLAIN = (
    # Identifiers with dots, dashes and prefixes.
    "MainWindow.Application.Preferences.UserInterfaceThemeSelectionDialogController",
    "NotificationManager.Handle.registerForRemoteNotificationsWithDeviceToken",
    "Organization.Module.SubmoduleImplementationFactoryProviderBean",
    "import sklearn as sk; sk-learn is the old name",
    "task-sk-12 is blocked by sk-8",
    "class=sk-circle-fade-dot",
    "npm_config_registry=http://localhost:4873",
    "npm_lifecycle_event=test",
    "hf_hub_download(repo_id='a/b')",
    "pypi-server runs on port 8080",
    "SG.Template.Renderer",
    "xoxo, Ana",
    "glpat is the prefix of GitLab tokens",
    "AIzawa Station",
    "ghp_ is how they begin",
    "whsec_ stands before the secret of a webhook",
    "key-value-store-with-transactions",
    "key-0123456789",
    "re_compile_all_patterns_in_module",
    "fc-list : family",
    "pat-a-cake-pat-a-cake-baker",
    "sl.Build(target)",
    "cio.read()",
    "hvs.length > 24",
    "pul-request template",
    "lin_api.query(sql)",
    "figd_export",
    "sq0 is quiet",
    "pcsk_config_file",
    "squ_are",
    "tfp_distributions.Normal",
    # Placeholders and documented examples.
    "postgres://${DB_USER}:${DB_PASSWORD}@db:5432/shop",
    "postgres://user:$PASSWORD@localhost/db",
    "mysql://root:{{ password }}@db/shop",
    "redis://:<password>@cache:6379",
    "https://user:***@example.com/a.git",
    "mongodb://user:%s@%s/test",
    "postgresql://user:password@localhost/db",
    "amqp://guest:guest@localhost:5672//",
    "GET /verify?signature=required",
    "POST /login?token=<token>",
    "?access_token={access_token}",
    "?sig=$SIG&se=2030",
    "curl -u user:password https://example.com",
    "curl -u $USER:$PASS https://example.com",
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "sk-your-api-key-here",
    "OPENAI_API_KEY=sk-...",
    "ANTHROPIC_API_KEY=sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "GITHUB_TOKEN=<your token>",
    "TOKEN=your_token_here",
    "API_KEY=changeme",
    "password: ********",
    "password=••••••••",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "Authorization: Bearer ${{ secrets.GITHUB_TOKEN }}",
    'curl -H "Authorization: Bearer $(gcloud auth print-access-token)"',
    "X-API-Key: YOUR_API_KEY",
    "PRIVATE-TOKEN: <your_access_token>",
    "Authorization: Basic <credentials>",
    "eyJhbGciOi...",
    'Bearer realm="example"',
    "xoxb-your-token",
    'password: "{{ vault_db_password }}"',
    '--password="$PW"',
    "PGPASSWORD=$PGPASSWORD psql",
    "password = <redacted>",
    "[masked: GitHub token]",
    "secret: !vault |",
    "token: ${TOKEN:-}",
    'export API_KEY=""',
    # Code.
    'os.environ["DB_PASSWORD"]',
    'password = os.getenv("DB_PASSWORD")',
    "password = getpass.getpass()",
    "password: str",
    "password: Optional[str] = None",
    "def login(user, password):",
    "password = request.form['password']",
    "token = tokenizer.next_token()",
    "token = next(tokens)",
    "api_key=settings.api_key",
    "api_key = config.get('api_key')",
    "const token = await getToken();",
    "const apiKey = process.env.API_KEY;",
    "if password == confirm_password:",
    "self.password = password",
    "secret = secrets.token_hex(32)",
    "private String password;",
    "let token: String = token()",
    "SECRET_KEY = env('SECRET_KEY')",
    "password_hash = bcrypt.hashpw(pw, salt)",
    "user.setPassword(newPassword);",
    "assert token is not None",
    "token_count: 1234",
    "tokens: 31k in, 4k out",
    "max_tokens=4096",
    "input_tokens: 21874",
    '"total_tokens": 128000',
    '"token_type": "bearer"',
    '"secret": true',
    '"password": null',
    '"password": ""',
    "password=None",
    "password=False",
    "token=0",
    "api_key: undefined",
    "auth: none",
    "pwd: /home/dev/shop",
    "PWD=/home/dev/shop",
    "OLDPWD=/home/dev",
    "cd $PWD && pwd",
    "secretKeyRef:\n  name: db\n  key: password",
    "secretName: shop-tls",
    "kind: Secret\nmetadata:\n  name: shop-db",
    "--password-file /run/secrets/db",
    "--token-file=token.txt",
    "password_file: /run/secrets/db_password",
    "passwordPolicy: strong",
    "password-reset.html",
    "forgot_password_url: /reset",
    "ALTER USER app WITH PASSWORD %s",
    "WHERE password = ?",
    "WHERE token = :token",
    "INSERT INTO tokens VALUES ($1)",
    '<input type="password" name="password">',
    "label[for=password]",
    "input#password.form-control",
    "type: password",
    "t('login.password')",
    "placeholder: 'Password'",
    "autocomplete=current-password",
    "password: t.string().min(8)",
    "key: value",
    "api: key",
    "apiKey: string;",
    "-p 8080:80",
    "docker run -p 5432:5432 postgres",
    "mkdir -p build/out",
    "ssh -p 2222 host",
    "mysql -u root -p shop",
    "redis-cli -a",
    "curl -u",
    "tar -xpf a.tar",
    "ps -ef | grep passwd",
    "mysql -h db -P 3306 -protocol=tcp",
    "grep -w password src",
    "ls -pw",
    # Prose.
    "The password is stored hashed and never leaves the server.",
    "Your password must have eight characters.",
    "the token expires after an hour",
    "The secret of good bread is time.",
    "token: a word or a part of one",
    "password: at least 8 characters",
    "The password is wrong; try again.",
    "the password is required",
    "secret: do not repeat yourself",
    "Basic authentication is off, bearer tokens are on.",
    "Authorization: the act of allowing something",
    "api key: see the settings page",
    "Cookie: a small biscuit",
    "Cookies: none are set",
    "Set-Cookie is a header",
    "passphrase: a sentence used as a password",
    "seed phrase: write it down on paper",
    "mnemonic: a way to remember",
    "The mnemonic helps to remember the order of the planets.",
    "I was able to walk about above the old town and then absorb the abstract art there",
    "zoo zone youth year yellow wrong",
    "sorry, access denied: token missing",
    "invalid_token",
    "error: authentication token is invalid or expired",
    "401 Unauthorized: bad credentials",
    "fatal: could not read Password for 'https://ana@github.com'",
    "Enter passphrase for key '/home/dev/.ssh/id_ed25519':",
    "user:group@host",
    "ana@example.com:22",
    "at 10:31:07@node4",
    "scp a.txt ana@example.com:/tmp",
    "root:x:0:0:root:/root:/bin/bash",
    "http://localhost:8080/@fs/src",
    "https://example.com/a:b@c",
    "12:34:56.789 INFO",
    "1234567890:AABB",
    "127.0.0.1:5432:shop",
)

LOOK_ALIKES: tuple[str, ...] = (*_digests(), *_PLAIN)
"""Texts that must stay as they are."""
