"""The hierarchy of errors: its shape, the attributes of each class, and retryable errors."""

from __future__ import annotations

import pytest

from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ConfigError,
    ConnectionError,
    ContentFilterError,
    ContextExceededError,
    InfillUnsupportedError,
    InvalidRequestError,
    Problem,
    RateLimitError,
    RequestError,
    ServerError,
    UnknownModelError,
)
from jumpseat.chat import errors as tree


def classes(root: type[ChatError] = ChatError) -> list[type[ChatError]]:
    own = [child for child in root.__subclasses__() if child.__module__ == tree.__name__]
    return [root, *(each for child in own for each in classes(child))]


def test_the_tree_in_the_module_docstring_matches_the_classes() -> None:
    assert tree.__doc__ is not None
    drawn = [line.split("─ ")[-1].split()[0] for line in tree.__doc__.splitlines() if "── " in line]

    assert ["ChatError", *drawn] == [each.__name__ for each in classes()]


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (AuthorizationError, AuthenticationError),
        (ContextExceededError, RequestError),
        (ContentFilterError, RequestError),
        (InvalidRequestError, RequestError),
        (ConfigError, ChatError),
    ],
)
def test_a_handler_of_the_base_class_catches_the_special_case(error: type, base: type) -> None:
    assert issubclass(error, base)


def test_each_class_except_those_of_unsuitable_models_has_its_own_kind() -> None:
    """On the wire, an unsuitable model is a request error. The classes exist to suggest other models."""
    unsuitable = (UnknownModelError, InfillUnsupportedError)
    kinds = [each.kind for each in classes() if each not in unsuitable]

    assert len(set(kinds)) == len(kinds)
    assert {each.kind for each in unsuitable} == {RequestError.kind}


def test_only_transient_errors_are_retryable() -> None:
    assert {each for each in classes() if each.default_retryable} == {
        RateLimitError,
        ServerError,
        ConnectionError,
    }


def test_an_error_keeps_its_attributes_and_its_text_is_its_message() -> None:
    error = RateLimitError("Slow down.", status_code=429, provider="p", retry_after=3, retryable=False)

    assert (str(error), error.message) == ("Slow down.", "Slow down.")
    assert (error.status_code, error.provider, error.retry_after, error.retryable) == (429, "p", 3, False)
    assert (error.partial, error.hint) == (None, None)


def test_one_wrong_value_is_an_error_that_names_it() -> None:
    error = InvalidRequestError.at("messages.0.role", "is unknown")

    assert error.message == "messages.0.role: is unknown"
    assert error.problems == (Problem("messages.0.role", "is unknown"),)
