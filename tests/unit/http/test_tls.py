"""TLS contexts: trusted authorities and client certificates."""

from __future__ import annotations

import ssl

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig
from jumpseat.http.network import read_options
from jumpseat.http.tls import TlsOptions, make_context
from tests.environments import environment_with
from tests.fakes.tls_front import Authority

pytestmark = pytest.mark.requirement("7:tls")

GARBLED = b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"


def refusal(options: TlsOptions) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        make_context(options, "acme")
    assert caught.value.provider == "acme"
    return caught.value


def test_a_file_adds_to_the_systems_authorities(tmp_path, authority):
    system = str(Authority(tmp_path / "system").file)

    alone = make_context(TlsOptions(system_file=system), "acme").get_ca_certs()
    both = make_context(TlsOptions(str(authority.file), system_file=system), "acme").get_ca_certs()

    assert len(alone) == 1
    assert len(both) == 2
    assert alone[0] in both


def test_verification_is_on_for_any_configuration(authority):
    options = [TlsOptions(), TlsOptions(str(authority.file)), TlsOptions(cert=str(authority.client()))]
    for context in (make_context(each, "acme") for each in options):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname


@pytest.mark.parametrize("content", [b"", b"no certificate", GARBLED, b"\x30\x82\x01\x00"])
def test_a_file_without_certificates_is_an_error_with_the_configuration_key(tmp_path, content):
    file = tmp_path / "ca.pem"
    file.write_bytes(content)

    error = refusal(TlsOptions(str(file)))

    assert error.message.startswith("providers.acme.ca_file names ")
    assert "PEM" in (error.hint or "")


@pytest.mark.parametrize(("option", "key"), [("ca_file", "ca_file"), ("cert", "client_cert")])
def test_a_missing_file_is_an_error_with_the_configuration_key(tmp_path, option, key):
    error = refusal(TlsOptions(**{option: str(tmp_path / "missing.pem")}))

    assert error.message.startswith(f"providers.acme.{key} names ")
    assert "missing.pem, which cannot be read" in error.message


def test_a_directory_is_an_error(tmp_path):
    assert "cannot be read" in refusal(TlsOptions(str(tmp_path))).message


@pytest.mark.requirement("7:network-trust")
@pytest.mark.parametrize("key", ["ca_file", "cert"])
def test_a_relative_path_is_refused_because_a_workspace_would_choose_the_file(
    tmp_path, monkeypatch, authority, key
):
    monkeypatch.chdir(authority.file.parent)

    assert "relative path" in refusal(TlsOptions(**{key: "ca.pem"})).message


async def test_a_tilde_is_the_users_home(authority):
    environment = environment_with(dict.fromkeys(("HOME", "USERPROFILE"), str(authority.file.parent)))
    table = ProviderConfig(ca_file="~/ca.pem").set_environment(environment)

    options = (await read_options("acme", table)).tls
    names = [part for each in make_context(options, "acme").get_ca_certs() for part in each["subject"]]

    assert any("trustme" in value for part in names for _, value in part)


def test_an_encrypted_key_without_a_password_is_an_error_and_no_prompt_appears(authority):
    cert, key = map(str, authority.client_in_two_files("canary-4711"))

    error = refusal(TlsOptions(cert=cert, key=key))

    assert "client_cert is encrypted, and no password is configured" in error.message
    assert "providers.acme.client_cert.password" in (error.hint or "")


def test_a_wrong_password_is_an_error_that_does_not_quote_it(authority):
    cert, key = map(str, authority.client_in_two_files("canary-4711"))

    error = refusal(TlsOptions(cert=cert, key=key, password="canary-0815"))

    assert error.message.startswith("providers.acme.client_cert cannot be used")
    assert "password is wrong" in error.message
    assert "canary" not in f"{error.message} {error.hint} {TlsOptions(password='canary-0815')!r}"


def test_a_key_of_another_certificate_is_an_error(tmp_path, authority):
    cert, _ = map(str, authority.client_in_two_files())
    _, key = map(str, Authority(tmp_path / "other").client_in_two_files())

    assert "the key does not belong to the certificate" in refusal(TlsOptions(cert=cert, key=key)).message


@pytest.mark.parametrize("content", [b"", b"no certificate", GARBLED])
def test_an_invalid_client_certificate_is_an_error_with_the_configuration_key(tmp_path, content):
    file = tmp_path / "client.pem"
    file.write_bytes(content)

    error = refusal(TlsOptions(cert=str(file)))

    assert error.message.startswith(
        "providers.acme.client_cert cannot be used: its files have no certificate"
    )


def test_a_missing_certificate_store_from_the_environment_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="the path in SSL_CERT_FILE: No such file"):
        make_context(TlsOptions(system_file=str(tmp_path / "missing.pem")), "acme")
