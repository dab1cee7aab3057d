"""The arguments that models write in their calls of the file tools."""

# Do not add `from __future__ import annotations`: pydantic would have to compile the text of each annotation.
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from jumpseat.tools.server import ToolError

Path = Annotated[str, Field(min_length=1, description="Relative to the workspace folder, or absolute.")]
LineNumber = Annotated[int, Field(ge=1)]


class FileArguments(BaseModel):
    """The arguments of one tool. Types are converted if possible, because small models write `"5"` for 5."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ReadArguments(FileArguments):
    """The arguments of `read`."""

    path: Path
    start_line: LineNumber | SkipJsonSchema[None] = Field(
        None, alias="startLine", description="The first line to read, counted from 1."
    )
    end_line: LineNumber | SkipJsonSchema[None] = Field(
        None, alias="endLine", description="The last line to read."
    )


class ListArguments(FileArguments):
    """The arguments of `list`."""

    path: Path | SkipJsonSchema[None] = None
    recursive: bool | SkipJsonSchema[None] = Field(None, description="Whether to list subfolders too.")


class SearchArguments(FileArguments):
    """The arguments of `search`."""

    pattern: str = Field(min_length=1, description="The text to find in a line.")
    path: Path | SkipJsonSchema[None] = None
    regex: bool | SkipJsonSchema[None] = Field(
        None, description="Whether the pattern is a Python regular expression. (?i) ignores case."
    )


class EditArguments(FileArguments):
    """The arguments of `edit`."""

    path: Path
    old_text: str = Field(
        alias="oldText",
        min_length=1,
        description="The text to replace, copied exactly. It must occur once in the file.",
    )
    new_text: str = Field(alias="newText", description="The text to put in its place.")


class WriteArguments(FileArguments):
    """The arguments of `write`."""

    path: Path
    text: str = Field(description="The whole new text of the file.")


A = TypeVar("A", bound=FileArguments)


def parse_arguments(kind: type[A], arguments: Mapping[str, Any]) -> A:
    """Return the arguments of a call.

    Raises:
        ToolError: an argument is missing or has the wrong type.
    """
    try:
        return kind.model_validate(arguments)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
    name = problem["loc"][0]  # Later items name a member of a union.
    if problem["type"] == "missing":
        raise ToolError(f"The argument {name} is missing.")
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    raise ToolError(f"The argument {name} is not valid: {message}.")


def make_schema(kind: type[FileArguments]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments, without titles and other parts that only cost tokens."""
    schema = kind.model_json_schema()
    properties = {
        name: {key: value for key, value in each.items() if key not in ("title", "default", "minLength")}
        for name, each in schema["properties"].items()
    }
    required = {"required": schema["required"]} if "required" in schema else {}
    return {"type": "object", "properties": properties, **required}
