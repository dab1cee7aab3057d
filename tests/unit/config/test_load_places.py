"""Finding the line of a key in a TOML text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.config.places import KeyPath, line_of, lines_of_keys

pytestmark = pytest.mark.requirement("7:file-errors")

TEXT = '''\
# a comment
top = 1

[providers.x]  # another
"quoted.key" = 2
dotted.a . 'b' = 3
text = """
[providers.nothing]
not = "a key"
"""
models = [
  "one",   # with a comment
  { id = "two" },
]
inline = { a = 1, b = { c = 2 } }
[[providers.x.list]]
n = 1
[providers.x.list.sub]
m = 1
[[providers.x.list]]
n = 2
[ "providers" . "y" ]
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 2),
        (("providers", "x"), 4),
        (("providers", "x", "quoted.key"), 5),
        (("providers", "x", "dotted", "a", "b"), 6),
        (("providers", "x", "text"), 7),
        (("providers", "x", "models"), 11),
        (("providers", "x", "models", 1, "id"), 11),
        (("providers", "x", "inline", "b", "c"), 15),
        (("providers", "x", "list", 0, "n"), 17),
        (("providers", "x", "list", 0, "sub", "m"), 19),
        (("providers", "x", "list", 1, "n"), 21),
        (("providers", "y"), 22),
        # A missing key is reported at the line of its table.
        (("providers", "x", "absent"), 4),
        (("providers", "x", "list", 1, "absent"), 20),
        (("providers", "nothing"), 4),
        (("providers", "x", "list"), 16),
        (("not",), None),
    ],
)
def test_a_key_is_found_where_it_is_written(path: KeyPath, line: int | None) -> None:
    assert line_of(path, lines_of_keys(TEXT)) == line


def test_windows_line_endings_are_counted() -> None:
    assert line_of(("providers", "y"), lines_of_keys(TEXT.replace("\n", "\r\n"))) == 22


def test_only_a_line_feed_ends_a_line() -> None:
    text = 'a = "one\u2028line\x85" # and \u2029 this\nb = 1\n'
    assert line_of(("b",), lines_of_keys(text)) == 2


def leaves(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from leaves(inner, (*path, key))


KEYS = st.sampled_from(["a", "b", "'c.d'", '"e f"', "g.h"])
VALUES = st.sampled_from(["1", '"x"', '"""\n[z]\n"""', "[\n1,\n2]", "{ p = 1, q = [2] }", "'''\n#'''"])
LINES = st.lists(
    st.one_of(
        st.builds("{} = {}".format, KEYS, VALUES),
        st.builds("[{}]".format, KEYS),
        st.builds("[[{}]]".format, KEYS),
        st.sampled_from(["", "# comment", "   "]),
    ),
    max_size=12,
)


@given(LINES)
def test_every_key_of_every_text_has_a_line_within_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    found = lines_of_keys(text)
    total = len(text.splitlines())
    for path in leaves(parsed):
        line = line_of(path, found)
        assert line is not None
        assert 1 <= line <= total
