"""Secrets are never shown, and are removed from texts and logs."""

from __future__ import annotations

import copy
import io
import json
import logging
import pickle
from collections.abc import Iterable

import pytest
from pydantic import BaseModel

from jumpseat.config import ProviderConfig, resolve
from jumpseat.system.secrets import RECENT, KnownSecrets, Secret, SecretFilter, redact, register_secret

SECRET = "sk-test-hunter2-4711"


@pytest.fixture
def log() -> tuple[logging.Logger, io.StringIO]:
    """Create a logger whose only handler removes secrets."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.addFilter(SecretFilter())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    return logger, text


@pytest.mark.requirement("6:no-secrets-in-reprs")
def test_a_secret_shows_its_value_through_reveal_only() -> None:
    secret = Secret(SECRET)

    shown = f"{secret} {secret!r} {[secret]} {secret!s}" + "%s %r" % (secret, secret)  # noqa: UP031 - this is tested
    assert SECRET not in shown
    assert repr(secret) == str(secret) == f"{secret}" == "***"
    assert secret.reveal() == SECRET
    assert not hasattr(secret, "__dict__")


@pytest.mark.requirement("6:no-secrets-in-reprs")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_is_never_pickled(protocol: int) -> None:
    with pytest.raises(TypeError, match="never serialised"):
        pickle.dumps(Secret(SECRET), protocol)


def test_a_secret_is_neither_copied_nor_written_as_json() -> None:
    for attempt in (copy.copy, copy.deepcopy, json.dumps):
        with pytest.raises(TypeError):
            attempt(Secret(SECRET))


def test_longer_secrets_are_removed_from_a_text_before_shorter_ones() -> None:
    resolve("p", "api_key", SECRET, ProviderConfig())
    resolve("p", "headers.X-Auth-Token", f"{SECRET}-and-more", ProviderConfig())

    assert redact(f"a {SECRET}-and-more b {SECRET} c") == "a *** b *** c"


@pytest.mark.parametrize(("key", "value"), [("api_key", "ollama"), ("headers.X-Title", "connection pool")])
def test_a_dummy_key_and_an_ordinary_header_do_not_garble_text(key: str, value: str) -> None:
    resolve("p", key, value, ProviderConfig())

    assert redact(f"ask {value} again") == f"ask {value} again"


@pytest.mark.requirement("6:no-secrets-in-logs")
def test_secrets_in_a_message_and_its_arguments_are_not_logged(
    log: tuple[logging.Logger, io.StringIO],
) -> None:
    logger, text = log
    resolve("p", "api_key", SECRET, ProviderConfig())
    logger.warning("key " + SECRET)
    logger.warning("headers %s of %r", {"Authorization": f"Bearer {SECRET}"}, [SECRET])

    assert SECRET not in text.getvalue()
    assert text.getvalue().count("***") == 3


@pytest.mark.requirement("6:no-secrets-in-logs")
def test_secrets_in_a_traceback_are_not_logged(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log
    resolve("p", "api_key", SECRET, ProviderConfig())
    try:
        raise ValueError(f"bad header {SECRET}")
    except ValueError:
        logger.exception("it failed")

    assert "it failed" in text.getvalue()
    assert "ValueError: bad header ***" in text.getvalue()
    assert SECRET not in text.getvalue()


def test_a_record_that_cannot_be_formatted_is_logged_without_secrets(
    log: tuple[logging.Logger, io.StringIO],
) -> None:
    logger, text = log
    resolve("p", "api_key", SECRET, ProviderConfig())
    logger.warning("%d pieces", SECRET)

    assert SECRET not in text.getvalue()
    assert "pieces" in text.getvalue()


def test_other_records_are_unchanged(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log
    logger.warning("%d of %s", 1, "two")

    assert text.getvalue() == "1 of two\n"


@pytest.mark.requirement("6:no-secrets")
def test_a_secret_outside_the_configuration_is_redacted_once_registered() -> None:
    assert register_secret("token-from-elsewhere").reveal() == "token-from-elsewhere"
    assert redact("a token-from-elsewhere b") == "a *** b"


@pytest.mark.requirement("6:no-secrets-in-reprs")
def test_a_secret_in_a_model_is_not_serialized() -> None:
    class Holder(BaseModel, arbitrary_types_allowed=True):
        key: Secret

    holder = Holder(key=Secret(SECRET))

    for write in (holder.model_dump_json, lambda: json.dumps(holder.model_dump())):
        with pytest.raises(Exception, match=r"Secret") as caught:
            write()
        assert SECRET not in str(caught.value)
    assert SECRET not in repr(holder)
    assert SECRET not in f"{holder.key:>20} {holder.key!s:x<5}"


@pytest.mark.requirement("6:no-secrets", "10:secrets")
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_a_secret_is_found_in_a_json_text_too(ensure_ascii: bool) -> None:
    register_secret('sk "quoted" é 4711')

    assert redact(json.dumps({"key": 'sk "quoted" é 4711'}, ensure_ascii=ensure_ascii)) == '{"key": "***"}'


@pytest.mark.requirement("6:no-secrets", "7:templates-in-urls")
@pytest.mark.parametrize("spelled", ["sk/te+st= hunter2&4711", "sk%2Fte%2Bst%3D%20hunter2%264711"])
def test_a_secret_is_found_in_its_url_encoded_form_too(spelled: str) -> None:
    register_secret("sk/te+st= hunter2&4711")

    assert redact(f"GET http://h/v1?key={spelled} 401") == "GET http://h/v1?key=*** 401"


@pytest.mark.requirement("6:no-secrets")
def test_replaced_tokens_are_forgotten_some_time_later_and_other_secrets_never() -> None:
    known = KnownSecrets()

    def select_shown(values: Iterable[str]) -> list[str]:
        return [value for value in values if known.redact(value) != "***"]

    lasting = known.add(Secret("lasting-secret-4711")).reveal()
    in_use = known.add(Secret("short-lived-in-use"), short_lived=True)
    known.add(Secret("lasting-and-short-lived"))
    known.add(Secret("lasting-and-short-lived"), short_lived=True)
    before = len(known._redacted)
    replaced = [f"short-lived-{number:04}" for number in range(3 * RECENT)]
    for value in replaced:
        known.add(Secret(value), short_lived=True)
        known.add(Secret(replaced[0]), short_lived=True)

    assert len(known._redacted) <= before + RECENT + 1
    assert select_shown([lasting, in_use.reveal(), "lasting-and-short-lived"]) == []
    assert select_shown(replaced) == replaced[1:-RECENT]


def test_a_short_lived_value_that_is_also_configured_is_never_forgotten() -> None:
    register_secret("a-token-of-a-session", short_lived=True)
    register_secret("a-token-of-a-session")
    for number in range(2 * RECENT):
        register_secret(f"another-token-{number:04}", short_lived=True)

    assert redact("a-token-of-a-session") == "***"
