"""A scripted model on loopback that real agents talk to, in the four forms that they know.

What it does is said in the last prompt, in words of their own:

* `RUN command` (to the end of the line) calls the agent's shell tool; after its result it says `done`;
* `NEED command` does the same, and asks for more rights where the tool knows such a wish (Codex);
* `ASK question` calls the tool by which the agent asks its user, where it has one;
* `HOLD name` keeps the answer back until `let_go(name)`;
* `LIMIT` refuses as a provider does whose usage limit is reached (429, not to be tried again), `FAIL` answers 400;
* anything else is answered with `said: ` and the prompt's first words.

Forms: Anthropic `/v1/messages`, OpenAI `/v1/responses` and `/v1/chat/completions`, Gemini `:streamGenerateContent`.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

__all__ = ["Model", "Reply", "Wish"]

_HELD = 900.0
_SHELLS = ("Bash", "shell", "exec_command", "local_shell", "run_shell_command", "bash", "shell_command", "exec")
_QUESTIONS = ("AskUserQuestion", "request_user_input", "ask_user", "question")
_SCRIPT = re.compile(r"\b(RUN|NEED|ASK|HOLD|LIMIT|FAIL)\b[ \t]*([^\n<]*)")
_BESIDE = re.compile(r"<([a-z_-]+)>.*?</\1>", re.DOTALL)
"""What agents put beside a prompt."""
_ESCALATED = {"sandbox_permissions": "require_escalated", "justification": "May this be done?"}


class Wish(NamedTuple):
    """What a prompt wants of the model."""

    verb: str
    """RUN, NEED, ASK, HOLD, LIMIT, FAIL or SAY."""
    words: str


class Reply(NamedTuple):
    """What the model says: a text, or one call of a tool."""

    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = {}


class Model(ThreadingHTTPServer):
    """The server; `requests` has the bodies that came, oldest first."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self._held: dict[str, threading.Event] = {}
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def end(self) -> None:
        """No more requests; what was kept back is answered."""
        for event in list(self._held.values()):
            event.set()
        self.shutdown()
        self.server_close()

    def is_holding(self, name: str) -> bool:
        """Whether a prompt with that name has come."""
        return name in self._held

    def let_go(self, name: str) -> None:
        """Answer what was kept back under that name."""
        self._held.setdefault(name, threading.Event()).set()

    def hold(self, name: str) -> None:
        """Wait until `let_go`."""
        self._held.setdefault(name, threading.Event()).wait(_HELD)

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that was killed leaves requests half done."""

    def reply(self, prompt: str, answered: bool, tools: Sequence[Mapping[str, Any]]) -> Reply | int:
        """What to say to `prompt`, the last that the user said; `answered`: a tool's result came after it. A number
        is an HTTP status. `tools` as {name, schema}."""
        wish = wish_of(prompt)
        if wish.verb == "HOLD":
            self.hold(wish.words.split()[0])
        if answered:
            return Reply("done")
        if wish.verb in ("LIMIT", "FAIL"):
            return 429 if wish.verb == "LIMIT" else 400
        wanted = {"RUN": _SHELLS, "NEED": _SHELLS, "ASK": _QUESTIONS}.get(wish.verb, ())
        known = {str(tool["name"]): tool.get("schema") or {} for tool in tools}
        name = next((one for one in wanted if one in known), None)
        if name is None:
            return Reply("said: " + " ".join(prompt.split()[:6]))
        arguments = _arguments(known[name], wish.words.strip())
        if wish.verb == "NEED":
            arguments |= {key: value for key, value in _ESCALATED.items() if key in known[name].get("properties", {})}
        return Reply(tool=name, arguments=arguments)


def wish_of(prompt: str) -> Wish:
    """The last wish in a prompt."""
    found = _SCRIPT.findall(prompt)
    return Wish(*found[-1]) if found else Wish("SAY", prompt)


def _arguments(schema: Mapping[str, Any], words: str) -> dict[str, Any]:
    """Arguments that a tool's schema takes, with `words` where its text belongs."""
    made = _made(schema, words)
    return made if isinstance(made, dict) else {}


def _made(schema: Mapping[str, Any], words: str) -> Any:
    for name in ("anyOf", "oneOf"):
        if schema.get(name):
            return _made(schema[name][0], words)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    kind = (kind[0] if isinstance(kind, list) else kind) or ("object" if "properties" in schema else "string")
    match str(kind).lower():
        case "object":
            wanted = schema.get("required") or []
            return {
                name: _made(each, words) for name, each in (schema.get("properties") or {}).items() if name in wanted
            }
        case "array":
            items = schema.get("items") or {}
            if str(items.get("type")).lower() == "string" and words.startswith(("/", "sleep", "touch", "rm", "echo")):
                return ["bash", "-c", words]
            return [_made(items, f"{words} {number}") for number in range(max(int(schema.get("minItems") or 1), 1))]
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 1)
        case _:
            return words


# Forms -----------------------------------------------------------------------------------------------------------


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return str(content.get("text") or "")
    return "\n".join(_text(one) for one in content or [] if isinstance(one, str | dict))


def _anthropic(body: dict[str, Any]) -> tuple[str, bool, list[dict[str, Any]]]:
    prompt, answered = "", False
    for message in body.get("messages", []):
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        results = any(isinstance(one, dict) and one.get("type") == "tool_result" for one in blocks)
        if message.get("role") != "user":
            continue
        answered = answered or results
        if said := _said(content):
            prompt, answered = said, False
    tools = [{"name": one.get("name"), "schema": one.get("input_schema")} for one in body.get("tools") or []]
    return prompt, answered, tools


def _said(content: Any) -> str:
    """What a person said, without what the agent puts beside it."""
    blocks = [content] if isinstance(content, str) else content or []
    results = ("tool_result", "function_call_output")
    parts = [_text(one) for one in blocks if not (isinstance(one, dict) and one.get("type") in results)]
    return _BESIDE.sub("", "\n".join(parts)).strip()


def _responses(body: dict[str, Any]) -> tuple[str, bool, list[dict[str, Any]]]:
    prompt, answered = "", False
    given = body.get("input") or []
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        if item.get("type") in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
            answered = True
        elif item.get("role") == "user" and (said := _said(item.get("content"))):
            prompt, answered = said, False
    return prompt, answered, list(_flat(body.get("tools") or []))


def _flat(tools: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Tools, those of a namespace (Codex has one for each server of tools) by `namespace/name`."""
    for one in tools:
        yield {"name": one.get("name"), "schema": one.get("parameters")}
        for each in one.get("tools") or []:
            yield {"name": f"{one.get('name')}/{each.get('name')}", "schema": each.get("parameters")}


def _chat(body: dict[str, Any]) -> tuple[str, bool, list[dict[str, Any]]]:
    prompt, answered = "", False
    for message in body.get("messages", []):
        if message.get("role") == "tool":
            answered = True
        elif message.get("role") == "user" and (said := _said(message.get("content"))):
            prompt, answered = said, False
    functions = [one.get("function") or {} for one in body.get("tools") or []]
    return prompt, answered, [{"name": one.get("name"), "schema": one.get("parameters")} for one in functions]


def _gemini(body: dict[str, Any]) -> tuple[str, bool, list[dict[str, Any]]]:
    prompt, answered = "", False
    for content in body.get("contents", []):
        parts = content.get("parts") or []
        if any("functionResponse" in one for one in parts):
            answered = True
        elif content.get("role") == "user" and (said := _said(parts)):
            prompt, answered = said, False
    declared = [one for tool in body.get("tools") or [] for one in tool.get("functionDeclarations") or []]
    tools = [
        {"name": one.get("name"), "schema": one.get("parametersJsonSchema") or one.get("parameters")}
        for one in declared
    ]
    return prompt, answered, tools


_USED = {"input": 100, "output": 20}


def _anthropic_events(reply: Reply, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    usage = {"input_tokens": _USED["input"], "output_tokens": 1}
    message = {"id": _id("msg"), "type": "message", "role": "assistant", "model": model, "content": []}
    yield "message_start", {"message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    if reply.tool:
        block = {"type": "tool_use", "id": _id("toolu"), "name": reply.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}
    yield "content_block_start", {"index": 0, "content_block": block}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    reason = "tool_use" if reply.tool else "end_turn"
    yield (
        "message_delta",
        {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": _USED["output"]}},
    )
    yield "message_stop", {}


def _responses_events(reply: Reply, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    response: dict[str, Any] = {"id": _id("resp"), "object": "response", "model": model, "output": []}
    yield "response.created", {"response": {**response, "status": "in_progress"}}
    if reply.tool:
        arguments = json.dumps(reply.arguments)
        item: dict[str, Any] = {"type": "function_call", "id": _id("fc"), "call_id": _id("call"), "name": reply.tool}
        item["arguments"] = arguments
        if "/" in reply.tool:
            item["namespace"], _, item["name"] = reply.tool.partition("/")
    else:
        text = {"type": "output_text", "text": reply.text, "annotations": []}
        item = {"type": "message", "id": _id("msg"), "role": "assistant", "content": [text]}
    yield "response.output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress"}}
    if not reply.tool:
        where = {"output_index": 0, "content_index": 0, "item_id": item["id"]}
        yield "response.content_part.added", {**where, "part": {"type": "output_text", "text": "", "annotations": []}}
        yield "response.output_text.delta", {**where, "delta": reply.text}
        yield "response.output_text.done", {**where, "text": reply.text}
    done = {**item, "status": "completed"}
    yield "response.output_item.done", {"output_index": 0, "item": done}
    usage = {
        "input_tokens": _USED["input"],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": _USED["output"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sum(_USED.values()),
    }
    yield "response.completed", {"response": {**response, "status": "completed", "output": [done], "usage": usage}}


def _chat_chunks(reply: Reply, model: str) -> Iterator[dict[str, Any]]:
    base = {"id": _id("chat"), "object": "chat.completion.chunk", "created": int(time.time()), "model": model}
    delta: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.tool:
        function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
        call = {"index": 0, "id": _id("call"), "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [call]}
    yield {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "tool_calls" if reply.tool else "stop"
    usage = {
        "prompt_tokens": _USED["input"],
        "completion_tokens": _USED["output"],
        "total_tokens": sum(_USED.values()),
    }
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


def _gemini_chunk(reply: Reply, model: str) -> dict[str, Any]:
    part: dict[str, Any] = {"text": reply.text}
    if reply.tool:
        part = {"functionCall": {"name": reply.tool, "args": reply.arguments}}
    used = {"promptTokenCount": _USED["input"], "candidatesTokenCount": _USED["output"], "totalTokenCount": 120}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": used, "modelVersion": model}


def _id(kind: str) -> str:
    return f"{kind}_{time.time_ns():x}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, *args: Any) -> None:
        """Nothing: the tests look at `requests`."""

    def do_HEAD(self) -> None:
        self._send(200, b"", "text/plain")

    def do_GET(self) -> None:
        models = [{"id": one, "object": "model", "name": one} for one in ("mock-model", "mock-small")]
        self._send(200, json.dumps({"object": "list", "data": models, "models": []}).encode(), "application/json")

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(data)
        except ValueError:
            body = {}
        path = self.path.partition("?")[0]
        self.server.requests.append((path, body))
        if path.endswith(("/count_tokens", ":countTokens")):
            self._send(200, b'{"input_tokens": 10, "totalTokens": 10}', "application/json")
        elif path.endswith("/messages"):
            self._answer(body, _anthropic, _anthropic_events)
        elif path.endswith("/responses"):
            self._answer(body, _responses, _responses_events)
        elif path.endswith("/chat/completions"):
            self._chat_answer(body)
        elif "enerateContent" in path:
            self._gemini_answer(body, path)
        else:
            self._send(200, b"{}", "application/json")

    def _answer(self, body: dict[str, Any], read: Any, events: Any) -> None:
        reply = self.server.reply(*read(body))
        if isinstance(reply, int):
            return self._refuse(reply)
        made = [(name, {"type": name, **event}) for name, event in events(reply, str(body.get("model")))]
        if not body.get("stream"):
            whole = _whole_message(made) if read is _anthropic else made[-1][1]["response"]
            return self._send(200, json.dumps(whole).encode(), "application/json")
        lines = "".join(f"event: {name}\ndata: {json.dumps(event)}\n\n" for name, event in made)
        return self._send(200, lines.encode(), "text/event-stream")

    def _chat_answer(self, body: dict[str, Any]) -> None:
        reply = self.server.reply(*_chat(body))
        if isinstance(reply, int):
            return self._refuse(reply)
        chunks = list(_chat_chunks(reply, str(body.get("model"))))
        if not body.get("stream"):
            message = chunks[0]["choices"][0]["delta"]
            choice = {"index": 0, "message": message, "finish_reason": chunks[1]["choices"][0]["finish_reason"]}
            whole = {**chunks[0], "object": "chat.completion", "choices": [choice], "usage": chunks[1]["usage"]}
            return self._send(200, json.dumps(whole).encode(), "application/json")
        lines = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        return self._send(200, lines.encode(), "text/event-stream")

    def _gemini_answer(self, body: dict[str, Any], path: str) -> None:
        reply = self.server.reply(*_gemini(body))
        if isinstance(reply, int):
            return self._refuse(reply)
        chunk = json.dumps(_gemini_chunk(reply, path.rpartition("/")[2].partition(":")[0]))
        if "stream" in path:
            return self._send(200, f"data: {chunk}\n\n".encode(), "text/event-stream")
        return self._send(200, chunk.encode(), "application/json")

    def _refuse(self, status: int) -> None:
        limit = "usage_limit_reached" if self.path.endswith("/responses") else "rate_limit_error"
        kind = limit if status == 429 else "invalid_request_error"
        words = "You have reached your usage limit" if status == 429 else "The request cannot be taken"
        error = {"type": kind, "message": words, "code": status, "status": "RESOURCE_EXHAUSTED"}
        if status == 429:
            error |= {"plan_type": "plus", "resets_at": int(time.time()) + 3600}
        data = json.dumps({"type": "error", "error": error}).encode()
        self._send(status, data, "application/json", {"x-should-retry": "false"})

    def _send(self, status: int, data: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _whole_message(events: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """A message that was not asked for in pieces."""
    message: dict[str, Any] = dict(events[0][1]["message"])
    block = dict(events[1][1]["content_block"])
    delta = events[2][1]["delta"]
    if "text" in delta:
        block["text"] = delta["text"]
    else:
        block["input"] = json.loads(delta["partial_json"])
    stop = events[4][1]
    return {**message, "content": [block], **stop["delta"], "usage": {**message["usage"], **stop["usage"]}}
