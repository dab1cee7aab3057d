"""A scripted daemon: a real process that speaks frames on stdio.

    python tests/fakes/daemon.py scenario.json

The scenario is an object with these optional keys:

    answers      {"method": result, or {"error": {...}}, or {"notify": [messages], "result": ...}, or a list
                 of these, the last one repeated}; `initialize` and `shutdown` have defaults
    chats        a list with one entry for each `chat/start`, the last one repeated. An entry is a list of
                 steps: {"delta": {...}}, {"progress": {...}}, {"stderr": "text", "times": 1},
                 {"wait": "cancel"}, {"wait": "file", "path": "..."},
                 {"wait": "message", "method": "...", "times": 1}, {"die": code},
                 {"result": {...}}, {"error": {...}}
    log          a file to which every received message is appended, as one line of JSON
    initialize   "answer" (the default), "silence", "die"
    exit         "obey" (the default) or "ignore": stay alive after exit, the end of stdin and SIGTERM

Methods without an answer are refused with -32601.

This program uses only the standard library. It implements the contract independently of jumpseat, and it must
start quickly, because the tests start it hundreds of times.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

DEFAULTS: dict[str, Any] = {
    "initialize": {
        "serverInfo": {"name": "fake", "version": "0"},
        "capabilities": {"experimental": {"jumpseat": {"protocolVersion": 1}}},
    },
    "shutdown": None,
}


class Fake:
    def __init__(self, scenario: dict[str, Any]) -> None:
        self.scenario = scenario
        self.answers = {**DEFAULTS, **scenario.get("answers", {})}
        self.chats = list(scenario.get("chats", []))
        self.cancelled: dict[Any, threading.Event] = {}
        self.lock = threading.Lock()
        self.seen = Counter[str]()
        self.news = threading.Condition()  # This is notified when a message arrives.

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self.lock:
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            sys.stdout.buffer.flush()

    def receive(self) -> dict[str, Any] | None:
        length = None
        while (line := sys.stdin.buffer.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return None if length is None else json.loads(sys.stdin.buffer.read(length))

    def log(self, message: dict[str, Any]) -> None:
        if "log" in self.scenario:
            with Path(self.scenario["log"]).open("a", encoding="utf-8") as file:
                file.write(json.dumps(message) + "\n")

    def run(self) -> int:
        if self.scenario.get("exit") == "ignore":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while (message := self.receive()) is not None:
            self.log(message)
            method = message.get("method")
            with self.news:
                self.seen[str(method)] += 1
                self.news.notify_all()
            if method == "exit":
                if self.scenario.get("exit") == "ignore":
                    threading.Event().wait()
                return 0
            if method == "$/cancelRequest":
                self.cancelled.setdefault(message["params"]["id"], threading.Event()).set()
            elif method == "chat/start":
                steps = self.chats.pop(0) if len(self.chats) > 1 else self.chats[0]
                threading.Thread(target=self.chat, args=(message, steps), daemon=True).start()
            elif "id" in message:
                self.answer(message)
        if self.scenario.get("exit") == "ignore":
            threading.Event().wait()
        return 1

    def answer(self, message: dict[str, Any]) -> None:
        mode = self.scenario.get("initialize", "answer") if message["method"] == "initialize" else "answer"
        if mode == "silence":
            return
        if mode == "die":
            print("the fake daemon ends as scripted", file=sys.stderr, flush=True)
            os._exit(3)
        answer = self.answers.get(
            message["method"], {"error": {"code": -32601, "message": "No such method."}}
        )
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, dict) and set(answer) == {"notify", "result"}:
            for notification in answer["notify"]:
                self.send(notification)
            answer = answer["result"]
        if isinstance(answer, dict) and set(answer) == {"error"}:
            self.send({"id": message["id"], "error": answer["error"]})
        else:
            self.send({"id": message["id"], "result": answer})

    def chat(self, message: dict[str, Any], steps: list[dict[str, Any]]) -> None:
        chat_id, seq = message["id"], 0
        for step in steps:
            match step:
                case {"delta": delta}:
                    params = {"requestId": chat_id, "turnId": "t", "seq": seq, "delta": delta}
                    self.send({"method": "chat/delta", "params": params})
                    seq += 1
                case {"progress": value}:
                    token = message["params"].get("workDoneToken")
                    self.send({"method": "$/progress", "params": {"token": token, "value": value}})
                case {"stderr": text}:
                    sys.stderr.write(text * step.get("times", 1))
                    sys.stderr.flush()
                case {"wait": "cancel"}:
                    self.cancelled.setdefault(chat_id, threading.Event()).wait(30)
                case {"wait": "file", "path": path}:
                    deadline = time.monotonic() + 30
                    while not Path(path).exists() and time.monotonic() < deadline:
                        time.sleep(0.01)
                case {"wait": "message", "method": method}:
                    times = step.get("times", 1)
                    with self.news:
                        self.news.wait_for(lambda method=method, times=times: self.seen[method] >= times, 30)
                case {"die": code}:
                    os._exit(code)
                case {"result": result}:
                    self.send({"id": chat_id, "result": result})
                case {"error": error}:
                    self.send({"id": chat_id, "error": error})


def main() -> int:
    return Fake(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))).run()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
