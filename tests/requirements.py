"""The promises of the contract, each in a row with the place where it is written.

Tests name the rows that they verify with `@pytest.mark.requirement("id", …)`.
`tests/unit/test_requirements.py` checks that every row has a test and that every named row exists. If a row
does not have a test yet, `deferred` states the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from tests import dialect_rows, page_rows


@dataclass(frozen=True)
class Requirement:
    """A row of the contract."""

    behaviour: str
    source: str
    deferred: str | None = None


def _import_modules(package: ModuleType) -> Iterator[ModuleType]:
    for module in iter_modules(package.__path__):
        yield import_module(f"{package.__name__}.{module.name}")


def _requirements() -> dict[str, Requirement]:
    sources = [(module, module.SOURCE) for module in _import_modules(page_rows)]
    sources += [(module, f"the {module.PREFIX} dialect") for module in _import_modules(dialect_rows)]
    return {
        f"{module.PREFIX}:{key}": Requirement(row, source)
        if isinstance(row, str)
        else Requirement(row[0], source, deferred=row[1])
        for module, source in sources
        for key, row in module.ROWS.items()
    }


REQUIREMENTS = _requirements()
