"""The model that a conversation shows."""

from __future__ import annotations

from collections.abc import Callable

from tests.fakes.typist import Typist

Start = Callable[..., Typist]


def test_the_default_model_is_shown_by_its_name(typist: Start) -> None:
    person = typist()
    person.enter("/model")
    person.see("The model is fake:m, the default.")
    person.leave()
