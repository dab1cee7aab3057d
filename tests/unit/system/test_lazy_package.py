"""Packages that import a module when one of its names is first used."""

from __future__ import annotations

import sys

import pytest

import jumpseat.dialects
import jumpseat.http
from jumpseat.system.lazy_package import make_lazy_getattr


def test_a_name_imports_its_module_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "xml.sax.saxutils", raising=False)
    get = make_lazy_getattr("xml.sax", {"saxutils": "escape unescape"})
    assert "xml.sax.saxutils" not in sys.modules

    assert get("unescape")("&lt;") == "<"

    assert "xml.sax.saxutils" in sys.modules


@pytest.mark.parametrize("package", [jumpseat.dialects, jumpseat.http], ids=lambda package: package.__name__)
def test_an_unknown_name_is_an_attribute_error_that_names_the_package(package: object) -> None:
    with pytest.raises(AttributeError, match=r"module 'jumpseat\.\w+' has no attribute 'nothing'"):
        package.nothing  # noqa: B018 - the access is the test
