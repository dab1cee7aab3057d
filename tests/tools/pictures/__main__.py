"""Makes the README's animation of the command line: `make pictures`.

It shows the real `jumpseat` in a real terminal. Only the provider is scripted.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread

from jumpseat.testing.answers.chat_completions import chunk
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Event, Gate, Reply
from tests.daemon import environment_of
from tests.hub import no_daemon_afterwards
from tests.tools.pictures.recorder import Recorder
from tests.tools.pictures.svg import picture

PICTURE = Path(__file__).parents[3] / "docs" / "pictures" / "chat.svg"

ROWS, COLUMNS = 26, 84
DELTA_SECONDS = 0.06

SKY = """\
Sunlight is a mix of colours, and air scatters **blue** far more than red:

| light  | wavelength | scattered |
|--------|-----------:|----------:|
| blue   |     450 nm |      5.8x |
| red    |     700 nm |        1x |

So blue reaches your eyes from every direction.
"""
CODE = """\
Rayleigh's law, with the wavelength to the fourth power:

```python
def scattering(nm: float) -> float:
    return (700 / nm) ** 4
```
"""

CONFIGURATION = """\
default_provider = "groq"

[providers.groq]
kind = "openai"
base_url = "{base_url}"
api_key = "a key"
default_model = "llama-3.3-70b-versatile"
"""


def answer(text: str) -> tuple[Reply, list[Gate]]:
    """Return an answer that sends a text word by word, and the gates before the words."""
    events: list[Event] = []
    gates = []
    for word in text.replace(" ", " \0").split("\0"):
        gates.append(Gate())
        events += [gates[-1], chunk({"content": word})]
    usage = {"prompt_tokens": 31, "completion_tokens": len(gates), "total_tokens": 31 + len(gates)}
    events += [chunk({}, finish_reason="stop"), {"choices": [], "usage": usage}, "[DONE]"]
    return Reply.events(events), gates


def main() -> None:
    """Record a conversation and write the animation."""
    with tempfile.TemporaryDirectory() as directory, no_daemon_afterwards(Path(directory)):
        home = Path(directory)
        home.chmod(0o700)
        with ThreadedUpstream() as upstream:
            (home / "config.toml").write_text(CONFIGURATION.format(base_url=upstream.base_url), "utf-8")
            PICTURE.parent.mkdir(exist_ok=True)
            PICTURE.write_text(record(home, upstream), "utf-8")


def record(home: Path, upstream: ThreadedUpstream) -> str:
    """Return the animation of a conversation with two questions."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {**os.environ, **environment_of(home), "HOME": str(home), "PATH": path, "PS1": "$ "}
    recorder = Recorder(["bash", "--norc", "--noprofile"], variables, ROWS, COLUMNS)
    recorder.record_until("$")
    recorder.type("jumpseat chat")
    recorder.record_until(">")
    for question, text, end in (
        ("Why is the sky blue?", SKY, "every direction"),
        ("And in Python?", CODE, "** 4"),
    ):
        reply, gates = answer(text)
        upstream.script(reply)
        recorder.record_for(0.5)
        recorder.type(question)
        streaming = Thread(target=stream, args=(upstream, gates))
        streaming.start()
        recorder.record_until(end)
        streaming.join()
        recorder.record_for(1.5)
    recorder.terminal.type(b"\x04")
    recorder.record_for(0.5)
    recorder.terminal.process.kill()
    return picture(recorder.frames, COLUMNS, "A conversation with jumpseat in a terminal")


def stream(upstream: ThreadedUpstream, gates: list[Gate]) -> None:
    """Open the gates one after the other, at the pace of a quick model."""
    for gate in gates:
        time.sleep(DELTA_SECONDS)
        upstream.open(gate)


if __name__ == "__main__":
    main()
