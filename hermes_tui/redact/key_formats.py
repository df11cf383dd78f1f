"""Keys with a recognisable format, and private keys.

The forms are those that the makers publish for secret scanning. Nothing is guessed from how random a text looks: that
marks commit hashes and misses passwords.
"""

from __future__ import annotations

import base64
import binascii
import re

from hermes_tui.redact.pattern import key, pattern

__all__ = ["KEYS", "KEY_BLOCKS"]

_END = r"(?![A-Za-z0-9])"
_URL = r"[A-Za-z0-9_-]"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_BLOCK = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?s:.){1,20000}?-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:[A-Za-z0-9+/=\s:,.()|>\u2192-]|\\[nrt]){1,20000})"
)
"""Where the end is missing (a log cut off in the middle), what looks like the inside of one, with what stands before
its lines where they are numbered or quoted (`2→MIIE`, `2 | MIIE`, `> MIIE`)."""


def _has_digit(found: re.Match[str]) -> bool:
    """Whether one of its characters is a digit, as in all but one in hundreds of such keys; identifiers have none."""
    return any(letter.isdigit() for letter in found[0][4:])


def _is_mixed_case(found: re.Match[str]) -> bool:
    """Whether it has a digit, a capital and a small letter, as no attribute of an object has."""
    text = found[0][2:]
    return all(re.search(one, text) for one in ("[0-9]", "[A-Z]", "[a-z]"))


def _begins_with_a_number(found: re.Match[str]) -> bool:
    """Whether the first part of a Discord token is the base64 of a user's number; of an identifier it is not."""
    part = found[0].partition(".")[0]
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)).isdigit()
    except binascii.Error:
        return False


KEY_BLOCKS = (
    pattern("private key", "private", _BLOCK),
    pattern(
        "private key",
        "private-lines:",
        r"Private-Lines: ?\d{1,4}(?P<secret>(?:\s|\\[nr])[A-Za-z0-9+/=\s\\]{20,20000}+"
        r"(?:-(?:MAC|Hash): ?[0-9a-f]{40,64}+)?)",
    ),
    pattern(
        "private key",
        "ls0tls1crudj",
        r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{80,30000}",
        # Base64 of `-----BEGIN …`: certificates are wrapped in the same way.
        accepts=lambda found: b"PRIVATE KEY" in base64.b64decode(found[0][:80]),
    ),
    pattern(
        "private key",
        '"kty"',
        r"\"(?:d|p|q|dp|dq|qi|k)\"\s{0,3}:\s{0,3}\"(?P<secret>[A-Za-z0-9_-]{22,2000}+)\"",
    ),
    key("age key", "age-secret-key-1", r"AGE-SECRET-KEY-1[0-9A-Z]{50,70}"),
)

KEYS = (
    key("minisign key", "rwrty0iy", r"RWRTY0Iy[A-Za-z0-9+/=]{60,300}"),
    key("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,250}"),
    key("OpenRouter key", "sk-or-", r"sk-or-(?:v\d-)?[A-Za-z0-9_-]{20,250}"),
    key("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}"),
    key("OpenAI key", "sk-", rf"sk-[A-Za-z0-9]{{32,64}}{_END}"),
    key("AWS key", "akia asia abia acca", rf"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}"),
    key("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    key("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    key("GitLab token", "gl", r"gl(?:pat|ptt|dt|rt|soat|cbt|imt|agent|oas|ffct)-[A-Za-z0-9_.-]{20,255}"),
    key("Slack token", "xox", r"xox[abcdeoprs]-[A-Za-z0-9%-]{10,255}"),
    key("Slack token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,255}"),
    pattern(
        "Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/]{20,255})"
    ),
    pattern("Discord webhook", "/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{5,25}/(?P<secret>[\w-]{40,100})"),
    key(
        "Discord token",
        ".",
        r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}",
        accepts=_begins_with_a_number,
    ),
    pattern(
        "Telegram bot token",
        ":aa",
        r"(?:(?<!\d)|(?<=%[0-9A-Fa-f]{2}))\d{8,10}:AA[A-Za-z0-9_-]{32,35}(?![A-Za-z0-9_-])",
    ),
    key("Google key", "aiza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    key("Google token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,2000}"),
    key("Google client secret", "gocspx-", r"GOCSPX-[A-Za-z0-9_-]{20,60}"),
    key("Stripe key", "_live_ _test_ _prod_", r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,255}"),
    key("webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,100}"),
    key("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,60}"),
    key("npm token", "npm_", rf"npm_[A-Za-z0-9]{{36}}{_END}"),
    key("PyPI token", "pypi-", r"pypi-Ag[A-Za-z0-9_-]{50,1000}"),
    key("SendGrid key", "sg.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    key("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    key("Databricks token", "dapi", rf"dapi[a-f0-9]{{32}}(?:-\d)?{_END}"),
    key("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    key("xAI key", "xai-", r"xai-[A-Za-z0-9]{40,100}"),
    key("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,100}"),
    key("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,100}"),
    key("Replicate token", "r8_", rf"r8_[A-Za-z0-9]{{37,40}}{_END}"),
    key("Tavily key", "tvly-", r"tvly-[A-Za-z0-9-]{20,100}"),
    key("Linear key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    key("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,60}"),
    key("NVIDIA key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{60,80}"),
    key("Cerebras key", "csk-", r"csk-[A-Za-z0-9]{40,60}"),
    key("Langfuse key", "sk-lf-", rf"sk-lf-{_UUID}"),
    key("LangSmith key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    key("Jina key", "jina_", r"jina_[A-Za-z0-9_-]{50,80}"),
    key("E2B key", "e2b_", rf"e2b_[a-f0-9]{{40}}{_END}"),
    key("Docker token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{24,60}"),
    key(
        "Grafana token",
        "glsa_ glc_",
        r"(?:glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/=]{32,400})",
    ),
    key("Sentry token", "sntry", r"sntry(?:u_[a-f0-9]{64}|s_eyJ[A-Za-z0-9+/=_-]{40,400})"),
    key("Tailscale key", "tskey-", r"tskey-[a-z]{3,10}-[A-Za-z0-9]{6,20}-[A-Za-z0-9]{16,64}"),
    key("Atlassian token", "atatt3", r"ATATT3[A-Za-z0-9_=-]{100,255}"),
    key("Figma token", "figd_", r"figd_[A-Za-z0-9_-]{38,60}"),
    key("Supabase token", "sbp_", rf"sbp_[a-f0-9]{{40}}{_END}"),
    key("Postman key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    key("New Relic key", "nrak-", rf"NRAK-[A-Z0-9]{{27}}{_END}"),
    key("Vault token", "hv", r"hv[sbr]\.[A-Za-z0-9_-]{24,255}"),
    key(
        "JSON web token",
        "eyj",
        rf"(?P<secret>eyJ{_URL}{{8,4000}}+\.eyJ{_URL}{{8,8000}}+\.{_URL}{{10,2000}}+)|eyJ{_URL}*+",
    ),
    key("Twilio key", "sk", rf"SK[a-f0-9]{{32}}{_END}"),
    key("Mailgun key", "key-", rf"key-[a-f0-9]{{32}}{_END}"),
    key("Mailchimp key", "-us", rf"[a-f0-9]{{32}}-us\d{{1,2}}{_END}"),
    key("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    key("Doppler token", "dp.", r"dp\.(?:pt|st|sa|ct|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    key("Pulumi token", "pul-", rf"pul-[a-f0-9]{{40}}{_END}"),
    key("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    key("Airtable token", "pat", rf"pat[A-Za-z0-9]{{14}}\.[a-f0-9]{{64}}{_END}"),
    key("Square token", "eaaa", r"EAAA[A-Za-z0-9+/=_-]{60}"),
    key("Square token", "sq0", r"sq0(?:csp|atp|idp)-[A-Za-z0-9_-]{22,60}"),
    key("Netlify token", "nf", rf"nf[pcobu]_[A-Za-z0-9]{{36}}{_END}"),
    key("Dropbox token", "sl.", r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,1200}"),
    key("RubyGems key", "rubygems_", rf"rubygems_[a-f0-9]{{48}}{_END}"),
    key("crates.io token", "cio", rf"cio[A-Za-z0-9]{{32}}{_END}"),
    key("Heroku key", "hrku-", r"HRKU-[A-Za-z0-9_-]{36,70}"),
    key("ElevenLabs key", "sk_", rf"sk_[a-f0-9]{{48}}{_END}"),
    key("Firecrawl key", "fc-", rf"fc-[a-f0-9]{{32}}{_END}"),
    key("Pinecone key", "pcsk_", r"pcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{60,70}"),
    key("Resend key", "re_", rf"re_[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{20,30}}{_END}"),
    key("Buildkite token", "bk", rf"bk(?:ua|at|ct)_[a-f0-9]{{40}}{_END}"),
    key("Sourcegraph token", "sgp_", rf"sgp_(?:[a-f0-9]{{16}}_|local_)?[a-f0-9]{{40}}{_END}"),
    key("EasyPost key", "ez", rf"EZ[AT]K[A-Za-z0-9]{{54}}{_END}"),
    key("ReadMe key", "rdme_", r"rdme_[a-z0-9]{70}"),
    key("Typeform token", "tfp_", r"tfp_[A-Za-z0-9_.=-]{55,65}"),
    key("Infracost key", "ico-", rf"ico-[A-Za-z0-9]{{32}}{_END}"),
    key("Contentful token", "cfpat-", r"CFPAT-[A-Za-z0-9_-]{43}"),
    key("Dynatrace token", "dt0c01.", r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    key("HubSpot token", "pat-", rf"pat-[a-z]{{2,4}}\d?-{_UUID}"),
    key("OpenShift token", "sha256~", r"sha256~[A-Za-z0-9_-]{43}"),
    key("SonarQube token", "sq", rf"sq[pua]_[a-f0-9]{{40}}{_END}"),
    key("1Password token", "ops_eyj", r"ops_eyJ[A-Za-z0-9+/=_-]{100,2000}"),
    key("Fly.io token", "fm", r"fm[12][ar]?_[A-Za-z0-9+/=_-]{100,2000}"),
    key("Artifactory key", "akcp", r"AKCp[A-Za-z0-9]{69}"),
    key("Together key", "tgp_v1_", r"tgp_v1_[A-Za-z0-9_-]{40,60}"),
    key("CircleCI token", "ccipat_", r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    key("Prefect key", "pn", rf"pn[ub]_[A-Za-z0-9]{{36}}{_END}"),
    key("Plaid token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
    key("Flutterwave key", "flwsec", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,40}(?:-X)?"),
    key("Shippo token", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    key("Adafruit key", "aio_", rf"aio_[A-Za-z0-9]{{28}}{_END}"),
    key("Facebook token", "eaa", rf"EAA[MC][A-Za-z0-9]{{100,300}}{_END}"),
    key("Mapbox token", "sk.eyj", r"sk\.eyJ[A-Za-z0-9_-]{40,200}\.[A-Za-z0-9_-]{20,60}"),
    key("Azure AD secret", "q~", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    key("Weights & Biases key", "wandb_v1_", r"wandb_v1_[A-Za-z0-9_]{60,100}"),
    key("Clerk or Cloudflare token", "cf", r"cf(?:ut|at)_[A-Za-z0-9]{40,60}"),
    key("Bitbucket token", "atbb", rf"ATBB[A-Za-z0-9]{{32}}{_END}"),
    key("Brevo key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    key("NuGet key", "oy2", rf"oy2[a-z0-9]{{43}}{_END}"),
    key("Clojars token", "clojars_", r"CLOJARS_[A-Za-z0-9]{60}"),
    key("Fly.io token", "fo1_", rf"fo1_{_URL}{{43}}(?!{_URL})"),
    key("Alibaba key", "ltai", rf"LTAI[A-Za-z0-9]{{17,21}}{_END}", accepts=_has_digit),
    key("Render key", "rnd_", rf"rnd_[A-Za-z0-9]{{28,32}}{_END}", accepts=_has_digit),
    key("Duffel token", "duffel_", rf"duffel_(?:live|test)_{_URL}{{43}}"),
    key("Notion token", "secret_", rf"secret_[A-Za-z0-9]{{43}}{_END}", accepts=_has_digit),
    key("PostHog key", "phx_", rf"phx_[A-Za-z0-9]{{40,50}}{_END}"),
    key("Matrix token", "syt_", r"syt_[A-Za-z0-9+/=]{1,200}_[A-Za-z0-9]{20}_[A-Za-z0-9]{6}"),
    key("Vercel token", "vc", rf"vc[pick]_[A-Za-z0-9]{{24,60}}{_END}", accepts=_has_digit),
    key("Cloudflare origin key", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    key("Harness token", "pat.", r"[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    key("Frame.io token", "fio-u-", rf"fio-u-{_URL}{{64}}"),
    key("Scalingo token", "tk-us-", rf"tk-us-{_URL}{{48}}"),
    key("Intra42 secret", "s-s4t2", r"s-s4t2(?:ud|af)-[a-f0-9]{64}"),
    key("SettleMint token", "sm_", rf"sm_(?:aat|pat|sat)_[A-Za-z0-9]{{16}}{_END}"),
    key("Supabase key", "sb_secret_", rf"sb_secret_{_URL}{{30,50}}"),
    key("Apify token", "apify_api_", rf"apify_api_[A-Za-z0-9]{{30,44}}{_END}"),
    key("RunPod key", "rpa_", rf"rpa_[A-Z0-9]{{40,50}}{_END}"),
    key("Grafana key", "eyjrijoi", r"eyJrIjoi[A-Za-z0-9]{70,400}={0,3}"),
    key("WakaTime key", "waka_", rf"waka_{_UUID}"),
    key("AWS key", "absk", r"ABSK[A-Za-z0-9+/]{60,270}={0,2}"),
    key("AWS key", "bedrock-api-key-", r"bedrock-api-key-[A-Za-z0-9+/]{20,4000}={0,2}"),
    key("ClickHouse key", "4b1d", rf"4b1d[A-Za-z0-9]{{38}}{_END}"),
    key("Defined Networking key", "dnkey-", r"dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}"),
    key("Hugging Face token", "api_org_", rf"api_org_[A-Za-z0-9]{{34}}{_END}"),
    key("GitLab token", "glft- gr1348941", rf"(?:glft-|GR1348941){_URL}{{20}}"),
    key("New Relic key", "nrjs- nrii-", rf"(?:NRJS-[a-f0-9]{{19}}|NRII-[A-Za-z0-9-]{{32}}){_END}"),
    key("Octopus Deploy key", "api-", rf"API-[A-Z0-9]{{26}}{_END}"),
    key(
        "Yandex token",
        "t1. aqvn yc",
        rf"t1\.[A-Za-z0-9=_-]{{1,100}}\.{_URL}{{86}}={{0,2}}|(?:AQVN{_URL}{{35,38}}|YC{_URL}{{38}})(?!{_URL})",
        accepts=_has_digit,
    ),
    key(
        "1Password key",
        "a3-",
        rf"A3-[A-Z0-9]{{6}}-(?:[A-Z0-9]{{11}}|[A-Z0-9]{{6}}-[A-Z0-9]{{5}})(?:-[A-Z0-9]{{5}}){{3}}{_END}",
    ),
    key("GoCardless token", "live_", r"live_[A-Za-z0-9=_-]{40}(?![A-Za-z0-9=_-])", accepts=_has_digit),
    key("Lob key", "live_ test_", rf"(?:live|test)_[a-f0-9]{{35}}{_END}"),
    key("Vault token", "s.", rf"s\.[A-Za-z0-9]{{24}}{_END}", accepts=_is_mixed_case),
    key("Twitter token", "aaaaaaaaaaaaaaaaaaaaaa", rf"A{{22}}[A-Za-z0-9%]{{80,100}}{_END}"),
)
