"""Syntax trees of Python modules, which several rules read."""

from __future__ import annotations

import ast
import functools

parse = functools.cache(ast.parse)
"""Parse the text of a module, once for all rules."""


@functools.cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return every node of a module, cached because walking a tree takes longer than any rule."""
    return tuple(ast.walk(tree))
