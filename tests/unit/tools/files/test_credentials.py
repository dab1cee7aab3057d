"""Files with credentials are recognised by their names, or by a private key in their first kilobyte."""

from __future__ import annotations

import pytest

from jumpseat.tools.files.credentials import has_private_key, is_credential_path

pytestmark = pytest.mark.requirement("12:files-denied")


@pytest.mark.parametrize(
    "path",
    [
        "home/.ssh/config",
        "home/.ssh",
        "home/.gnupg/private/x",
        ".netrc",
        "a/.env",
        ".env.local",
        ".env.",
        "id_rsa",
        "id_ed25519.old",
        "cert.pem",
        "tls.key",
        "store.p12",
        # On Windows or macOS, these names refer to the same files as the names above.
        ".ENV",
        "ID_RSA",
        ".SSH/config",
        "server.pem. .",
    ],
)
def test_files_with_credentials_are_recognised(path: str) -> None:
    assert is_credential_path(path.split("/"))


@pytest.mark.parametrize(
    "path",
    [
        "id_rsa.pub",
        "env",
        ".envrc",
        "a.env",
        ".env/x",
        "ssh/config",
        "key",
        "pem",
        "monkey",
        "netrc",
        "x.key.txt",
    ],
)
def test_other_files_are_not_recognised_as_credentials(path: str) -> None:
    assert not is_credential_path(path.split("/"))


def test_a_private_key_is_recognised_in_the_first_kilobyte() -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    assert has_private_key(key.encode())
    assert has_private_key(key.encode("utf-16"))
    assert has_private_key(b"#" * 980 + key.encode())
    assert not has_private_key(b"#" * 1024 + key.encode())
    assert not has_private_key(b"-----BEGIN PUBLIC KEY-----\n")
