#!/usr/bin/env python3
"""Deterministic corpus of AI-agent session stores (standard library only).

Writes, under one HOME directory, stores in the on-disk shapes that the agents use:

  .claude/projects/<cwd with / as ->/<uuid>.jsonl            Claude Code
  .claude/projects/.../<uuid>/subagents/agent-*.jsonl         Claude Code sub-agents (some sessions)
  .codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl      Codex
  .hermes/state.db                                            Hermes (sessions, messages, messages_fts)
  corpus-manifest.json                                        what was written, and the expected answers

Same arguments and seed: byte-identical JSONL files and identical database rows
(file times are set to the session's last message, so an mtime scan is realistic too).

  make_corpus.py --home DIR --size S          200 sessions,  ~20 MB
  make_corpus.py --home DIR --size M        2,000 sessions, ~300 MB
  make_corpus.py --home DIR --size L       10,000 sessions, ~200,000 messages, ~1.5 GB
  make_corpus.py --home DIR --sessions N --mb X --messages K [--mix 60,30,10] [--seed 7]

Text: Zipf-distributed vocabulary (rank exponent 1.05, technical words in the head), plus code,
paths, tool output, diffs, stack traces, hex ids, some CJK / emoji / ANSI / secrets look-alikes.
The vocabulary grows with the corpus (hapax words), as real text does.

Needles for correctness and latency checks (all listed in the manifest):
  needlezq<k>            exactly one session, one message each            (rare)
  "quokka ledger drift"  a phrase, in about 0.5 % of the sessions          (phrase)
  rollbackable           in about 5 % of the sessions                      (medium)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sqlite3
import sys
import time
from bisect import bisect
from datetime import datetime, timedelta, timezone
from itertools import accumulate
from pathlib import Path

SIZES = {
    "XS": (20, 2.0, 400),
    "S": (200, 20.0, 6_000),
    "M": (2_000, 300.0, 80_000),
    "L": (10_000, 1_500.0, 200_000),
}

HEAD = """the to a of and in is it for that this with on be as you not we file from test error code
line should function return value if now run fix add use path when class let me check import need call
build all new update session module name type config server user data output result key list
api request response database query index cache token message async await thread lock docker deploy
deployment container network port proxy auth login password oauth migration schema table column
transaction rollback commit branch merge rebase diff patch refactor lint pytest unittest coverage
timeout retry backoff queue worker scheduler cron webhook payload parser lexer compiler runtime
memory leak profile benchmark latency throughput kernel socket stream buffer encoder decoder json yaml
toml markdown render widget textual terminal cursor scroll viewport layout theme color keyboard mouse
kubernetes terraform ansible nginx redis postgres sqlite mysql kafka rabbitmq grpc graphql rest http
python rust typescript javascript golang java swift kotlin react vue svelte django flask fastapi""".split()

SYL = (
    "ba be bi bo bu ca ce ci co cu da de di do du fa fe fi fo ga ge gi go ha he hi ho ja jo ka ke ki ko la le "
    "li lo lu ma me mi mo mu na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te ti to tu va ve "
    "vi vo wa we wi xa ya yo za ze zo tion ment er ing ed al ic ous ive able ness ist ism ant ent ary"
).split()
PROJECTS = [
    "shop",
    "api-gateway",
    "billing",
    "ml-pipeline",
    "webapp",
    "infra",
    "mobile",
    "docs-site",
    "etl",
    "auth-service",
    "search",
    "notify",
    "cli-tools",
    "dashboard",
    "payments",
    "crawler",
]
DIRS = ["src", "tests", "lib", "app", "services", "internal", "pkg", "core", "utils", "handlers", "models"]
EXTS = ["py", "ts", "rs", "go", "tsx", "sql", "toml", "yaml", "md", "sh"]
TOOLS_CLAUDE = ["Bash", "Read", "Edit", "Grep", "Glob", "Write", "TodoWrite", "Task"]
MODELS_CLAUDE = ["claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805", "claude-haiku-4-5-20251001"]
MODELS_CODEX = ["gpt-5-codex", "gpt-5"]
MODELS_HERMES = ["anthropic/claude-sonnet-4.5", "openai/gpt-5", "nousresearch/hermes-4-405b"]
CJK = ["数据库连接超时", "セッションを再開する", "테스트가 실패했습니다", "修复登录错误", "部署到生产环境"]
EMOJI = ["✅", "🚀", "❌", "🔧", "👩‍💻", "⚠️"]


class Text:
    """Zipf text source. All randomness comes from one Random."""

    def __init__(self, rng: random.Random, vocab_size: int = 60_000):
        self.rng = rng
        words, seen = list(HEAD), set(HEAD)
        while len(words) < vocab_size:
            w = "".join(rng.choices(SYL, k=rng.choice((2, 2, 3, 3, 4))))
            if rng.random() < 0.06:
                w = w + "_" + rng.choice(SYL) + rng.choice(SYL)
            if w not in seen and len(w) > 3:
                seen.add(w)
                words.append(w)
        self.words = words
        self.cum = list(accumulate(1.0 / (r + 2.7) ** 1.05 for r in range(len(words))))
        self.pool: list[str] = []
        self._at = 0
        self._hapax = 0

    def take(self, n: int) -> list[str]:
        at = self._at
        if at + n > len(self.pool):
            self.pool = self.rng.choices(self.words, cum_weights=self.cum, k=40_000)
            at = 0
        self._at = at + n
        return self.pool[at : at + n]

    def ident(self) -> str:
        a, b = self.take(2)
        return a + "_" + b if self.rng.random() < 0.5 else a + b.capitalize()

    def hapax(self) -> str:
        self._hapax += 1
        return hashlib.md5(b"%d" % self._hapax).hexdigest()[: self.rng.choice((7, 8, 12, 32))]

    def path(self) -> str:
        r = self.rng
        return f"{r.choice(DIRS)}/{self.take(1)[0]}/{self.take(1)[0]}_{r.choice(HEAD)}.{r.choice(EXTS)}"

    def prose(self, nbytes: int) -> str:
        r, out, size = self.rng, [], 0
        while size < nbytes:
            ws = self.take(r.randint(6, 22))
            x = r.random()
            if x < 0.12:
                ws.insert(len(ws) // 2, "`" + self.path() + "`")
            elif x < 0.20:
                ws.append(self.hapax())
            elif x < 0.22:
                ws.append(r.choice(CJK))
            elif x < 0.24:
                ws.append(r.choice(EMOJI))
            s = " ".join(ws)
            s = s[0].upper() + s[1:] + (".\n\n" if r.random() < 0.2 else ". ")
            out.append(s)
            size += len(s)
        return "".join(out)

    def code(self, nbytes: int) -> str:
        r, out, size = self.rng, [], 0
        while size < nbytes:
            f, a, b, c = self.ident(), self.take(1)[0], self.take(1)[0], self.ident()
            k = r.randint(0, 3)
            if k == 0:
                s = f'def {f}({a}, {b}=None):\n    if {a} is None:\n        raise ValueError("{b} {c}")\n    return {c}({a}, {b}={r.randint(0, 999)})\n\n'
            elif k == 1:
                s = f"async function {f}({a}: string, {b}: number): Promise<{c}> {{\n  const {b}2 = await {c}.{a}({b});\n  return {{ {a}, {b}: {b}2 ?? {r.randint(0, 99)} }};\n}}\n\n"
            elif k == 2:
                s = f'    {a} = self.{f}[{r.randint(0, 9)}]  # {" ".join(self.take(5))}\n    assert {a} == "{c}", {b}\n'
            else:
                s = f"SELECT {a}, {b}, count(*) FROM {c} WHERE {f} > {r.randint(1, 10000)} GROUP BY {a};\n"
            out.append(s)
            size += len(s)
        return "".join(out)

    def tool_output(self, nbytes: int) -> str:
        r, out, size = self.rng, [], 0
        k0 = r.randint(0, 4)
        while size < nbytes:
            if k0 == 0:
                s = f"{r.randint(1, 900):6d}\u2192    {' '.join(self.take(r.randint(2, 9)))}\n"
            elif k0 == 1:
                s = f"{self.path()}:{r.randint(1, 2000)}:    {self.ident()}({', '.join(self.take(2))})\n"
            elif k0 == 2:
                s = f"\x1b[32mPASSED\x1b[0m {self.path()}::test_{self.ident()} [{r.randint(0, 100):3d}%]\n"
            elif k0 == 3:
                s = f"2026-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}T{r.randint(0, 23):02d}:{r.randint(0, 59):02d}:07Z {r.choice(('INFO', 'WARN', 'ERROR', 'DEBUG'))} {self.ident()} req={self.hapax()} {' '.join(self.take(6))} took={r.randint(1, 9000)}ms\n"
            else:
                s = f"{'+' if r.random() < 0.5 else '-'}    {self.ident()} = {self.take(1)[0]}({r.randint(0, 99)})\n"
            out.append(s)
            size += len(s)
        return "".join(out)


def uid(rng):
    h = "%032x" % rng.getrandbits(128)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"


def iso(t):
    return t.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (t.microsecond // 1000)


def dumps(o):
    return json.dumps(o, ensure_ascii=False, separators=(",", ":"))


class Maker:
    def __init__(self, home: Path, sessions: int, mb: float, messages: int, mix, seed: int, vocab: int):
        self.home, self.rng = home, random.Random(seed)
        self.tx = Text(self.rng, vocab)
        self.n, self.bytes_target, self.m = sessions, int(mb * 1e6), messages
        self.mix = mix
        self.start = datetime(2026, 1, 1, tzinfo=timezone.utc)
        self.man = {
            "seed": seed,
            "sessions": {},
            "messages": {},
            "bytes": {},
            "needles": {},
            "phrase_sessions": [],
            "medium_sessions": [],
            "usage": {},
            "ids": {"claude": [], "codex": [], "hermes": []},
        }
        self.per_session_weights = [self.rng.lognormvariate(0, 1.0) for _ in range(sessions)]
        self.wsum = sum(self.per_session_weights)
        self.needle_every = max(1, sessions // 20)

    # ---- one abstract conversation, shared by the three writers
    def convo(self, i):
        r = self.rng
        w = self.per_session_weights[i] / self.wsum
        nmsg = max(4, round(self.m * w))
        nbytes = max(2_000, int(self.bytes_target * w))
        per = nbytes / nmsg
        t = self.start + timedelta(minutes=i * (300 * 24 * 60) / self.n, seconds=r.random() * 3600)
        specials = []
        if i % self.needle_every == 0:
            nd = f"needlezq{i // self.needle_every}"
            specials.append(f"The {nd} marker belongs to this session only.")
            self.man["needles"][nd] = i
        if r.random() < 0.005 or i == 3:
            specials.append("We traced the quokka ledger drift to a stale lock.")
            self.man["phrase_sessions"].append(i)
        if r.random() < 0.05:
            specials.append("This change is rollbackable, so ship it behind a flag.")
            self.man["medium_sessions"].append(i)
        if r.random() < 0.01:
            specials.append("export API_KEY=sk-test-" + self.tx.hapax() + self.tx.hapax())
        msgs, k = [], 0
        while k < nmsg:
            kind = r.random()
            if k == 0 or kind < 0.12:
                body = self.tx.prose(r.randint(60, 500))
                if k == 0 and specials:
                    body += " " + " ".join(specials)
                msgs.append(("user", body))
                k += 1
            elif kind < 0.45:
                body = self.tx.prose(max(80, per * 0.25))
                if r.random() < 0.3:
                    body += "\n```python\n" + self.tx.code(max(200, per * 0.3)) + "```\n"
                msgs.append(("assistant", body))
                k += 1
            elif kind < 0.52:
                msgs.append(("thinking", self.tx.prose(max(100, per * 0.3))))
                k += 1
            else:
                msgs.append(("call", self.tx.path(), self.tx.code(200) if r.random() < 0.35 else None))
                msgs.append(("result", self.tx.tool_output(max(120, r.lognormvariate(0, 0.8) * per * 1.75))))
                k += 2
        return t, msgs

    def add(self, agent, nmsg, nbytes):
        for k, v in (("sessions", 1), ("messages", nmsg), ("bytes", nbytes)):
            self.man[k][agent] = self.man[k].get(agent, 0) + v

    def usage(self, agent, inp, out, cr, cw):
        u = self.man["usage"].setdefault(agent, {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0})
        u["input"] += inp
        u["output"] += out
        u["cache_read"] += cr
        u["cache_write"] += cw

    # ---- Claude Code
    def claude(self, i):
        r, tx = self.rng, self.tx
        t, msgs = self.convo(i)
        sid, cwd = uid(r), "/home/dev/" + r.choice(PROJECTS)
        d = self.home / ".claude/projects" / cwd.replace("/", "-")
        d.mkdir(parents=True, exist_ok=True)
        model, branch = r.choice(MODELS_CLAUDE), r.choice(("main", "dev", "fix/" + tx.take(1)[0]))
        lines, parent, call_id = [], None, None
        lines.append(
            dumps(
                {
                    "type": "file-history-snapshot",
                    "messageId": uid(r),
                    "snapshot": {"messageId": uid(r), "trackedFileBackups": {}, "timestamp": iso(t)},
                    "isSnapshotUpdate": False,
                }
            )
        )
        ctx = r.randint(12_000, 20_000)

        def base(kind):
            nonlocal parent
            u = uid(r)
            o = {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": cwd,
                "sessionId": sid,
                "version": "2.0.31",
                "gitBranch": branch,
                "type": kind,
            }
            parent = u
            return o, u

        nmsg = 0
        for m in msgs:
            t += timedelta(seconds=r.random() * 25)
            if m[0] == "user":
                o, u = base("user")
                o.update(message={"role": "user", "content": m[1]}, uuid=u, timestamp=iso(t))
            elif m[0] == "result":
                o, u = base("user")
                o.update(
                    message={
                        "role": "user",
                        "content": [
                            {
                                "tool_use_id": call_id,
                                "type": "tool_result",
                                "content": m[1],
                                "is_error": r.random() < 0.05,
                            }
                        ],
                    },
                    uuid=u,
                    timestamp=iso(t),
                )
                o["toolUseResult"] = {"stdout": m[1][:400], "stderr": "", "interrupted": False, "isImage": False}
            else:
                o, u = base("assistant")
                if m[0] == "assistant":
                    block = {"type": "text", "text": m[1]}
                elif m[0] == "thinking":
                    block = {"type": "thinking", "thinking": m[1], "signature": tx.hapax() * 6}
                else:
                    call_id = "toolu_01" + "%022x" % r.getrandbits(88)
                    name = r.choice(TOOLS_CLAUDE)
                    inp = {"file_path": cwd + "/" + m[1]}
                    if m[2]:
                        name, inp = (
                            "Edit",
                            {"file_path": cwd + "/" + m[1], "old_string": m[2][:120], "new_string": m[2]},
                        )
                    elif name == "Bash":
                        inp = {"command": f"pytest -q {m[1]} | tail -40", "description": "Run the tests"}
                    block = {"type": "tool_use", "id": call_id, "name": name, "input": inp}
                out = max(8, sum(len(str(x)) for x in m[1:] if x) // 4)
                cw, inp_t = r.randint(100, 4000), r.randint(3, 12)
                self.usage("claude", inp_t, out, ctx, cw)
                o["message"] = {
                    "model": model,
                    "id": "msg_01" + "%022x" % r.getrandbits(88),
                    "type": "message",
                    "role": "assistant",
                    "content": [block],
                    "stop_reason": None,
                    "stop_sequence": None,
                    "usage": {
                        "input_tokens": inp_t,
                        "cache_creation_input_tokens": cw,
                        "cache_read_input_tokens": ctx,
                        "cache_creation": {"ephemeral_5m_input_tokens": cw, "ephemeral_1h_input_tokens": 0},
                        "output_tokens": out,
                        "service_tier": "standard",
                    },
                }
                ctx += cw
                o.update(requestId="req_011" + "%020x" % r.getrandbits(80), uuid=u, timestamp=iso(t))
            lines.append(dumps(o))
            nmsg += 1
        if r.random() < 0.3:
            lines.append(dumps({"type": "summary", "summary": " ".join(tx.take(6)), "leafUuid": parent}))
        data = ("\n".join(lines) + "\n").encode()
        p = d / f"{sid}.jsonl"
        p.write_bytes(data)
        os.utime(p, (t.timestamp(), t.timestamp()))
        if r.random() < 0.08:
            sd = d / sid / "subagents"
            sd.mkdir(parents=True, exist_ok=True)
            aid = "%08x" % r.getrandbits(32)
            sub, up = [], None
            for q in range(r.randint(2, 12)):
                u = uid(r)
                role = "user" if q % 2 == 0 else "assistant"
                sub.append(
                    dumps(
                        {
                            "parentUuid": up,
                            "isSidechain": True,
                            "agentId": aid,
                            "userType": "external",
                            "cwd": cwd,
                            "sessionId": sid,
                            "version": "2.0.31",
                            "gitBranch": branch,
                            "type": role,
                            "message": {
                                "role": role,
                                "content": tx.prose(400)
                                if role == "user"
                                else [{"type": "text", "text": tx.prose(600)}],
                            },
                            "uuid": u,
                            "timestamp": iso(t),
                        }
                    )
                )
                up = u
            sp = sd / f"agent-{aid}.jsonl"
            sp.write_bytes(("\n".join(sub) + "\n").encode())
            os.utime(sp, (t.timestamp(), t.timestamp()))
        self.man["ids"]["claude"].append(sid)
        self.add("claude", nmsg, len(data))

    # ---- Codex
    def codex(self, i):
        r, tx = self.rng, self.tx
        t, msgs = self.convo(i)
        sid, cwd = uid(r), "/home/dev/" + r.choice(PROJECTS)
        d = self.home / ".codex/sessions" / t.strftime("%Y/%m/%d")
        d.mkdir(parents=True, exist_ok=True)
        p = d / f"rollout-{t.strftime('%Y-%m-%dT%H-%M-%S')}-{sid}.jsonl"
        model = r.choice(MODELS_CODEX)
        lines = []

        def put(kind, payload):
            lines.append(dumps({"timestamp": iso(t), "type": kind, "payload": payload}))

        put(
            "session_meta",
            {
                "id": sid,
                "timestamp": iso(t),
                "cwd": cwd,
                "originator": "codex_cli_rs",
                "cli_version": "0.98.0",
                "instructions": None,
                "source": "cli",
                "model_provider": "openai",
                "git": {
                    "commit_hash": "%040x" % r.getrandbits(160),
                    "branch": "main",
                    "repository_url": "git@example.com:dev/" + cwd.rsplit("/", 1)[1] + ".git",
                },
            },
        )
        put(
            "response_item",
            {
                "type": "message",
                "role": "user",
                "content": [
                    {
                        "type": "input_text",
                        "text": f"<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>",
                    }
                ],
            },
        )
        tot = {
            "input_tokens": 0,
            "cached_input_tokens": 0,
            "output_tokens": 0,
            "reasoning_output_tokens": 0,
            "total_tokens": 0,
        }
        nmsg, call, ctx = 0, None, r.randint(6_000, 9_000)
        for m in msgs:
            t += timedelta(seconds=r.random() * 25)
            nmsg += 1
            if m[0] == "user":
                put(
                    "turn_context",
                    {
                        "cwd": cwd,
                        "approval_policy": "on-request",
                        "sandbox_policy": {"mode": "workspace-write", "network_access": False},
                        "model": model,
                        "effort": "high",
                        "summary": "auto",
                    },
                )
                put(
                    "response_item",
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": m[1]}]},
                )
                put("event_msg", {"type": "user_message", "message": m[1], "images": []})
                continue
            if m[0] == "assistant":
                put(
                    "response_item",
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": m[1]}]},
                )
                put("event_msg", {"type": "agent_message", "message": m[1]})
            elif m[0] == "thinking":
                put("event_msg", {"type": "agent_reasoning", "text": m[1]})
                put(
                    "response_item",
                    {
                        "type": "reasoning",
                        "summary": [{"type": "summary_text", "text": m[1]}],
                        "content": None,
                        "encrypted_content": "gAAAAA" + tx.hapax() * 20,
                    },
                )
            elif m[0] == "call":
                call = "call_" + "%024x" % r.getrandbits(96)
                cmd = f"apply_patch <<'EOF'\n{m[2]}\nEOF" if m[2] else f"rg -n {tx.take(1)[0]} {m[1]}"
                put(
                    "response_item",
                    {
                        "type": "function_call",
                        "name": "shell",
                        "call_id": call,
                        "arguments": dumps({"command": ["bash", "-lc", cmd], "workdir": cwd}),
                    },
                )
                continue
            else:
                put(
                    "response_item",
                    {
                        "type": "function_call_output",
                        "call_id": call,
                        "output": dumps(
                            {
                                "output": m[1],
                                "metadata": {"exit_code": int(r.random() < 0.1), "duration_seconds": 0.4},
                            }
                        ),
                    },
                )
                continue
            out = max(8, len(m[1]) // 4)
            last = {
                "input_tokens": ctx,
                "cached_input_tokens": ctx - 800,
                "output_tokens": out,
                "reasoning_output_tokens": out // 4,
                "total_tokens": ctx + out,
            }
            for k in tot:
                tot[k] += last[k]
            self.usage("codex", ctx, out, ctx - 800, 0)
            ctx += r.randint(200, 3000)
            put(
                "event_msg",
                {
                    "type": "token_count",
                    "info": {
                        "total_token_usage": dict(tot),
                        "last_token_usage": last,
                        "model_context_window": 272000,
                    },
                    "rate_limits": {"primary": {"used_percent": 12.0, "window_minutes": 300}},
                },
            )
        data = ("\n".join(lines) + "\n").encode()
        p.write_bytes(data)
        os.utime(p, (t.timestamp(), t.timestamp()))
        self.man["ids"]["codex"].append(sid)
        self.add("codex", nmsg, len(data))

    # ---- Hermes
    def hermes_open(self):
        d = self.home / ".hermes"
        (d / "sessions").mkdir(parents=True, exist_ok=True)
        p = d / "state.db"
        for x in (p, Path(str(p) + "-wal"), Path(str(p) + "-shm")):
            x.unlink(missing_ok=True)
        db = sqlite3.connect(p)
        db.executescript("""
        PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;
        CREATE TABLE schema_version(version INTEGER NOT NULL);
        INSERT INTO schema_version VALUES (6);
        CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT,
          system_prompt TEXT, parent_session_id TEXT REFERENCES sessions(id), started_at REAL NOT NULL, ended_at REAL,
          end_reason TEXT, message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
          input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0,
          cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0, billing_provider TEXT,
          billing_base_url TEXT, billing_mode TEXT, estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT,
          cost_source TEXT, pricing_version TEXT, title TEXT);
        CREATE INDEX idx_sessions_source ON sessions(source);
        CREATE INDEX idx_sessions_parent ON sessions(parent_session_id);
        CREATE INDEX idx_sessions_started ON sessions(started_at DESC);
        CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
          role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL,
          token_count INTEGER, finish_reason TEXT, reasoning TEXT, reasoning_details TEXT, codex_reasoning_items TEXT);
        CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
        CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id);
        CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
          INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END;
        CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
          INSERT INTO messages_fts(messages_fts, rowid, content) VALUES('delete', old.id, old.content); END;
        CREATE TRIGGER messages_fts_update AFTER UPDATE ON messages BEGIN
          INSERT INTO messages_fts(messages_fts, rowid, content) VALUES('delete', old.id, old.content);
          INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END;
        """)
        db.commit()
        db.execute("BEGIN")
        self.db, self.prev, self.routes = db, None, {}

    def hermes(self, i):
        r, tx = self.rng, self.tx
        t, msgs = self.convo(i)
        sid = t.strftime("%Y%m%d_%H%M%S_") + "%06x" % r.getrandbits(24)
        src = r.choice(("cli", "cli", "telegram", "discord", "slack"))
        parent = self.prev if self.prev and r.random() < 0.15 else None
        self.prev = sid
        t0, rows, nb, inp, out, calls, call = t, [], 0, 0, 0, 0, None
        for m in msgs:
            t += timedelta(seconds=r.random() * 25)
            ts = t.timestamp()
            if m[0] == "user":
                rows.append((sid, "user", m[1], None, None, None, ts, None, None, None))
                inp += len(m[1]) // 4
            elif m[0] == "assistant":
                rows.append((sid, "assistant", m[1], None, None, None, ts, len(m[1]) // 4, "stop", None))
                out += len(m[1]) // 4
            elif m[0] == "thinking":
                rows.append((sid, "assistant", "", None, None, None, ts, len(m[1]) // 4, "stop", m[1]))
            elif m[0] == "call":
                call, calls = "call_" + "%016x" % r.getrandbits(64), calls + 1
                args = (
                    dumps({"command": "sed -n 1,80p " + m[1]}) if not m[2] else dumps({"path": m[1], "content": m[2]})
                )
                rows.append(
                    (
                        sid,
                        "assistant",
                        None,
                        None,
                        dumps(
                            [{"id": call, "type": "function", "function": {"name": "terminal", "arguments": args}}]
                        ),
                        None,
                        ts,
                        30,
                        "tool_calls",
                        None,
                    )
                )
            else:
                rows.append((sid, "tool", m[1], call, None, "terminal", ts, len(m[1]) // 4, None, None))
            nb += sum(len(x) for x in rows[-1] if isinstance(x, str))
        open_ = r.random() < 0.05
        self.db.execute(
            "INSERT INTO sessions(id,source,user_id,model,parent_session_id,started_at,ended_at,end_reason,"
            "message_count,tool_call_count,input_tokens,output_tokens,cache_read_tokens,estimated_cost_usd,"
            "title) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                sid,
                src,
                "u%d" % r.randint(1, 9),
                r.choice(MODELS_HERMES),
                parent,
                t0.timestamp(),
                None if open_ else t.timestamp(),
                None if open_ else r.choice(("user_exit", "compression", "idle_reset")),
                len(rows),
                calls,
                inp,
                out,
                inp * 4,
                round((inp * 3 + out * 15) / 1e6, 6),
                f"{' '.join(tx.take(3))} {i}",
            ),
        )
        self.db.executemany(
            "INSERT INTO messages(session_id,role,content,tool_call_id,tool_calls,tool_name,timestamp,"
            "token_count,finish_reason,reasoning) VALUES (?,?,?,?,?,?,?,?,?,?)",
            rows,
        )
        if src != "cli" and open_:
            key = f"agent:main:{src}:dm:{i}"
            self.routes[key] = {
                "session_key": key,
                "session_id": sid,
                "created_at": iso(t0),
                "updated_at": iso(t),
                "platform": src,
                "chat_type": "dm",
                "input_tokens": inp,
                "output_tokens": out,
                "suspended": False,
            }
        self.usage("hermes", inp, out, inp * 4, 0)
        self.man["ids"]["hermes"].append(sid)
        self.add("hermes", len(rows), nb)

    def run(self):
        t0 = time.time()
        cum = list(accumulate(self.mix))
        kinds = [bisect(cum, self.rng.random() * cum[-1]) for _ in range(self.n)]
        if self.mix[2]:
            self.hermes_open()
        for i, k in enumerate(kinds):
            (self.claude, self.codex, self.hermes)[min(k, 2)](i)
            if i % 500 == 0 and i:
                print(
                    f"{i}/{self.n} {sum(self.man['bytes'].values()) / 1e6:.0f} MB {time.time() - t0:.0f}s",
                    file=sys.stderr,
                )
        if self.mix[2]:
            self.db.commit()
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.db.close()
            (self.home / ".hermes/sessions/sessions.json").write_text(json.dumps(self.routes, indent=1))
        self.man["total_sessions"] = sum(self.man["sessions"].values())
        self.man["total_messages"] = sum(self.man["messages"].values())
        self.man["total_bytes"] = sum(self.man["bytes"].values())
        (self.home / "corpus-manifest.json").write_text(json.dumps(self.man, indent=1))
        print(
            json.dumps(
                {
                    k: self.man[k]
                    for k in (
                        "sessions",
                        "messages",
                        "bytes",
                        "total_sessions",
                        "total_messages",
                        "total_bytes",
                        "usage",
                    )
                }
            )
        )


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--home", required=True, type=Path)
    ap.add_argument("--size", choices=list(SIZES), default="S")
    ap.add_argument("--sessions", type=int)
    ap.add_argument("--mb", type=float)
    ap.add_argument("--messages", type=int)
    ap.add_argument("--mix", default="60,30,10", help="claude,codex,hermes weights")
    ap.add_argument("--vocab", type=int, default=60_000)
    ap.add_argument("--seed", type=int, default=7)
    a = ap.parse_args()
    s, mb, m = SIZES[a.size]
    a.home.mkdir(parents=True, exist_ok=True)
    if any((a.home / x).exists() for x in (".claude", ".codex", ".hermes")):
        sys.exit("refusing to write: the directory already holds a store")
    Maker(
        a.home, a.sessions or s, a.mb or mb, a.messages or m, [float(x) for x in a.mix.split(",")], a.seed, a.vocab
    ).run()


if __name__ == "__main__":
    main()
