"""`make mutants`: measures whether the unit tests notice small changes to the code that they test.

Cosmic Ray makes the changes in a copy of the checkout. A seed selects a few changes for each module; the same
seed always selects the same changes. For each change, the unit tests of the module's package run, beginning
with those of the module. The modules take turns, so that an interrupted run has covered all of them equally.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import chdir
from itertools import zip_longest
from pathlib import Path

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).parents[2]
SERVER = Path("server", "jumpseat")
GROUPS = {
    "wire": ("wire/*.py",),
    "engine": ("engine/*.py",),
    "github": ("adapters/github/*.py", "adapters/github/copilot/*token*.py"),
    "decoders": ("dialects/*/decode.py",),
}
COPIED = ("server", "client", "tests", "docs", "editors", "pyproject.toml", "README.md")

IGNORED_OPERATOR = "BitOr"
"""The operator `|` is usually in an annotation, which is never evaluated, so no test can notice a change."""

TEST_SECONDS = 180.0
"""The time limit for the tests of one mutant."""


def modules_of(group: str) -> list[Path]:
    """Return the modules of a group. Fail if there are none."""
    found = sorted(module for pattern in GROUPS[group] for module in SERVER.glob(pattern))
    assert found, f"{group} no longer has a module: {GROUPS[group]}"
    return found


def tests_of(module: Path) -> list[str]:
    """Return the unit tests to run for a mutant: first those of its module, then those of its package."""
    folder = Path("tests", "unit", module.relative_to(SERVER).parent)
    own = sorted(folder.glob(f"test_{module.stem.strip('_')}*.py"))
    return [str(found) for found in dict.fromkeys([*own, *sorted(folder.glob("test_*.py"))])]


def draw(group: str, each: int, seed: int) -> Iterator[tuple[Path, MutationSpec]]:
    """Yield `each` mutants of each module: the first one of every module, then the second one, and so on."""
    rows: list[list[tuple[Path, MutationSpec]]] = []
    for module in modules_of(group):
        with use_db(":memory:", WorkDB.Mode.create) as every:
            init([module], every, {})
            specs = [item.mutations[0] for item in every.work_items]
        specs = [spec for spec in specs if IGNORED_OPERATOR not in spec.operator_name]
        specs.sort(key=lambda spec: (spec.start_pos, spec.operator_name, spec.occurrence))
        some = random.Random(f"{seed} {module}").sample(specs, min(each, len(specs)))
        rows.append([(module, spec) for spec in some])
    for turn in zip_longest(*rows):
        yield from (mutant for mutant in turn if mutant is not None)


def command_of(python: str, tests: Sequence[str]) -> list[str]:
    """Return the command that runs the tests up to the first failure."""
    return [python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests]


def run_tests(python: str, module: Path, spec: MutationSpec) -> TestOutcome:
    """Run the tests for one mutant and return their outcome."""
    command = shlex.join(command_of(python, tests_of(module)))
    outcome = mutate_and_test([spec], command, TEST_SECONDS).test_outcome
    assert outcome is not None, f"Cosmic Ray made no mutant of {module} at {spec.start_pos}"
    return outcome


def run(arguments: argparse.Namespace, group: str) -> None:
    """Test the mutants of one group; print those that survive, and the score.

    Raises:
        subprocess.CalledProcessError: the tests fail without any change.
    """
    tests = {test for module in modules_of(group) for test in tests_of(module)}
    subprocess.run(command_of(arguments.python, sorted(tests)), check=True, stdout=subprocess.DEVNULL)
    ends = time.monotonic() + arguments.minutes * 60 / len(arguments.groups)
    counted: Counter[TestOutcome] = Counter()
    for module, spec in draw(group, arguments.each, arguments.seed):
        if time.monotonic() > ends:
            print(f"{group}: the time is over")
            break
        outcome = run_tests(arguments.python, module, spec)
        counted[outcome] += 1
        if outcome is TestOutcome.SURVIVED:
            line, column = spec.start_pos
            name = spec.operator_name.removeprefix("core/")
            print(f"survived: {module}:{line}:{column} in {spec.definition_name}: {name}", flush=True)
    killed, survived = counted[TestOutcome.KILLED], counted[TestOutcome.SURVIVED]
    share = 100 * killed / max(1, killed + survived)
    print(f"{group}: {killed} of {killed + survived} mutants killed, {share:.0f} %", flush=True)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.mutants")
    parser.add_argument("--python", default=sys.executable, help="the Python of the tests' environment")
    parser.add_argument("--each", type=int, default=4, help="the number of mutants of each module")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="the time limit for the whole run")
    parser.add_argument("groups", nargs="*", default=list(GROUPS), help=f"groups: {', '.join(GROUPS)}")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jumpseat-mutants-") as copy:
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(
                    source, Path(copy, name), ignore=shutil.ignore_patterns("node_modules", "__pycache__")
                )
            else:
                shutil.copy(source, copy)
        os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(copy, name)) for name in ("server", "client"))
        with chdir(copy):
            for group in arguments.groups:
                run(arguments, group)
    return 0


if __name__ == "__main__":
    sys.exit(main())
