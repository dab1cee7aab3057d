"""Check the cycles and layers of imports. Each language has its own module that reads the `Imports`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

Imports = Mapping[str, Collection[str]]
"""The imports of each module. Names that are not keys, such as those of libraries, do not count."""


def find_cycle(imports: Imports) -> list[str]:
    """Return the modules of one import cycle, or an empty list if there is none."""
    graph = {name: (set(reached) & imports.keys()) - {name} for name, reached in imports.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def find_layer_faults(imports: Imports, layers: Mapping[str, str], order: Sequence[str]) -> list[str]:
    """Describe every import of a higher layer, and every difference between the modules and the tables.

    Args:
        layers: The layer of each module.
        order: Every layer, lowest first. A module may import its own layer and earlier ones.
    """
    faults = [f"{name} has no layer" for name in sorted(imports.keys() - layers.keys())]
    faults += [f"{name} does not exist" for name in sorted(layers.keys() - imports.keys())]
    faults += [f"{layer} has no place in the order" for layer in sorted(set(layers.values()) - set(order))]
    faults += [f"{layer} is empty" for layer in order if layer not in layers.values()]
    if faults:
        return faults
    height = {name: order.index(layer) for name, layer in layers.items()}
    return [
        f"{name} imports {each}, but {layers[each]} is above {layers[name]}"
        for name, reached in sorted(imports.items())
        for each in sorted(set(reached) & imports.keys())
        if height[each] > height[name]
    ]
