"""The tables `[prompts.NAME]`: texts for questions that people ask often."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from jumpseat.chat import RequestError
from jumpseat.config.suggestions import alternatives

_INPUT = re.compile(r"\{\{[ \t]*input[ \t]*\}\}")

PromptName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")]


class Prompt(BaseModel):
    """One table: a text, and what the chat with it uses."""

    model_config = ConfigDict(extra="allow", strict=True)

    text: Annotated[str, Field(min_length=1)]
    """`{{input}}` stands for what the user adds."""

    description: str | None = None
    system: str | None = None
    model: Annotated[str, Field(min_length=1)] | None = None
    settings: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def uses_input(self) -> bool:
        """Whether the text has a place for the input."""
        return _INPUT.search(self.text) is not None

    def filled(self, given: str) -> str:
        """The text with the input in its places; without a place, the input follows after a blank line."""
        if self.uses_input:
            # A function, because `sub` gives backslashes in a text a meaning.
            return _INPUT.sub(lambda _: given, self.text)
        return f"{self.text.rstrip()}\n\n{given}" if given.strip() else self.text


def prompt_named(prompts: Mapping[str, Prompt], name: str) -> Prompt:
    """The prompt with this name.

    Raises:
        RequestError: there is none.
    """
    prompt = prompts.get(name)
    if prompt is None:
        known = alternatives(name, sorted(prompts)) if prompts else ""
        raise RequestError(
            f"There is no prompt named {name!r}{known}.",
            hint=f"Add a table [prompts.{name}] to the configuration file.",
        )
    return prompt
