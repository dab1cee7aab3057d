"""Transcripts: conversations as Markdown or Org that users edit, save and reopen.

The page `docs/protocol/transcripts.md` describes both formats.

`parse(render(x)) == x`, except for `opaque`, `signature` and most origins, which the text does not contain.
"""

from jumpseat.chat.transcript.form import LinePart, RoleNames, Section
from jumpseat.chat.transcript.front_matter import FrontMatter, FrontMatterError
from jumpseat.chat.transcript.parse import Branch, Transcript, parse, parse_front_matter, split_lines
from jumpseat.chat.transcript.render import render
from jumpseat.chat.transcript.stream import TranscriptStream
from jumpseat.chat.transcript.syntax import MARKDOWN, ORG, SYNTAXES, Format, Syntax

__all__ = [
    "MARKDOWN",
    "ORG",
    "SYNTAXES",
    "Branch",
    "Format",
    "FrontMatter",
    "FrontMatterError",
    "LinePart",
    "RoleNames",
    "Section",
    "Syntax",
    "Transcript",
    "TranscriptStream",
    "parse",
    "parse_front_matter",
    "render",
    "split_lines",
]
