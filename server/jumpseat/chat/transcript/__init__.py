"""A conversation as one Markdown text that people edit, save and read back.

Sections under `## Me` and `## Assistant` are messages; thinking stands in a `<details>`, everything else
that is no text in a fenced block with an info string; front matter holds model, system prompt and
settings. `parse(render(x))` is `x` but for what is not text (`opaque`, `signature`, `origin`). Above it is
`rpc`; it does no I/O. The form: section 5 of the protocol page.
"""

from jumpseat.chat.transcript.form import RoleNames, Section, Transcript
from jumpseat.chat.transcript.front_matter import FrontMatter
from jumpseat.chat.transcript.parse import parse, parse_front_matter
from jumpseat.chat.transcript.render import render

__all__ = ["FrontMatter", "RoleNames", "Section", "Transcript", "parse", "parse_front_matter", "render"]
