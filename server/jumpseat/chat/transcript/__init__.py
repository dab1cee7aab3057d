"""A conversation as Markdown text that people edit, save and reopen: section 5 of the protocol page.

`parse(render(x)) == x`, except for `opaque`, `signature` and most origins, which the text does not contain.
"""

from jumpseat.chat.transcript.form import RoleNames, Section, Transcript
from jumpseat.chat.transcript.front_matter import FrontMatter
from jumpseat.chat.transcript.parse import parse, parse_front_matter
from jumpseat.chat.transcript.render import render

__all__ = ["FrontMatter", "RoleNames", "Section", "Transcript", "parse", "parse_front_matter", "render"]
