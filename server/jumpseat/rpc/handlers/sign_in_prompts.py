"""Sends the prompts of sign-ins to the client, for providers and tool servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jumpseat.adapters.base.account import SignInPrompt
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.rpc.encode import to_wire
from jumpseat.rpc.params import SignInParams

if TYPE_CHECKING:
    from jumpseat.tools.server import SignInPage


@contextmanager
def relay_prompts(
    session: Session, call: MethodCall[SignInParams], provider: str
) -> Iterator[Callable[[SignInPrompt | SignInPage], None]]:
    """Yield a function that sends a prompt to the client.

    If the params set `open_browser`, the function also asks the client to open the page of the sign-in. On
    exit, such requests are cancelled if the client has not answered them.
    """
    fields = {"requestId": call.request_id, "token": call.params.token, "provider": provider}
    known_fields = {key: value for key, value in fields.items() if value is not None}
    opening: list[asyncio.Task[Any]] = []

    def on_prompt(prompt: SignInPrompt | SignInPage) -> None:
        session.outbox.notify("auth/prompt", {**known_fields, **to_wire(prompt)})
        if call.params.open_browser:
            page = {"uri": prompt.verification_uri, "external": True}
            opening.append(asyncio.create_task(session.client_requests.send("window/showDocument", page)))

    try:
        yield on_prompt
    finally:
        for task in opening:
            task.cancel()
