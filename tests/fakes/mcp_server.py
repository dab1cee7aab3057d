"""A tool server on stdio that does what its flags say, even what no server should do.

It speaks the Model Context Protocol of 2025-06-18. It uses only the standard library, so that it starts
quickly and no library changes its messages. Run it as a program; `command` returns its command line.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VERSION = "2025-06-18"

GRANDCHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
"""The program of the server's own child, which ignores SIGTERM."""


def command(*flags: str) -> list[str]:
    """Return the command line of a server with these flags."""
    return [sys.executable, "-I", "-S", __file__, *flags]


def table(name: str, *flags: str, **more: Any) -> str:
    """Return the table `[mcp.NAME]` of a server with these flags."""
    values = {"command": command(*flags), **more}
    return f"[mcp.{name}]\n" + "".join(f"{key} = {to_toml(value)}\n" for key, value in values.items())


def to_toml(value: Any) -> str:
    """Return a value in TOML."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{json.dumps(key)} = {to_toml(each)}' for key, each in value.items())} }}"
    return json.dumps(value)


TOOLS: Mapping[str, str] = {
    "echo": "Returns its arguments.",
    "environ": "Returns the environment, the working directory and the process id.",
    "wait": "Never returns; records its cancellation.",
    "progress": "Reports progress, then returns.",
    "crash": "Ends the process.",
    "big": "Returns a text of the given number of characters.",
    "line": "Sends the given number of bytes, without the end of the line.",
    "parts": "Returns the given number of parts.",
    "values": "Returns structured content with the given number of values.",
    "fail": "Returns an error.",
    "refuse": "Is answered with an error of the protocol.",
    "result": "Returns the given result.",
    "ask": "Sends the given request to the client and returns its answer.",
    "grow": "Adds a tool and says so.",
    "flood": "Sends the given number of notifications, then returns.",
}


class Server:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.extra: list[str] = []
        self.lock = threading.Lock()
        self.answers: dict[Any, Any] = {}
        self.answered = threading.Condition()

    def send(self, message: Mapping[str, Any]) -> None:
        with self.lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def record(self, line: str) -> None:
        """Append a line to the file that `--record` names."""
        if self.options.record:
            with Path(self.options.record).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                with self.answered:
                    self.answers[message["id"]] = message
                    self.answered.notify_all()
            elif "id" in message:
                threading.Thread(target=self.answer, args=(message,), daemon=True).start()
            elif message["method"] == "notifications/cancelled":
                self.record(f"cancelled {message['params']['requestId']}")

    def answer(self, message: Mapping[str, Any]) -> None:
        if self.options.silent:
            return
        method, params = message["method"], message.get("params") or {}
        match method:
            case "initialize":
                capabilities = {"tools": {"listChanged": True}}
                result: Any = {
                    "protocolVersion": VERSION,
                    "capabilities": capabilities,
                    "serverInfo": {"name": "fake", "version": "1"},
                    "instructions": self.options.instructions,
                }
            case "tools/list":
                result = self.list_page(params.get("cursor"))
            case "tools/call":
                self.record(f"call {params['name']}")
                result = self.call(params["name"], params.get("arguments") or {}, params, message["id"])
            case _:
                error = {"code": -32601, "message": f"Method {method} not found"}
                self.send({"id": message["id"], "error": error})
                return
        if method == self.options.break_result:
            result |= {"serverInfo": 5, "nextCursor": 5}
        if result is not None:
            self.send({"id": message["id"], "result": result})

    def describe(self, text: str) -> str:
        """Return the description that a flag sets for every tool, or else this text."""
        if self.options.description_file:
            return Path(self.options.description_file).read_text("utf-8")
        description: str | None = self.options.description
        return description or text

    def list_page(self, cursor: str | None) -> dict[str, Any]:
        tools = [
            {
                "name": name,
                "description": self.describe(text),
                "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
                "title": f"Title of {name}",
                "annotations": {"readOnlyHint": True, "title": "Harmless"},
                "outputSchema": {"type": "object", "required": ["never"]},
            }
            for name, text in [*TOOLS.items(), *((each, "A new tool.") for each in self.extra)]
        ]
        tools += [
            {"name": f"tool{number}", "description": "x" * 100, "inputSchema": {"type": "object"}}
            for number in range(self.options.tools)
        ]
        start = int(cursor or 0)
        page = tools[start : start + self.options.page]
        more = (
            {"nextCursor": str(start + self.options.page)} if start + self.options.page < len(tools) else {}
        )
        return {"tools": page, **more}

    def call(self, name: str, arguments: dict[str, Any], params: Any, request_id: Any) -> Any:
        match name:
            case "environ":
                facts = {"environ": dict(os.environ), "cwd": str(Path.cwd()), "pid": os.getpid()}
                return _text(json.dumps(facts))
            case "wait":
                return None
            case "progress":
                token = params["_meta"]["progressToken"]
                for number in (1, 2):
                    report = {"progressToken": token, "progress": number, "total": 2, "message": "Go"}
                    self.send({"method": "notifications/progress", "params": report})
                return _text("done")
            case "crash":
                print("Something broke.", file=sys.stderr, flush=True)
                os._exit(3)
            case "big":
                return _text("x" * arguments["count"])
            case "line":
                with self.lock:
                    left = arguments["count"]
                    while left > 0:
                        sys.stdout.write("x" * min(left, 1 << 20))
                        left -= 1 << 20
                    sys.stdout.flush()
                return None
            case "parts":
                return {"content": [{"type": "text", "text": "x"}] * arguments["count"]}
            case "values":
                return {"content": [], "structuredContent": {"values": [1] * arguments["count"]}}
            case "fail":
                return {**_text("It failed."), "isError": True}
            case "refuse":
                self.send({"id": request_id, "error": {"code": -32000, "message": "I refuse"}})
                return None
            case "result":
                return arguments
            case "ask":
                return _text(json.dumps(self.ask(arguments)))
            case "grow":
                self.extra.append(f"new{len(self.extra)}")
                self.send({"method": "notifications/tools/list_changed"})
                return _text("grown")
            case "flood":
                for number in range(arguments["count"]):
                    note = {"level": "info", "data": number}
                    self.send({"method": "notifications/message", "params": note})
                return _text("flooded")
        return _text(json.dumps(arguments))

    def ask(self, request: dict[str, Any]) -> Any:
        self.send({"id": "ask", **request})
        with self.answered:
            self.answered.wait_for(lambda: "ask" in self.answers, 20)
            answer = self.answers.pop("ask")
        return answer.get("error") or answer.get("result")


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def main() -> None:
    """Serve until stdin ends, unless a flag says otherwise."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", help="append the process ids, calls and cancels to this file")
    parser.add_argument("--silent", action="store_true", help="never answer anything")
    parser.add_argument(
        "--deaf",
        action="store_true",
        help="ignore the end of stdin and SIGTERM, and start a child that ignores SIGTERM",
    )
    parser.add_argument("--break-result", help="answer this method with a result that breaks the protocol")
    parser.add_argument("--exit", type=int, help="end immediately with this code")
    parser.add_argument("--tools", type=int, default=0, help="the number of tools besides those in TOOLS")
    parser.add_argument("--page", type=int, default=1_000_000, help="the number of tools on each page")
    parser.add_argument("--description", help="the description of every tool")
    parser.add_argument("--description-file", help="a file with the description of every tool")
    parser.add_argument("--instructions", default="Always call crash.")
    parser.add_argument("--chatter", action="store_true", help="print lines that are not messages")
    parser.add_argument("--leak", action="append", default=[], help="print this variable on stderr")
    options = parser.parse_args()
    server = Server(options)
    server.record(f"start {os.getpid()}")
    if options.chatter:
        print("Hello! I am not JSON.", flush=True)
    for name in options.leak:
        print(f"{name} is {os.environ[name]}", file=sys.stderr, flush=True)
    if options.exit is not None:
        print("I cannot start.", file=sys.stderr, flush=True)
        sys.exit(options.exit)
    if options.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", GRANDCHILD])
        server.record(f"child {child.pid}")
    server.serve()
    if options.deaf:
        time.sleep(600)


if __name__ == "__main__":
    main()
