"""Prefixes of GitHub tokens."""

from __future__ import annotations

import pytest

from jumpseat.adapters.github.sign_in.tokens import check_usable, is_usable, routes_of
from jumpseat.chat import AuthenticationError
from jumpseat.system.secrets import Secret


@pytest.mark.requirement("8:token-kinds")
@pytest.mark.parametrize(
    ("token", "route"),
    [
        ("ghu_x", "exchange"),
        ("gho_x", "direct"),
        ("github_pat_x", "direct"),
        ("0123456789abcdef", "exchange"),
    ],
)
def test_the_prefix_decides_the_route(token: str, route: str) -> None:
    assert routes_of(Secret(token))[0] == route
    assert sorted(routes_of(Secret(token))) == ["direct", "exchange"]
    assert is_usable(Secret(token))


@pytest.mark.requirement("8:token-kinds")
def test_a_classic_personal_token_is_refused_without_showing_it() -> None:
    with pytest.raises(
        AuthenticationError, match="env:GH_TOKEN is a classic personal access token"
    ) as caught:
        check_usable(Secret("ghp_canary0815"), provider="copilot", source="env:GH_TOKEN")
    assert "jumpseat login" in (caught.value.hint or "")
    assert "canary" not in f"{caught.value.message}{caught.value.hint}"


@pytest.mark.parametrize("token", ["", "ghu_a b", "ghu_é", "ghu_x\r\nEvil: 1", "ghu_" + "x" * 5000])
def test_a_malformed_token_is_never_sent(token: str) -> None:
    assert not is_usable(Secret(token))
    with pytest.raises(AuthenticationError, match="not allowed in a GitHub token"):
        check_usable(Secret(token), provider="copilot", source="config")
