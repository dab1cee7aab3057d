"""Dataclasses whose methods are compiled at their first call, in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys

import pytest

PRELUDE = """\
import copy, dataclasses, pickle, sys, types
from typing import ClassVar
module = types.ModuleType("jumpseat.tried")
sys.modules["jumpseat.tried"] = module
if LEAN:
    from jumpseat.rpc.lean_dataclasses import compile_lazily
    assert compile_lazily() == hasattr(dataclasses, "_create_fn")
"""

CLASSES = """
from __future__ import annotations
from collections.abc import Mapping
from dataclasses import dataclass, field, InitVar
from typing import ClassVar

@dataclass(frozen=True, slots=True)
class Frozen:
    a: int
    b: str = "b"
    hidden: str = field(default="x", repr=False, compare=False)

@dataclass(frozen=True, slots=True)
class Child(Frozen):
    c: tuple = ()
    kind: ClassVar[str] = "child"

@dataclass(slots=True)
class Plain:
    items: list = field(default_factory=list)
    double: int = field(init=False, default=0)
    start: InitVar[int] = 1

    def __post_init__(self, start):
        self.double = 2 * start

@dataclass(order=True)
class Ordered:
    a: int

    def __repr__(self):
        return "mine"

@dataclass(kw_only=True)
class Empty:
    pass
"""

USES = """
exec(compile(SOURCE, "tried.py", "exec"), module.__dict__)
Frozen, Child, Plain = module.Frozen, module.Child, module.Plain
Ordered, Empty = module.Ordered, module.Empty
def failure(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
for _ in range(2):
    child, frozen = Child(1, c=(2,)), Frozen(1, hidden="y")
    print(frozen, child, Plain([1], start=4), Ordered(1), Empty(), repr(Plain()))
    print(frozen == Frozen(1), frozen == child, hash(frozen) == hash(Frozen(1)))
    print(child in {Child(1, "b", "x", (2,))}, failure(lambda: hash(Plain())))
    print(failure(lambda: setattr(frozen, "a", 2)), failure(lambda: delattr(child, "c")))
    print(failure(lambda: Child(1, 2, 3, 4, 5)), failure(lambda: Frozen(a=1, z=2)), failure(Frozen))
    print(Ordered(1) < Ordered(2), Ordered(2) >= Ordered(3), failure(lambda: Ordered(1) < 1))
    print(dataclasses.replace(child, a=5), dataclasses.asdict(child), copy.deepcopy(child) == child)
    print(pickle.loads(pickle.dumps(child)) == child, Frozen.__init__.__qualname__, Frozen.__eq__.__name__)
    print([f.name for f in dataclasses.fields(Child)], Child.__match_args__)
"""


MODELS = """
from typing import Annotated
import annotated_types
from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, Field, StringConstraints
from pydantic import ValidationError, field_serializer, field_validator

class Model(BaseModel):
    number: Annotated[int, Field(gt=0, le=9, multiple_of=3)]
    word: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = Field(
        "x", validation_alias=AliasChoices("word", AliasPath("words", 0))
    )
    items: Annotated[list[int], BeforeValidator(list), annotated_types.Len(1, 3)] = [1]

    @field_validator("number")
    @classmethod
    def _is_not_six(cls, number):
        assert number != 6
        return number

    @field_serializer("items")
    def _as_text(self, items):
        return str(items)

def tried(value):
    try:
        return Model.model_validate(value).model_dump()
    except ValidationError as error:
        return error.errors(include_url=False, include_context=False)
for _ in range(2):
    print(tried({"number": 3, "words": [" a "], "items": (1, 2)}), tried({"number": 6}))
    print(tried({"number": 12}), tried({"number": 4, "word": " ", "items": []}))
    print(Model.model_json_schema(), Model.model_fields)
    span = annotated_types.Interval(gt=1, le=3)
    print(span, list(span), span == annotated_types.Interval(gt=1, le=3), {annotated_types.Gt(1): 2})
    print(AliasPath("a", 1), AliasPath("a", 1) == AliasPath("a", 1), AliasChoices("a").convert_to_aliases())
"""


def outcome(uses: str, *, lean: bool) -> str:
    """The output of a fresh interpreter that runs this code."""
    code = f"LEAN = {lean}\n{PRELUDE}SOURCE = {CLASSES!r}\n{uses}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("uses", [USES, MODELS], ids=["dataclasses", "models of pydantic"])
def test_a_lean_dataclass_behaves_like_any_dataclass(uses: str) -> None:
    assert outcome(uses, lean=True) == outcome(uses, lean=False) != ""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="dataclasses are compiled at once there")
def test_a_method_is_compiled_and_installed_at_its_first_call() -> None:
    code = (
        f"LEAN = True\n{PRELUDE}"
        "made = []\n"
        "import dataclasses\n"
        f"exec(compile({CLASSES!r}, 'tried.py', 'exec'), module.__dict__)\n"
        "Child, Frozen = module.Child, module.Frozen\n"
        "before = Frozen.__dict__['__eq__'], Child.__dict__['__init__']\n"
        "Child(1) == Child(1); Frozen(1) == Frozen(1)\n"
        "after = Frozen.__dict__['__eq__'], Child.__dict__['__init__']\n"
        "print([a is b for a, b in zip(before, after)], [f.__code__.co_name for f in after])\n"
        "Other = dataclasses.make_dataclass('Other', ['a'])\n"
        "print(Other.__init__.__code__.co_varnames)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.splitlines() == [
        "[False, False] ['__eq__', '__init__']",
        "('self', 'a')",
    ], done.stderr
