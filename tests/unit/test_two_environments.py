"""Two clients of one daemon each get the same values as from a daemon of their own."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.adapters.github.sign_in.search import find_sign_ins
from jumpseat.adapters.github.sign_in.store import token_store_of
from jumpseat.adapters.local.model import locate
from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig, SavedSettings, Values, load_config, saved_settings_file
from jumpseat.http.network import NetworkOptions, UrlOrigin, read_options
from jumpseat.http.tls import make_context
from jumpseat.system.environment import Environment
from tests.environments import environment_with

Two: TypeAlias = tuple[Environment, Environment]

ORIGIN = UrlOrigin("https", "api.test", 443)


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Two:
    """Return two clients. The process itself has other values for everything that the clients define."""
    for name in ("KEY", "GH_TOKEN", "HTTPS_PROXY", "HOME"):
        monkeypatch.setenv(name, "of-the-process")
    return client(tmp_path, "ann"), client(tmp_path, "bob")


def client(root: Path, name: str) -> Environment:
    home = root / name
    home.mkdir()
    variables = {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "JUMPSEAT_HOME": str(home),
        "KEY": f"key-of-{name}-4711",
        "HTTPS_PROXY": f"http://proxy-of-{name}.test:1",
        "PATH": str(home / "bin"),
    }
    return environment_with(variables, directory=home, home=home)


async def values_of(clients: Two, text: str) -> list[str]:
    """Resolve a configured value for both clients at the same time, and return the results."""

    async def of(environment: Environment) -> str:
        config = load_config(None, {"providers": {"x": {}}}, environment=environment)
        table = ProviderConfig(api_key=text).set_environment(config.environment)
        return (await Values("x", table).resolve("api_key", text)).reveal()

    return await asyncio.gather(*map(of, clients))


@pytest.mark.parametrize("text", ["env:KEY", "KEY"])
async def test_each_has_its_own_variables(two: Two, text: str) -> None:
    assert await values_of(two, text) == ["key-of-ann-4711", "key-of-bob-4711"]


async def test_each_has_its_own_home(two: Two) -> None:
    for each in two:
        (each.directory / "key").write_text(f"from-{each.directory.name}", "utf-8")
        (each.directory / "own.gguf").write_bytes(b"GGUF")

    assert await values_of(two, "file:~/key") == ["from-ann", "from-bob"]
    assert [locate("local", "~/own.gguf", each) for each in two] == [
        each.directory / "own.gguf" for each in two
    ]


async def test_a_command_has_the_clients_variables_and_directory(
    two: Two,
) -> None:
    program = "import json, os; print(json.dumps([os.environ['HOME'], os.getcwd()]))"
    line = shlex.join([Path(sys.executable).as_posix(), "-c", program])

    for each, written in zip(two, await values_of(two, f"cmd:{line}"), strict=True):
        assert json.loads(written) == [str(each.directory)] * 2


async def test_a_key_of_one_is_not_withheld_from_the_commands_of_the_other(
    two: Two,
) -> None:
    ann, bob = two
    (ann.directory / "config.toml").write_text(
        '[providers.x]\nkind = "openai"\napi_key = "env:KEY"\n', "utf-8"
    )

    for each in two:
        load_config(None, None, environment=each)

    assert (ann.withheld, bob.withheld) == ({"KEY"}, set())


async def test_each_has_its_own_configuration_and_saved_settings(
    two: Two,
) -> None:
    for each in two:
        (each.directory / "config.toml").write_text(f'default_provider = "{each.directory.name}"', "utf-8")
        await SavedSettings(saved_settings_file(each.places)).save(
            {"max_tokens": len(str(each.directory))}, {}
        )

    assert [load_config(None, None, environment=each).default_provider for each in two] == ["ann", "bob"]
    assert all((each.directory / "settings.json").is_file() for each in two)


async def options_of(environment: Environment, **table: Any) -> NetworkOptions:
    return await read_options("x", ProviderConfig(**table).set_environment(environment))


async def test_each_has_its_own_proxy(two: Two) -> None:
    ann, bob = [await options_of(each) for each in two]

    proxies = [each.find_network(ORIGIN).proxy for each in (ann, bob)]
    assert [proxy and proxy.host for proxy in proxies] == ["proxy-of-ann.test", "proxy-of-bob.test"]
    assert ann != bob
    assert ann == await options_of(two[0])


async def test_each_has_its_own_certificates(
    two: Two, authority: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = two
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/of-the-process.pem")
    (ann.directory / "ca.pem").write_bytes(authority.file.read_bytes())
    with_file = environment_with({**ann.variables, "SSL_CERT_FILE": "ca.pem"}, directory=ann.directory)

    own = (await options_of(with_file)).tls
    assert len(make_context(own, "x").get_ca_certs()) == 1
    assert own != (await options_of(bob)).tls
    make_context((await options_of(bob)).tls, "x")
    assert (await options_of(ann, ca_file="~/ca.pem")).tls.ca_file == str(ann.directory / "ca.pem")
    for each in two:
        relative = await options_of(each, client_cert="own.pem")
        with pytest.raises(ConfigError, match="is a relative path"):
            make_context(relative.tls, "x")


async def test_each_has_its_own_sign_ins(two: Two) -> None:
    ann, bob = two
    ann = environment_with({**ann.variables, "GH_TOKEN": "gho_of_ann_4711"}, home=ann.directory)
    folder = bob.directory / ".config" / "github-copilot"
    folder.mkdir(parents=True)
    (folder / "hosts.json").write_text('{"github.com": {"oauth_token": "ghu_of_bob_4711"}}', "utf-8")
    hosts = github_hosts("github.com", provider="copilot", github_url=None)

    found = [await find_sign_ins(hosts, token_store_of(each), each) for each in (ann, bob)]

    assert [each.best and (each.best.source, each.best.token.reveal()) for each in found] == [
        ("env:GH_TOKEN", "gho_of_ann_4711"),
        ("hosts.json", "ghu_of_bob_4711"),
    ]
