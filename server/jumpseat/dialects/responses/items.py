"""Converts the output items of one answer to blocks, in first-seen order.

Source: `tests/dialect_rows/responses.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from jumpseat.chat import OtherBlock, ProtocolError
from jumpseat.dialects.assembly import BlockAssembler
from jumpseat.dialects.citations import citation_of
from jumpseat.dialects.cut_text import join_pieces
from jumpseat.dialects.loose_values import mappings_in, text_in
from jumpseat.dialects.opaque import write_opaque
from jumpseat.dialects.responses.item import (
    CALLS,
    Item,
    Slot,
    arguments_of,
    parts_of,
    trusted_fields,
)
from jumpseat.dialects.responses.replay import (
    PART_SEPARATOR,
    call_opaque,
    generated_image_of,
    text_opaque,
    thinking_opaque,
    thinking_signature,
)


class OutputItems:
    """The output items of one answer. The blocks that they become are passed to the assembler."""

    def __init__(self, provider: str, blocks: BlockAssembler) -> None:
        self._provider = provider
        self._blocks = blocks
        self._items: list[Item] = []
        self.refused = False
        """Whether the answer has a refusal."""

        self.lossy = False
        """Whether an event was unreadable, so that text may be missing."""

    @property
    def begun(self) -> bool:
        """Whether any item has begun."""
        return bool(self._items)

    @property
    def all_done(self) -> bool:
        """Whether every item is complete."""
        return all(item.done for item in self._items)

    def find(self, event: Mapping[str, Any], kind: str) -> Item:
        """Return the item that an event belongs to; a new item if none is known."""
        index, name = _read_index(event.get("output_index")), text_in(event.get("item_id"))
        return self._find_known(index, name, kind) or self._add_item(kind, index, name)

    def begin(self, index: Any, fields: Mapping[str, Any]) -> Item:
        """Start an item; earlier events may already belong to it."""
        kind, name = text_in(fields.get("type")), text_in(fields.get("id"))
        known = self._find_known(_read_index(index), name, kind)
        if known is not None and known.ids and name and name not in known.ids:
            # The id is new, so this is another item at the same index. The known item is therefore complete,
            # unless both are calls, which may overlap.
            if kind not in CALLS:
                self._finish(known, {})
            known = None
        if known is not None and known.begun and _is_elsewhere(known, index):
            known = None  # The same id at another index belongs to another item.
        item = known or self._add_item(kind, _read_index(index), name)
        item.begun = True
        item.fields.update(fields)
        if kind in CALLS:
            self._run_in_order(item, lambda: self._emit_call(item, ""))
            self._add_rest(item, ("arguments", 0), arguments_of(fields))
        return item

    def end(self, index: Any, fields: Mapping[str, Any]) -> None:
        """Complete an item; do nothing if it is already complete."""
        kind, name = text_in(fields.get("type")), text_in(fields.get("id"))
        known = self._find_known(_read_index(index), name, kind)
        if known is not None and known.done and kind in CALLS and _is_elsewhere(known, index):
            known = None
        item = known or self._add_item(kind, _read_index(index), name)
        item.rotates = bool(item.ids and name) and item.ids != {name}
        self._finish(item, fields)

    def add(self, item: Item, slot: Slot, piece: str) -> None:
        """Add a piece of text to a part."""
        if not piece or item.done:
            return
        item.texts.setdefault(slot, []).append(piece)
        self._run_in_order(item, lambda: self._emit_piece(item, slot, piece))

    def complete(self, item: Item, slot: Slot, whole: str) -> None:
        """Complete a part, and add the text that the deltas omitted."""
        if not item.done:
            self._add_rest(item, slot, whole)
            item.whole.add(slot)

    def cite(self, item: Item, annotation: Any) -> None:
        """Emit the citation in an annotation, unless it was already emitted."""
        if not isinstance(annotation, dict) or item.done:
            return
        nested = annotation.get("url_citation")
        source = nested if isinstance(nested, dict) else annotation
        citation = citation_of(source, None)
        identity = (citation.url, citation.title, citation.text_start, citation.text_end)
        if (citation.url or citation.title) and identity not in item.cited:
            item.cited.add(identity)
            self._run_in_order(
                item, lambda: self._blocks.emit(replace(citation, block=self._blocks.text_block))
            )

    def end_all(self, output: Any) -> None:
        """Complete all items, using the answer's final list of items, which may be absent or incomplete."""
        # Ids and indices in the list may differ from those in the events, so items are matched by position
        # within each kind.
        unmatched: dict[str, Iterator[Item]] = {}
        for fields in output if isinstance(output, list) else ():
            if not isinstance(fields, dict):
                continue
            kind = text_in(fields.get("type"))
            if kind not in unmatched:
                unmatched[kind] = iter([item for item in self._items if item.kind == kind])
            item = next(unmatched[kind], None) or self._add_item(kind, None, text_in(fields.get("id")))
            self._finish(item, fields)
        for item in self._items:
            if self.lossy and not item.done:
                raise self._lost_text_error()
            self._finish(item, {})

    def _lost_text_error(self) -> ProtocolError:
        return ProtocolError(
            f"{self._provider} sent an unreadable event, so a part of its answer is missing.",
            provider=self._provider,
        )

    def _find_known(self, index: int | None, name: str, kind: str) -> Item | None:
        # The item at the index is used even if its id is different, because Copilot changes the id in each
        # event. Only an item that has the id takes precedence.
        alike = [item for item in reversed(self._items) if item.kind == kind]
        placed = next((item for item in alike if index is not None and item.index == index), None)
        named = next((item for item in alike if name and name in item.ids), None)
        if placed is not None and (name in placed.ids or named is None):
            # A new id at the index of a complete item means a new item: some servers always use index 0.
            return None if placed.done and name and name not in placed.ids else placed
        if named is not None:
            return named
        if index is None and not name:
            return next((item for item in alike if not item.done), None)
        return None

    def _add_item(self, kind: str, index: int | None, name: str) -> Item:
        item = Item(len(self._items), kind, index, {name} if name else set(), {"type": kind})
        self._items.append(item)
        return item

    def _add_rest(self, item: Item, slot: Slot, whole: str) -> None:
        received = join_pieces(item.texts.get(slot, ()))
        if whole.startswith(received):
            self.add(item, slot, whole[len(received) :])
        elif self.lossy:
            raise self._lost_text_error()

    def _finish(self, item: Item, fields: Mapping[str, Any]) -> None:
        if item.done:
            return
        item.fields.update(fields)
        for slot, whole in parts_of(item):
            self._add_rest(item, slot, whole)
        for part in mappings_in(item.fields.get("content")):
            for annotation in mappings_in(part.get("annotations")):
                self.cite(item, annotation)
        self._run_in_order(item, lambda: self._close(item))
        item.done = True
        self._run_waiting()

    def _run_in_order(self, item: Item, action: Callable[[], None]) -> None:
        """Run the action now, or as soon as the preceding items are complete."""
        # Items may overlap, but blocks must not, except for tool calls.
        for earlier in self._items[: item.number]:
            if earlier.settled and not earlier.done:
                self._finish(earlier, {})
        if item.waiting or not self._can_emit(item):
            item.waiting.append(action)
        else:
            action()

    def _can_emit(self, item: Item) -> bool:
        return all(
            (earlier.done and not earlier.waiting) or (earlier.kind in CALLS and item.kind in CALLS)
            for earlier in self._items[: item.number]
        )

    def _run_waiting(self) -> None:
        for item in self._items:
            if item.waiting and self._can_emit(item):
                actions, item.waiting = item.waiting, []
                for action in actions:
                    action()

    def _emit_piece(self, item: Item, slot: Slot, piece: str) -> None:
        name, _ = slot
        before, item.open = item.open, slot
        if name == "arguments":
            self._emit_call(item, piece)
        elif name in ("summary", "reasoning"):
            if before is not None and before[0] != name:
                item.open = before  # Summary and reasoning repeat each other; use the one that came first.
                return
            separator = PART_SEPARATOR if before not in (None, slot) else ""
            self._blocks.add_thinking(separator)
            self._blocks.add_thinking(piece)
        else:
            if before not in (None, slot):
                self._close_text(item, before)
            self.refused = self.refused or name == "refusal"
            self._blocks.add_text(piece)

    def _emit_call(self, item: Item, piece: str) -> None:
        call_id = text_in(item.fields.get("call_id")) or text_in(item.fields.get("id"))
        name = text_in(item.fields.get("name"))
        self._blocks.add_tool_call(item.number, id=call_id, name=name, arguments=piece)

    def _close_text(self, item: Item, slot: Slot | None) -> None:
        if slot is not None:
            self._blocks.set_opaque(text_opaque(trusted_fields(item), refusal=slot[0] == "refusal"))
            self._blocks.close_prose()

    def _close(self, item: Item) -> None:
        if item.kind == "message":
            self._close_text(item, item.open)
        elif item.kind == "reasoning":
            self._close_reasoning(item)
        elif item.kind in CALLS:
            self._emit_call(item, "")
            self._blocks.add_tool_call(item.number, opaque=call_opaque(trusted_fields(item)))
            self._blocks.close_tool_call(item.number)
        elif image := generated_image_of(item.fields):
            self._blocks.add_block(image)
        else:
            self._blocks.add_block(OtherBlock(item.kind or "unknown", opaque=write_opaque(item.fields)))

    def _close_reasoning(self, item: Item) -> None:
        # Use the complete item: in `output_item.added`, the encrypted content may be incomplete.
        signature = thinking_signature(item.fields)
        if signature:
            self._blocks.sign_thinking(signature)
        if signature or item.open is not None:
            thinking = PART_SEPARATOR.join(
                join_pieces(pieces)
                for slot, pieces in item.texts.items()
                if item.open is not None and slot[0] == item.open[0]
            )
            self._blocks.set_opaque(thinking_opaque(trusted_fields(item), thinking) if signature else None)
            self._blocks.close_prose()


def _is_elsewhere(item: Item, index: Any) -> bool:
    return item.index is not None and _read_index(index) not in (None, item.index)


def _read_index(value: Any) -> int | None:
    return value if type(value) is int else None
