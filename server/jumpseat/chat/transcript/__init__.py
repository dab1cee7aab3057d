"""Transcripts: conversations as Markdown that users edit, save and reopen (`docs/protocol/transcripts.md`).

`parse(render(x)) == x`, except for `opaque`, `signature` and most origins, which the text does not contain.
"""

from jumpseat.chat.transcript.form import LinePart, RoleNames, Section, Transcript
from jumpseat.chat.transcript.front_matter import FrontMatter, FrontMatterError
from jumpseat.chat.transcript.parse import parse, parse_front_matter, split_lines
from jumpseat.chat.transcript.render import render
from jumpseat.chat.transcript.stream import TranscriptStream

__all__ = [
    "FrontMatter",
    "FrontMatterError",
    "LinePart",
    "RoleNames",
    "Section",
    "Transcript",
    "TranscriptStream",
    "parse",
    "parse_front_matter",
    "render",
    "split_lines",
]
