"""Find the names that each file of the Emacs package uses from each other file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2] / "editors" / "emacs"

ORDER = (
    "jumpseat-core",
    "jumpseat-format",
    "jumpseat-outline",
    "jumpseat-inbox",
    "jumpseat-rpc",
    "jumpseat-ui",
    "jumpseat-view",
    "jumpseat-stream",
    "jumpseat-region",
    "jumpseat-transcript",
    "jumpseat-turn",
    "jumpseat-workspace",
    "jumpseat-tools",
    "jumpseat-hunks",
    "jumpseat-calls",
    "jumpseat-answer",
    "jumpseat-context",
    "jumpseat-models",
    "jumpseat-references",
    "jumpseat-presets",
    "jumpseat-api",
    "jumpseat-complete",
    "jumpseat-check",
    "jumpseat-send",
    "jumpseat-account",
    "jumpseat-install",
    "jumpseat-keys",
    "jumpseat-chat",
    "jumpseat-marks",
    "jumpseat-variants",
    "jumpseat-branch",
    "jumpseat-attach",
    "jumpseat-ask",
    "jumpseat-anywhere",
    "jumpseat-inspect",
    "jumpseat-ready",
    "jumpseat-file",
    "jumpseat-history",
    "jumpseat-edit",
    "jumpseat-preview",
    "jumpseat-compare",
    "jumpseat-rewrite",
    "jumpseat-settle",
    "jumpseat-rewrite-menu",
    "jumpseat-menu",
    "jumpseat",
)
"""Every file, lowest first. A file may require only earlier files, and use only their names."""

_FUNCTIONS = ("defun", "defmacro", "defsubst", "cl-defun", "cl-defmacro", "defalias")
_VARIABLES = ("defvar", "defvar-local", "defconst", "defcustom", "defface", "define-error")
_MODES = ("define-minor-mode", "define-derived-mode")

_TOKEN = re.compile(
    r"""(?P<skipped>\s+|;[^\n]*)
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<character>\?(?:\\(?:[CMSHAs]-)?\\?.|[^\\])(?![\w-]))
    |(?P<open>\#?[(\[])
    |(?P<close>[)\]])
    |(?P<prefix>\#'|,@|['`,])
    |(?P<symbol>(?:[^\s()\[\]"';`,\\]|\\.)+)""",
    re.VERBOSE | re.DOTALL,
)

Form = str | list["Form"] | tuple[str, "Form"]
"""A symbol, a list or vector, or a prefix and its form. Strings and characters become an empty symbol."""


class Use(NamedTuple):
    """A name in the code, outside comments and strings."""

    name: str
    kind: str
    """`function`, `variable`, or `quoted` (a quoted name may be either)."""


class Source:
    """The definitions, requires and uses of one file."""

    def __init__(self, text: str) -> None:
        self.functions: set[str] = set()
        self.variables: set[str] = set()
        self.required: set[str] = set()
        self.uses: set[Use] = set()
        self._collect_all(_parse(text), quoted=False)

    def _collect_all(self, forms: list[Form], *, quoted: bool) -> None:
        for before, form in zip(["", *forms], forms, strict=False):
            # After `:group` comes the name of a group of options, which may also be the name of a function.
            if before != ":group":
                self._collect(form, quoted=quoted)

    def _collect(self, form: Form, *, quoted: bool) -> None:
        # In a `match` statement, a pattern for lists would match a tuple too.
        if isinstance(form, tuple):
            prefix, inner = form
            if prefix == "#'" and isinstance(inner, str):
                self.uses.add(Use(inner, "function"))
            else:
                self._collect(inner, quoted=prefix in "'`" or (quoted and "," not in prefix))
            return
        match form:
            case ["require", ("'", str(feature)), *_]:
                self.required.add(feature)
            case ["provide" | "defgroup", *_]:
                pass
            # Without a value, `defvar` only promises that another file defines the variable.
            case ["defvar", str(name)]:
                self.uses.add(Use(name, "variable"))
            case [str(word), str(name) | ("'", str(name)), *rest] if word in (*_FUNCTIONS, *_VARIABLES):
                (self.functions if word in _FUNCTIONS else self.variables).add(name)
                self._collect_all(rest, quoted=False)
            case [str(word), str(name), *rest] if word in (*_MODES, "easy-menu-define"):
                self.functions.add(name)
                if ":variable" not in rest:
                    self.variables.add(name)
                if word in _MODES:
                    self.variables |= {f"{name}-map", f"{name}-hook"}
                self._collect_all(rest, quoted=False)
            case ["cl-defstruct", head, *slots]:
                self.functions.update(_list_struct_functions(head, slots))
            case [str(word), *rest] if word:
                self.uses.add(Use(word, "quoted" if quoted else "function"))
                self._collect_all(rest, quoted=quoted)
            case list():
                self._collect_all(form, quoted=quoted)
            case str() if form:
                self.uses.add(Use(form, "quoted" if quoted else "variable"))


def find_names_used(sources: Mapping[str, str]) -> dict[str, dict[str, set[str]]]:
    """Return the names that each file uses from each other file.

    If a file requires another one and uses none of its names, the set is empty.
    """
    files = {name: Source(text) for name, text in sources.items()}
    functions = _find_definers({name: each.functions for name, each in files.items()})
    variables = _find_definers({name: each.variables for name, each in files.items()})
    found: dict[str, dict[str, set[str]]] = {}
    for name, source in files.items():
        found[name] = {each: set() for each in source.required & files.keys()}
        for use in source.uses:
            called, held = functions.get(use.name, set()), variables.get(use.name, set())
            places = {"function": called or held, "variable": held or called}.get(use.kind, called | held)
            for place in set() if name in places else places:
                found[name].setdefault(place, set()).add(use.name)
    return found


def read_names_used() -> dict[str, dict[str, set[str]]]:
    """Return the names that each file of the package uses from each other file."""
    return find_names_used({path.stem: path.read_text("utf-8") for path in PACKAGE.glob("*.el")})


def read_imports() -> dict[str, set[str]]:
    """Return the files that each file requires or whose names it uses."""
    return {name: set(used) for name, used in read_names_used().items()}


def read_layers() -> dict[str, str]:
    """Return the layer of each file: every file is its own layer."""
    return {path.stem: path.stem for path in PACKAGE.glob("*.el")}


def _parse(text: str) -> list[Form]:
    lists: list[list[Form]] = [[]]
    prefixes: list[list[str]] = [[]]
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        assert token, f"this is not Lisp: {text[position : position + 40]!r}"
        position = token.end()
        form: Form = ""
        match token.lastgroup:
            case "skipped":
                continue
            case "prefix":
                prefixes[-1].append(token[0])
                continue
            case "open":
                lists.append([])
                prefixes.append([])
                continue
            case "close":
                form = lists.pop()
                prefixes.pop()
            case "symbol":
                form = token[0].replace("\\", "")
        while prefixes[-1]:
            form = (prefixes[-1].pop(), form)
        lists[-1].append(form)
    assert len(lists) == 1, "a parenthesis is missing"
    return lists[0]


def _list_struct_functions(head: Form, slots: list[Form]) -> Iterator[str]:
    name, *options = head if isinstance(head, list) else [head]
    yield from (f"{name}", f"{name}-p", f"make-{name}")
    for option in options:
        match option:
            case [":constructor", str(constructor), *_]:
                yield constructor
    for slot in slots:
        yield f"{name}-{slot[0] if isinstance(slot, list) else slot}"


def _find_definers(names: Mapping[str, set[str]]) -> dict[str, set[str]]:
    places: dict[str, set[str]] = {}
    for file, defined in names.items():
        for each in defined:
            places.setdefault(each, set()).add(file)
    return places
