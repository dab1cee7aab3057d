"""Mistakes in sources, `${name}`, proxies and certificates that are found before any of them is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.providers.checkup import Checkup, check_file

pytestmark = pytest.mark.requirement("7:file-errors")


async def checked(tmp_path: Path, *lines: str) -> Checkup:
    file = tmp_path / "config.toml"
    file.write_text("\n".join(['[providers.x]\nkind = "openai"', *lines]), "utf-8")
    return await check_file(file)


@pytest.mark.parametrize(
    ("line", "key", "told"),
    [
        ('api_key = "env:"', "api_key", "has nothing behind env:"),
        ('api_key = "file:"', "api_key", "has nothing behind file:"),
        ('api_key = "cmd: "', "api_key", "has no command"),
        ('api_key = "cmd:pass \'canary"', "api_key", "cannot be split: no closing quotation"),
        ('headers = { a = "keyring:canary" }', "headers.a", "is not of the form keyring:service/user"),
        ('env = { a = "python:canary" }', "env.a", "is not of the form python:package.module:function"),
        ('api_key = "schema:settings.canary"', "api_key", "names a place of this table that has no text"),
        ('client_cert = { cert = "~/a", password = "env:" }', "client_cert.password", "has nothing behind"),
        ('url = "https://a.test/${modle}"', "url", "uses ${modle}, which is neither in env nor a text"),
        ('base_url = "https://${a b}/v1"', "base_url", "has a ${ that no name and } follow"),
        ('query = { key = "${api_kye}" }', "query.key", "uses ${api_kye}"),
        ('headers = { X-A = "${canary" }', "headers.X-A", "has a ${ that no name"),
        ('env = { a = "${b}" }', "env.a", "uses ${b}"),
        ('parameters = { a = [{ b = "${c}" }] }', "parameters.a.0.b", "uses ${c}"),
        ('proxy = "socks5://me:canary@proxy.test:1"', "proxy", "names a SOCKS proxy"),
        ('ca_file = "ca.pem"', "ca_file", "is a relative path"),
        ('client_cert = "me.pem"', "client_cert", "is a relative path"),
        ('client_cert = { cert = "~/nowhere-at-all/me.pem" }', "client_cert", "which cannot be read"),
    ],
)
async def test_a_value_that_cannot_be_had_is_told_with_its_line_and_without_itself(
    tmp_path: Path, line: str, key: str, told: str
) -> None:
    (fault,) = (await checked(tmp_path, 'name = "X"', line)).errors

    assert (fault.key, fault.line) == (f"providers.x.{key}", 4)
    assert told in fault.told
    assert "canary" not in fault.told


async def test_what_only_the_moment_of_use_can_tell_is_no_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNSET_KEY", raising=False)
    monkeypatch.setenv("A_PROXY", "127.0.0.1:3128")
    marker = tmp_path / "was-run"

    found = await checked(
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
