"""`jumpseat login` and `jumpseat logout`: sign in with a code, and sign out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from jumpseat_client.cli.chat import daemon
from jumpseat_client.cli.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_client.cli.output import Spinner, make_spinner
from jumpseat_client.cli.status import USABLE
from jumpseat_client.cli.terminal import clean_line


class _Attempt:
    """The notifications and requests of one sign-in."""

    def __init__(self, spinner: Spinner) -> None:
        self._spinner = spinner

    def show_prompt(self, method: str, params: Any) -> None:
        """Print the code of a prompt."""
        if method != "auth/prompt" or not isinstance(params, Mapping):
            return
        self._spinner.pause()
        say(f"First copy this code: {clean_line(str(params.get('userCode', '')))}")
        say(f"Then open this page and enter it: {clean_line(str(params.get('verificationUri', '')))}")
        self._spinner.show("Waiting for you to finish there")

    async def answer_request(self, method: str, params: Any) -> Any:
        """Open the page in a browser at the daemon's request."""
        from jumpseat.wire import METHOD_NOT_FOUND, RpcError

        page = str(params.get("uri", "")) if isinstance(params, Mapping) else ""
        if method != "window/showDocument" or urlsplit(page).scheme not in ("http", "https"):
            raise RpcError(METHOD_NOT_FOUND, f"This client does not support {method}.")
        return {"success": _open(page)}


def _open(page: str) -> bool:
    """Open a page with the system's opener; False if that cannot be started."""
    if sys.platform in ("win32", "darwin"):
        import click

        return click.launch(page) == 0
    try:
        # Without a display this may start a terminal browser, which must not use our terminal or output.
        subprocess.Popen(  # noqa: S603 - the page is http, and nothing runs through a shell
            ["xdg-open", page],  # noqa: S607 - the user's own
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    return True


async def log_in(*, provider: str | None, browser: bool, daemon_command: Sequence[str], as_json: bool) -> int:
    """Sign in, and print the account.

    Raises:
        ClientError: the user or the provider declined, or the daemon cannot be used.
    """
    spinner = make_spinner("Asking for a code")
    attempt = _Attempt(spinner)
    try:
        async with daemon(
            daemon_command, on_notification=attempt.show_prompt, on_request=attempt.answer_request
        ) as client:
            status = await client.sign_in(provider=provider, open_browser=browser)
    finally:
        spinner.stop()
    return _report(status, as_json=as_json)


async def log_out(*, provider: str | None, daemon_command: Sequence[str], as_json: bool) -> int:
    """Sign out, and print whether another sign-in is still used.

    Raises:
        ClientError: the daemon cannot be used, or the provider has no sign-in.
    """
    async with daemon(daemon_command) as client:
        status = await client.sign_out(provider=provider)
    if as_json:
        print_json(status)
    elif status.get("state") != "signed_out" and status.get("message"):
        say(clean_line(str(status["message"])))
    elif status.get("state") == "not_required":
        say(f"{status.get('provider')} needs no sign-in.")
    elif status.get("state") in USABLE:
        # The sign-in of another program is still found; it must not be removed here.
        say(f"Signed out, but {_who(status)} is still used, from {clean_line(str(status.get('source')))}.")
    else:
        say(f"Signed out of {status.get('provider')}.")
    return OK


def _report(status: Mapping[str, Any], *, as_json: bool) -> int:
    ready = status.get("state") in USABLE
    if as_json:
        print_json(status)
    elif not ready:
        print_failure(str(status.get("message") or "The sign-in did not succeed."), None)
    elif status.get("state") == "not_required":
        say(f"{status.get('provider')} needs no sign-in.")
    else:
        plan = f", plan {status['plan']}" if status.get("plan") else ""
        say(
            clean_line(
                f"Signed in to {status.get('host') or status.get('provider')} as {_who(status)}{plan}."
            )
        )
        if status.get("message"):
            say(clean_line(str(status["message"])))
    return OK if ready else FAILED


def _who(status: Mapping[str, Any]) -> str:
    return clean_line(str(status.get("login") or "an account"))
