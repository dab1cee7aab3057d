"""Faults in sources, `${name}`, proxies and certificates, found before their first use."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.providers.checkup import Checkup, check_file
from jumpseat.system.environment import environment_of_process

pytestmark = pytest.mark.requirement("7:file-errors")


async def check(tmp_path: Path, *lines: str) -> Checkup:
    file = tmp_path / "config.toml"
    file.write_text("\n".join(['[providers.x]\nkind = "openai"', *lines]), "utf-8")
    return await check_file(file, environment_of_process())


@pytest.mark.parametrize(
    ("line", "key", "words"),
    [
        ('api_key = "env:"', "api_key", "has nothing after env:"),
        ('api_key = "file:"', "api_key", "has nothing after file:"),
        ('api_key = "cmd: "', "api_key", "has no command"),
        ('api_key = "cmd:pass \'canary"', "api_key", "cannot be split: no closing quotation"),
        ('headers = { a = "keyring:canary" }', "headers.a", "is not of the form keyring:service/user"),
        ('env = { a = "python:canary" }', "env.a", "is not of the form python:package.module:function"),
        ('api_key = "schema:settings.canary"', "api_key", "does not refer to a text or number"),
        ('client_cert = { cert = "~/a", password = "env:" }', "client_cert.password", "has nothing after"),
        ('url = "https://a.test/${modle}"', "url", "uses ${modle}, which neither env nor this table"),
        ('base_url = "https://${a b}/v1"', "base_url", "has a ${ that is not followed by a name and a }"),
        ('query = { key = "${api_kye}" }', "query.key", "uses ${api_kye}"),
        ('headers = { X-A = "${canary" }', "headers.X-A", "has a ${ that is not followed by a name"),
        ('env = { a = "${b}" }', "env.a", "uses ${b}"),
        ('parameters = { a = [{ b = "${c}" }] }', "parameters.a.0.b", "uses ${c}"),
        ('proxy = "socks5://me:canary@proxy.test:1"', "proxy", "names a SOCKS proxy"),
        ('ca_file = "ca.pem"', "ca_file", "is a relative path"),
        ('client_cert = "me.pem"', "client_cert", "is a relative path"),
        ('client_cert = { cert = "~/nowhere-at-all/me.pem" }', "client_cert", "which cannot be read"),
    ],
)
async def test_an_unusable_value_is_reported_with_its_line_and_not_shown(
    tmp_path: Path, line: str, key: str, words: str
) -> None:
    (fault,) = (await check(tmp_path, 'name = "X"', line)).errors

    assert (fault.key, fault.line) == (f"providers.x.{key}", 4)
    assert words in fault.message
    assert "canary" not in fault.message


async def test_a_value_that_can_be_checked_only_by_using_it_is_not_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNSET_KEY", raising=False)
    monkeypatch.setenv("A_PROXY", "127.0.0.1:3128")
    marker = tmp_path / "was-run"

    found = await check(
        tmp_path,
        'url = "https://${host}/${model}/${default_model}?n=$${x}"',
        'default_model = "m"',
        'api_key = "env:UNSET_KEY"',
        'proxy = "A_PROXY"',
        f'env = {{ host = "cmd:touch \'{marker.as_posix()}\'", port = "schema:settings.t.maximum" }}',
        'headers = { X-A = "keyring:a.test/b", X-B = "python:a.b:c", X-C = "file:~/nowhere ${x}" }',
        'query = { key = "${api_key}", n = 1 }',
        '[providers.x.settings.t]\ntype = "number"\nmaximum = 2',
    )

    assert found.errors == []
    assert not marker.exists()


@pytest.mark.parametrize(
    ("line", "key", "words"),
    [
        ('api_key = "$GROQ_KEY"', "api_key", "has a $NAME, which is taken literally"),
        ('api_key = "${GROQ_KEY}"', "api_key", "has a $NAME, which is taken literally"),
        ('api_key = "file:$HOME/canary"', "api_key", "has a $NAME"),
        ('headers = { X-A = "Bearer $canary" }', "headers.X-A", "has a $NAME"),
        ('base_url = "https://$HOST/v1"', "base_url", "has a $NAME"),
        ('query = { key = "$canary" }', "query.key", "has a $NAME"),
        ('api_key = "env:UNSET_KEY"', "api_key", "names the variable UNSET_KEY, which is not set here"),
        ('env = { a = "env:UNSET_KEY" }', "env.a", "names the variable UNSET_KEY"),
        ('api_key = "UNSET_API_KEY"', "api_key", "looks like the name of a variable"),
        ('base_url = "http://gpu.test/v1"\napi_key = "canary"', "base_url", "sends a key over plain http"),
        (
            'url = "http://10.0.0.2/${model}"\nheaders = { Authorization = "x" }',
            "url",
            "sends a key over plain",
        ),
        ('base_url = "http://gpu.test"\nquery = { key = "canary" }', "base_url", "sends a key over"),
    ],
)
async def test_a_probable_mistake_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, key: str, words: str
) -> None:
    for name in ("UNSET_KEY", "UNSET_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    found = await check(tmp_path, 'name = "X"', line)
    (fault,) = found.warnings

    assert (found.errors, fault.key, fault.line) == ([], f"providers.x.{key}", 4)
    assert words in fault.message
    assert "canary" not in fault.message


async def test_an_intended_value_is_not_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SET_KEY", "x")
    found = await check(
        tmp_path,
        'base_url = "http://127.0.0.1:8080/v1"',
        'url = "http://${host}/v1"',
        'api_key = "env:SET_KEY"',
        'headers = { X-A = "cmd:sh -c \'echo $SET_KEY\'", X-B = "${host}", X-C = "US$5, $$x, $ 7" }',
        'env = { host = "gpu.test", b = "SET_KEY" }',
    )

    assert (found.errors, found.warnings) == ([], [])


async def test_all_faults_are_found_despite_a_wrong_value(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        """default_provider = 3
default_modle = "x"
[providers.x]
kind = "openai"
timeout = -1
timeuot = 2
api_key = "env:"
query = { q = "${unknown}" }
models = ["a", 7, "b", { id = "c", max_context_tokens = 0, nmae = "C" }]
[providers.x.settings.t]
mapping = "nowhere"
[providers.x.settings.u]
type = "number"
defualt = 1
[providers.y]
kind = "opena"
[providers.z]
max_retries = "many"
kidn = "openai"
""",
        "utf-8",
    )
    found = await check_file(file, environment_of_process())

    assert [(fault.line, fault.key) for fault in found.errors] == [
        (1, "default_provider"),
        (5, "providers.x.timeout"),
        (7, "providers.x.api_key"),
        (8, "providers.x.query.q"),
        (9, "providers.x.models.1"),
        (9, "providers.x.models.3.max_context_tokens"),
        (10, "providers.x.settings.t.type"),
        (11, "providers.x.settings.t.mapping"),
        (16, "providers.y.kind"),
        (17, "providers.z.kind"),
        (18, "providers.z.max_retries"),
    ]
    assert [(fault.line, fault.key.rpartition(".")[2]) for fault in found.warnings] == [
        (2, "default_modle"),
        (6, "timeuot"),
        (9, "nmae"),
        (14, "defualt"),
        (19, "kidn"),
    ]


async def test_mistakes_in_the_network_settings_for_web_pages_are_found(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    lines = ("[fetch]", 'proxy = "socks5://me:canary@proxy.test:1"', 'ca_file = "ca.pem"', "privat = true")
    file.write_text("\n".join(lines), "utf-8")
    checkup = await check_file(file, environment_of_process())

    assert [(fault.line, fault.key) for fault in checkup.errors] == [(2, "fetch.proxy"), (3, "fetch.ca_file")]
    assert [(fault.line, fault.key) for fault in checkup.warnings] == [(4, "fetch.privat")]
    assert "canary" not in str(checkup)
