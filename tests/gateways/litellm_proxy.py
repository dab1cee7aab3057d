"""Runs LiteLLM's proxy in front of a fake upstream. The proxy cannot reach any other host.

The proxy has a separate virtual environment, because its pinned versions conflict with the dependencies of
jumpseat. `make test-slow` creates this environment.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ENVIRONMENT = Path(f"{sys.prefix}-litellm")
"""The proxy's virtual environment, in the same directory as the virtual environment of the tests."""

PYTHON = ENVIRONMENT / "bin" / "python"
READY = ENVIRONMENT / ".ready"

START_SECONDS = 90.0
"""The time limit for the start. The imports alone take ten seconds on an idle machine."""

LISTENS = "Uvicorn running on"
"""The beginning of the message that the proxy writes when it is ready."""

KEY = "sk-of-the-gateway"
"""The key that the proxy's clients send."""

# The program ends when its stdin ends, so that it cannot outlive the test run.
_PROGRAM = """
import os, sys, threading

def leave():
    sys.stdin.buffer.read()
    os._exit(0)

threading.Thread(target=leave, daemon=True).start()
from litellm import run_server
sys.argv = ["litellm", *sys.argv[1:]]
run_server()
"""


@dataclass(frozen=True)
class Gateway:
    """A running proxy."""

    origin: str
    upstream_port: int
    """The loopback port of the fake upstream."""

    process: subprocess.Popen[str]
    output: Sequence[str]


@contextlib.contextmanager
def running_gateway(home: Path, models: Mapping[str, str]) -> Iterator[Gateway]:
    """Run a proxy that serves these models. Skip the test if LiteLLM is not installed.

    Args:
        home: an empty directory for the proxy's files.
        models: LiteLLM's name for each model, such as `openai/gpt-4o`, by the name that clients use.
    """
    if not READY.exists():
        pytest.skip(f"LiteLLM is not installed: run `make {ENVIRONMENT.name}/.ready`")
    port, upstream_port = _free_ports(2)
    config = home / "config.json"
    config.write_text(json.dumps(_config(models, f"http://127.0.0.1:{upstream_port}")), "utf-8")
    flags = ["--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    output: list[str] = []
    ready = threading.Event()
    with subprocess.Popen(
        [PYTHON, "-c", _PROGRAM, *flags],
        cwd=home,
        env=_environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
        errors="replace",
    ) as process:
        reader = threading.Thread(target=_read, args=(process, output, ready), daemon=True)
        reader.start()
        try:
            ready.wait(START_SECONDS)
            assert any(LISTENS in line for line in output), "LiteLLM did not start:\n" + "".join(output[-40:])
            yield Gateway(f"http://127.0.0.1:{port}", upstream_port, process, output)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            reader.join(10)


def _read(process: subprocess.Popen[str], output: list[str], ready: threading.Event) -> None:
    """Collect the output. Set `ready` when the proxy listens, or when it has ended."""
    assert process.stdout is not None
    for line in process.stdout:
        output.append(line)
        if LISTENS in line:
            ready.set()
    ready.set()


def _config(models: Mapping[str, str], origin: str) -> dict[str, object]:
    def upstream(model: str) -> dict[str, str]:
        # LiteLLM itself adds `/v1` to the address, but only for Anthropic.
        base = origin if model.startswith("anthropic/") else f"{origin}/v1"
        return {"model": model, "api_base": base, "api_key": "sk-of-the-upstream"}

    return {
        "model_list": [
            {"model_name": name, "litellm_params": upstream(model)} for name, model in models.items()
        ],
        # Without retries and cooldowns, each failure reaches the tests unchanged, and only once.
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        "general_settings": {"master_key": KEY},
    }


def _environment(home: Path) -> dict[str, str]:
    """Return an environment without the caller's variables, network access and the online price list."""
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": f"{PYTHON.parent}:/usr/bin:/bin",
        "HOME": str(home),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PYTHONUNBUFFERED": "1",
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), nowhere),
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def _free_ports(count: int) -> list[int]:
    """Return unused ports of loopback."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
