"""The cost of an answer in billionths of an AI unit: `copilot_usage`."""

from __future__ import annotations

from typing import Any

from tests.emulator.catalogue import Model
from tests.emulator.conversation import Answer

_BATCH = 1_000_000
_NANO_PER_PRICE = 1_000_000_000
"""The factor between a price and the cost of one batch: for a price of 330, a batch costs 330 000 000 000."""


def copilot_usage(model: Model, answer: Answer) -> dict[str, Any]:
    """Return the member `copilot_usage`, which is sent beside an answer's usage."""
    counts = {
        "input": answer.uncached_tokens,
        "cache_read": answer.cache_read,
        "cache_write": answer.cache_written,
        "output": answer.output_tokens + answer.thinking_tokens,
    }
    entry, output, read, write = model.prices
    prices = {"input": entry, "cache_read": read, "cache_write": write, "output": output}
    details = [
        {
            "batch_size": _BATCH,
            "cost_per_batch": prices[name] * _NANO_PER_PRICE,
            "token_count": count,
            "token_type": name,
        }
        for name, count in counts.items()
    ]
    total = sum(each["token_count"] * each["cost_per_batch"] // _BATCH for each in details)
    return {"token_details": details, "total_nano_aiu": total}
