"""Conversations as Codex CLI 0.98.0 writes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from corpus.conversations import Conversations, Part, compact, iso, random_uuid, written

__all__ = ["CodexWriter"]

_MODELS = ("gpt-5-codex", "gpt-5")


class CodexWriter:
    """`.codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`."""

    def __init__(self, source: Conversations) -> None:
        self._source = source

    def write(self, number: int) -> None:
        """Write conversation `number`."""
        start, parts = self._source.conversation(number)
        session, moment = _Session(self._source, start), start
        for part in parts:
            moment = self._source.later(moment)
            session.put(part, moment)
        name = f"{start:%Y/%m/%d}/rollout-{start:%Y-%m-%dT%H-%M-%S}-{session.id}.jsonl"
        size = written(self._source.home / ".codex/sessions" / name, session.records, moment)
        self._source.session("codex", session.id, len(parts), size)

    def close(self) -> None:
        """Every file is whole already."""


class _Session:
    """One session while it is written."""

    def __init__(self, source: Conversations, start: datetime) -> None:
        r = source.rng
        self._source = source
        self.id, project = random_uuid(r), r.choice(source.projects)
        self._cwd = f"/home/dev/{project}"
        self._model = r.choice(_MODELS)
        self._call = ""
        self.records: list[str] = []
        self._total = {
            "input_tokens": 0,
            "cached_input_tokens": 0,
            "output_tokens": 0,
            "reasoning_output_tokens": 0,
            "total_tokens": 0,
        }
        git = {
            "commit_hash": f"{r.getrandbits(160):040x}",
            "branch": "main",
            "repository_url": f"git@example.com:dev/{project}.git",
        }
        about = {"id": self.id, "timestamp": iso(start), "cwd": self._cwd, "originator": "codex_cli_rs"}
        about |= {"cli_version": "0.98.0"}
        more = {"instructions": None, "source": "cli", "model_provider": "openai", "git": git}
        self._put(start, "session_meta", {**about, **more})
        self._said(start, "user", f"<environment_context>\n  <cwd>{self._cwd}</cwd>\n</environment_context>")
        self._context = r.randint(6_000, 9_000)

    def _put(self, moment: datetime, kind: str, payload: dict[str, Any]) -> None:
        self.records.append(compact({"timestamp": iso(moment), "type": kind, "payload": payload}))

    def _said(self, moment: datetime, role: str, text: str) -> None:
        content = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
        self._put(moment, "response_item", {"type": "message", "role": role, "content": content})

    def put(self, part: Part, moment: datetime) -> None:
        """The records of the next part of the conversation."""
        if part.kind == "user":
            self._prompt(part.text, moment)
        elif part.kind == "call":
            self._called(part, moment)
        elif part.kind == "result":
            self._result(part.text, moment)
        else:
            if part.kind == "assistant":
                self._said(moment, "assistant", part.text)
                self._put(moment, "event_msg", {"type": "agent_message", "message": part.text})
            else:
                self._thought(part.text, moment)
            self._counted(max(8, len(part.text) // 4), moment)

    def _prompt(self, text: str, moment: datetime) -> None:
        turn = {
            "cwd": self._cwd,
            "approval_policy": "on-request",
            "sandbox_policy": {"mode": "workspace-write", "network_access": False},
            "model": self._model,
            "effort": "high",
            "summary": "auto",
        }
        self._put(moment, "turn_context", turn)
        self._said(moment, "user", text)
        self._put(moment, "event_msg", {"type": "user_message", "message": text, "images": []})

    def _thought(self, text: str, moment: datetime) -> None:
        self._put(moment, "event_msg", {"type": "agent_reasoning", "text": text})
        reasoning = {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": text}],
            "content": None,
            "encrypted_content": "gAAAAA" + self._source.text.hapax() * 20,
        }
        self._put(moment, "response_item", reasoning)

    def _called(self, part: Part, moment: datetime) -> None:
        self._call = f"call_{self._source.rng.getrandbits(96):024x}"
        patch = f"apply_patch <<'EOF'\n{part.code}\nEOF"
        command = patch if part.code else f"rg -n {self._source.text.word()} {part.text}"
        arguments = compact({"command": ["bash", "-lc", command], "workdir": self._cwd})
        call = {"type": "function_call", "name": "shell", "call_id": self._call, "arguments": arguments}
        self._put(moment, "response_item", call)

    def _result(self, text: str, moment: datetime) -> None:
        about = {"exit_code": int(self._source.rng.random() < 0.1), "duration_seconds": 0.4}
        output = compact({"output": text, "metadata": about})
        self._put(moment, "response_item", {"type": "function_call_output", "call_id": self._call, "output": output})

    def _counted(self, output: int, moment: datetime) -> None:
        context = self._context
        last = {
            "input_tokens": context,
            "cached_input_tokens": context - 800,
            "output_tokens": output,
            "reasoning_output_tokens": output // 4,
            "total_tokens": context + output,
        }
        self._total = {name: value + last[name] for name, value in self._total.items()}
        self._source.usage("codex", input=context, output=output, cache_read=context - 800)
        self._context += self._source.rng.randint(200, 3000)
        info = {"total_token_usage": self._total, "last_token_usage": last, "model_context_window": 272000}
        limits = {"primary": {"used_percent": 12.0, "window_minutes": 300}}
        self._put(moment, "event_msg", {"type": "token_count", "info": info, "rate_limits": limits})
