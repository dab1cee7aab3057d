"""Value sources, and the secrets that they give: read when needed, shown nowhere."""

from __future__ import annotations

import copy
import io
import json
import logging
import pickle

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import Secret, SecretFilter, hidden, redact, resolve
from jumpseat.config.sources import RESERVED_PREFIXES

SECRET = "sk-test-hunter2-4711"


@pytest.fixture
def log() -> tuple[logging.Logger, io.StringIO]:
    """A logger whose one handler takes secrets out."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.addFilter(SecretFilter())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    return logger, text


@pytest.mark.requirement("7:env-source")
def test_an_environment_variable_is_read_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("first-value", "second-value"):
        monkeypatch.setenv("TEST_KEY", value)
        assert resolve("x", "api_key", "env:TEST_KEY").reveal() == value


def test_a_plain_value_is_itself() -> None:
    assert resolve("x", "api_key", SECRET).reveal() == SECRET
    assert resolve("x", "api_key", "environment:x").reveal() == "environment:x"


@pytest.mark.requirement("7:env-source")
@pytest.mark.parametrize("value", [None, ""])
def test_a_variable_that_is_not_set_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv("TEST_KEY", raising=False)
    else:
        monkeypatch.setenv("TEST_KEY", value)

    with pytest.raises(ConfigError, match=r"providers\.x\.api_key is env:TEST_KEY") as caught:
        resolve("x", "api_key", "env:TEST_KEY")
    assert caught.value.provider == "x"
    assert "TEST_KEY" in (caught.value.hint or "")


@pytest.mark.parametrize("prefix", RESERVED_PREFIXES)
def test_a_source_that_is_not_read_yet_is_refused_and_never_sent_as_a_key(prefix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("x", "api_key", f"{prefix}{SECRET}")

    assert "providers.x.api_key" in caught.value.message
    assert prefix in caught.value.message
    assert SECRET not in caught.value.message + (caught.value.hint or "")


@pytest.mark.requirement("6:no-secrets")
def test_a_secret_shows_itself_to_nobody_but_who_asks() -> None:
    secret = Secret(SECRET)

    shown = f"{secret} {secret!r} {[secret]} {secret!s}" + "%s %r" % (secret, secret)  # noqa: UP031
    assert SECRET not in shown
    assert "Secret(***)" in shown
    assert secret.reveal() == SECRET
    assert not hasattr(secret, "__dict__")


@pytest.mark.requirement("6:no-secrets")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_is_never_pickled(protocol: int) -> None:
    with pytest.raises(TypeError, match="never serialised"):
        pickle.dumps(Secret(SECRET), protocol)


def test_a_secret_is_neither_copied_nor_written_as_json() -> None:
    for attempt in (copy.copy, copy.deepcopy, json.dumps):
        with pytest.raises(TypeError):
            attempt(Secret(SECRET))


def test_every_secret_is_taken_out_of_a_text_the_longer_one_first() -> None:
    resolve("p", "api_key", SECRET)
    resolve("p", "headers.X-Auth-Token", f"{SECRET}-and-more")

    assert redact(f"a {SECRET}-and-more b {SECRET} c") == "a *** b *** c"


@pytest.mark.parametrize(("key", "value"), [("api_key", "ollama"), ("headers.X-Title", "connection pool")])
def test_a_dummy_key_and_an_ordinary_header_garble_no_text(key: str, value: str) -> None:
    resolve("p", key, value)

    assert redact(f"ask {value} again") == f"ask {value} again"


def test_the_line_end_that_comes_with_a_variable_is_not_part_of_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JUMPSEAT_TEST_KEY", "sk-with-a-line-end\n")

    assert resolve("p", "api_key", "env:JUMPSEAT_TEST_KEY").reveal() == "sk-with-a-line-end"


@pytest.mark.requirement("6:no-secrets")
def test_a_log_has_no_secret_in_its_message_or_its_arguments(
    log: tuple[logging.Logger, io.StringIO],
) -> None:
    logger, text = log
    resolve("p", "api_key", SECRET)
    logger.warning("key " + SECRET)
    logger.warning("headers %s of %r", {"Authorization": f"Bearer {SECRET}"}, [SECRET])

    assert SECRET not in text.getvalue()
    assert text.getvalue().count("***") == 3


@pytest.mark.requirement("6:no-secrets")
def test_a_log_has_no_secret_in_its_traceback(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log
    resolve("p", "api_key", SECRET)
    try:
        raise ValueError(f"bad header {SECRET}")
    except ValueError:
        logger.exception("it failed")

    assert "it failed" in text.getvalue()
    assert "ValueError: bad header ***" in text.getvalue()
    assert SECRET not in text.getvalue()


def test_a_record_that_cannot_be_formatted_fails_nobody_and_shows_no_secret(
    log: tuple[logging.Logger, io.StringIO],
) -> None:
    logger, text = log
    resolve("p", "api_key", SECRET)
    logger.warning("%d pieces", SECRET)

    assert SECRET not in text.getvalue()
    assert "pieces" in text.getvalue()


def test_other_records_stay_as_they_are(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log
    logger.warning("%d of %s", 1, "two")

    assert text.getvalue() == "1 of two\n"


@pytest.mark.requirement("6:no-secrets")
def test_a_secret_that_no_configuration_holds_can_be_hidden_too() -> None:
    assert hidden("token-from-elsewhere").reveal() == "token-from-elsewhere"
    assert redact("a token-from-elsewhere b") == "a *** b"
