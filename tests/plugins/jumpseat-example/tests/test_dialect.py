"""Rules of the parlour's dialect that the contract suite does not check."""

from __future__ import annotations

import pytest
from jumpseat_example.dialect import turns

from jumpseat.chat import ChatRequest, Message, Origin, ThinkingBlock


@pytest.mark.parametrize(
    ("origin", "goes_back"),
    [
        (Origin("den", "alto"), True),
        (Origin("den", "basso"), False),
        (Origin("lair", "alto"), False),
        (None, False),
    ],
)
def test_a_seal_is_sent_only_to_the_voice_that_made_it(origin: Origin | None, goes_back: bool) -> None:
    pondered = ThinkingBlock("Hm", origin=origin, opaque="seal")
    request = ChatRequest(messages=(Message("assistant", (pondered,)), Message.user("Go on.")), model="alto")
    host, _ = turns(request, "den")

    assert host["parts"] == ([{"ponder": "Hm", "seal": "seal"}] if goes_back else [])
