"""The tables `[prompts.NAME]`: reusable prompts."""

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
    """One reusable prompt, with options for the chat that uses it."""

    model_config = ConfigDict(extra="allow", strict=True)

    text: Annotated[str, Field(min_length=1)]
    """The prompt's text; `{{input}}` is the place for the user's own text."""

    description: str | None = None
    system: str | None = None
    model: Annotated[str, Field(min_length=1)] | None = None
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    takes_diff: bool = False
    """Whether the input is a Git diff, which is shortened if it is too long for the model."""

    @property
    def uses_input(self) -> bool:
        """Whether the text has a place for the input."""
        return _INPUT.search(self.text) is not None

    def fill(self, given: str) -> str:
        """Return the text with `given` in place of `{{input}}`, or at the end if there is no such place."""
        if self.uses_input:
            # Pass a function: `sub` would interpret backslashes in a replacement string.
            return _INPUT.sub(lambda _: given, self.text)
        return f"{self.text.rstrip()}\n\n{given}" if given.strip() else self.text


def find_prompt(prompts: Mapping[str, Prompt], name: str) -> Prompt:
    """Return the prompt with this name.

    Raises:
        RequestError: there is no such prompt.
    """
    prompt = prompts.get(name)
    if prompt is None:
        known = alternatives(name, sorted(prompts)) if prompts else ""
        raise RequestError(
            f"There is no prompt named {name!r}{known}.",
            hint=f"Add a table [prompts.{name}] to the configuration file.",
        )
    return prompt
