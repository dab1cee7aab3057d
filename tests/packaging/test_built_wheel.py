"""The built wheel, installed in a new virtual environment away from the sources."""

import json
import os
import shutil
import subprocess
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from jumpseat import __version__
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.daemon import environment_of
from tests.hub import no_daemon_afterwards

ROOT = Path(__file__).parents[2]
COMMAND_SECONDS = 100.0
"""The time limit for a command. An installation may download a few megabytes."""

# All tests share one build, which is made only once because one worker runs all tests of a module.
pytestmark = pytest.mark.slow

LIST_IMPORTS = """
import sys
before = set(sys.modules)
import jumpseat
print(jumpseat.__file__)
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and an empty directory to work in."""

    binaries: Path
    directory: Path

    def run(self, program: str, *arguments: str, stdin: bytes = b"") -> str:
        """Run one of the environment's programs, which must succeed, and return its standard output."""
        # The test run's own settings for Python must not affect the program.
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))
        }
        ran = subprocess.run(
            [self.binaries / program, *arguments],
            input=stdin,
            capture_output=True,
            cwd=self.directory,
            # pip needs the settings of the user who runs the tests; jumpseat's commands must not have them.
            env=kept if program == "python" else {**kept, **environment_of(self.directory / "home")},
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        return ran.stdout.decode()

    def install(self, what: Path) -> None:
        """Install a wheel or a source tree with its dependencies, and with no extras."""
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(what))


def empty_environment(directory: Path) -> Environment:
    venv.create(directory / "venv", with_pip=True)
    (directory / "work").mkdir()
    return Environment(directory / "venv" / ("Scripts" if os.name == "nt" else "bin"), directory / "work")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    environment = empty_environment(tmp_path_factory.mktemp("installed"))
    environment.install(wheel)
    with no_daemon_afterwards(environment.directory / "home"):
        yield environment


def test_the_command_prints_its_version(installed, wheel):
    version = wheel.name.split("-")[1]
    assert version in installed.run("jumpseat", "--version")


def test_importing_jumpseat_loads_no_third_party_module(installed):
    where, *loaded = installed.run("python", "-c", LIST_IMPORTS).splitlines()
    assert Path(where).is_relative_to(installed.binaries.parent)
    assert loaded == ["jumpseat"]


def test_the_installed_daemon_answers_initialize(installed):
    messages = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}, "rootUri": None}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    frames = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    answered = installed.run("jumpseat", "serve", stdin=frames)
    first = json.loads(answered.split("\r\n\r\n", 1)[1].split("Content-Length", 1)[0])
    assert first["id"] == 1
    assert first["result"]["serverInfo"]["name"] == "jumpseat"
    assert first["result"]["capabilities"]["experimental"]["jumpseat"]["protocolVersion"] == 1


def test_the_installed_command_asks_a_provider_through_its_daemon(installed):
    """A chat imports the modules that are imported late, so their packages must be dependencies."""
    home = installed.directory / "home"
    home.mkdir(exist_ok=True)
    with ThreadedUpstream() as upstream:
        upstream.script(Reply.events(completion_stream(["Hel", "lo."])))
        table = f'kind = "openai"\nbase_url = "{upstream.base_url}"\napi_key = "fake-key"\n'
        (home / "config.toml").write_text(f"[providers.fake]\n{table}", "utf-8")
        answered = installed.run("jumpseat", "chat", "--model", "fake:fake-model", "Say hello.")
    assert answered.strip() == "Hello."


def test_the_wheel_contains_the_packages_their_types_and_the_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert f"jumpseat-{__version__}.data/data/share/man/man1/jumpseat.1" in names
    packages = {name.partition("/")[0] for name in names if ".dist-info" not in name and ".data" not in name}
    assert packages == {"jumpseat", "jumpseat_cli", "jumpseat_client"}
    assert {"jumpseat/py.typed", "jumpseat_client/py.typed"} <= set(names)
    assert {Path(name).name for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}


@pytest.mark.slow
def test_pip_installs_the_source_tree_into_an_empty_environment(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "node_modules", "dist"))
    environment = empty_environment(tmp_path)
    environment.install(source)
    shutil.rmtree(source)
    assert "jumpseat" in environment.run("jumpseat", "--version")
