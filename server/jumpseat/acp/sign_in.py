"""Signs the user in with a code that the user enters on a web page."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import Any
from uuid import uuid4

from jumpseat.acp.client import AcpClient
from jumpseat.adapters.base.account import SignInPrompt
from jumpseat.chat import AuthenticationError, ChatCancelled
from jumpseat.providers import SIGN_IN_PROVIDER
from jumpseat.providers import sign_in as sign_in_to
from jumpseat.wire import RequestId

_BROWSER_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


class SignInFlow:
    """One sign-in, which runs in the background while the user enters the code."""

    def __init__(self, client: AcpClient) -> None:
        loop = asyncio.get_running_loop()
        self.prompt: asyncio.Future[SignInPrompt] = loop.create_future()
        """Resolves to the code for the user. This future is cancelled if the sign-in ends without a code."""

        self.result: asyncio.Future[None] = loop.create_future()
        """Resolves when the sign-in ends, with the exception if it failed."""

        # Retrieve the exception, or asyncio would log it. The next sign-in request reports it.
        self.result.add_done_callback(lambda result: result.cancelled() or result.exception())
        self._client = client
        self._task: asyncio.Task[Any] | None = None
        client.run_in_background("signing in", self._run)

    async def _run(self) -> None:
        self._task = asyncio.current_task()
        try:
            await sign_in_to(self._client.registry, SIGN_IN_PROVIDER, self._set_prompt)
            self.result.set_result(None)
        except asyncio.CancelledError:
            self.result.cancel()
            raise
        except Exception as error:
            self.result.set_exception(error)
        finally:
            self.prompt.cancel()

    def _set_prompt(self, prompt: SignInPrompt) -> None:
        if not self.prompt.done():
            self.prompt.set_result(prompt)

    def cancel(self) -> None:
        """Stop waiting for the user."""
        if self._task is not None:
            self._task.cancel()

    async def wait_for_prompt(self) -> SignInPrompt | None:
        """Wait for the code; None if the sign-in has ended without one.

        Raises:
            ChatError: the sign-in failed.
        """
        futures: list[asyncio.Future[Any]] = [self.prompt, self.result]
        await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
        if self.prompt.done() and not self.prompt.cancelled():
            return self.prompt.result()
        await self.result
        return None


async def sign_in(client: AcpClient, request_id: RequestId) -> None:
    """Sign in, or continue the sign-in of an earlier request.

    Raises:
        AuthenticationError: the user must enter the code that the message contains and then try again.
        ChatCancelled: the user declined.
        ChatError: the sign-in failed.
    """
    pending = client.pending_sign_in
    if pending is not None:
        try:
            await asyncio.shield(pending)
        finally:
            if pending.done():
                client.pending_sign_in = None
        return
    flow = SignInFlow(client)
    try:
        prompt = await flow.wait_for_prompt()
        if prompt is not None and client.abilities.opens_urls:
            await _elicit(client, flow, prompt, request_id)
            return
    except BaseException:
        flow.cancel()
        raise
    if prompt is not None:
        client.pending_sign_in = flow.result
        await _open_browser(client, prompt.verification_uri)
        raise AuthenticationError(
            f"Enter the code {prompt.user_code} at {prompt.verification_uri}, "
            "then sign in again here or begin a new chat."
        )


async def _elicit(client: AcpClient, flow: SignInFlow, prompt: SignInPrompt, request_id: RequestId) -> None:
    """Ask the user through the client to open the page, and wait for the end of the sign-in."""
    elicitation = {"elicitationId": str(uuid4())}
    question = {
        "mode": "url",
        **elicitation,
        "requestId": request_id,
        "url": prompt.verification_uri,
        "message": f"Enter the code {prompt.user_code} to sign in.",
    }
    asking = asyncio.create_task(client.client_requests.send("elicitation/create", question, None))
    try:
        futures: list[asyncio.Future[Any]] = [asking, flow.result]
        await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
        if not flow.result.done():
            answer = asking.result()
            if not (isinstance(answer, dict) and answer.get("action") == "accept"):
                raise ChatCancelled("The sign-in was cancelled.")
        await flow.result
        client.outbox.notify("elicitation/complete", elicitation)
    finally:
        asking.cancel()


async def _open_browser(client: AcpClient, page: str) -> None:
    """Open a page in the user's browser, except on Linux without a display or a configured browser.

    A failure does not matter, because the user also sees the address of the page.
    """
    environment = client.environment
    if sys.platform == "linux" and not any(environment.get(name) for name in _BROWSER_VARIABLES):
        return
    with suppress(OSError):
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "webbrowser", page),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environment.variables),
            start_new_session=True,
        )
