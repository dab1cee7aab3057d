"""Sign-in on a page in a browser, usually with a code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from jumpseat_cli.daemon.rows import USABLE
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_cli.terminal.output import Spinner, make_spinner
from jumpseat_cli.terminal.questions import confirm
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client import Client

DEFAULT_PROVIDER = "copilot"
"""The provider to sign in to if none is named."""

MCP_PREFIX = "mcp:"
"""The prefix of an MCP server's name where the protocol expects the id of a provider."""


class _Handlers:
    """The handlers for the daemon's notifications and requests during one sign-in."""

    def __init__(self, spinner: Spinner) -> None:
        self._spinner = spinner

    def show_prompt(self, method: str, params: Any) -> None:
        """Print the code and the page's address from `auth/prompt`."""
        if method != "auth/prompt" or not isinstance(params, Mapping):
            return
        self._spinner.pause()
        page = clean_line(str(params.get("verificationUri", "")))
        if params.get("userCode"):
            say(f"First copy this code: {clean_line(str(params['userCode']))}")
            say(f"Then open this page and enter it: {page}")
        else:
            # An MCP server's sign-in does not use a code. Name the host, so that the user knows who asks.
            say(f"Open this page of {clean_line(str(params.get('host') or 'the server'))} to sign in: {page}")
        self._spinner.show("Waiting for the sign-in")

    async def answer_request(self, method: str, params: Any) -> Any:
        """Open the page in a browser if the daemon sends `window/showDocument`."""
        from jumpseat.wire import METHOD_NOT_FOUND, RpcError

        page = str(params.get("uri", "")) if isinstance(params, Mapping) else ""
        if method != "window/showDocument" or urlsplit(page).scheme not in ("http", "https"):
            raise RpcError(METHOD_NOT_FOUND, f"This client does not support {method}.")
        return {"success": _open_page(page)}


def _open_page(page: str) -> bool:
    """Open a page with the system's opener; return False if the opener cannot be started."""
    if sys.platform in ("win32", "darwin"):
        import click

        opened = click.launch(page) == 0
    else:
        try:
            # Without a display, this may start a text browser, which must not use our terminal or output.
            subprocess.Popen(  # noqa: S603 - the page is http, and nothing runs through a shell
                ["xdg-open", page],  # noqa: S607 - found on the user's PATH
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            opened = True
        except OSError:
            opened = False
    return opened


async def log_in(
    *,
    provider: str | None,
    browser: bool,
    again: bool = False,
    asks: bool = False,
    daemon_command: Sequence[str],
    overlay: Mapping[str, Any] | None = None,
    as_json: bool,
) -> int:
    """Sign in unless an account is already signed in. Print the account and return the exit code.

    Args:
        provider: the provider's id, or `mcp:` and the name of an MCP server; None for GitHub Copilot.
        browser: whether to open the page in a browser.
        again: whether to sign in even if an account is signed in.
        asks: whether to offer another sign-in if an account is signed in.
        daemon_command: the daemon's command line.
        overlay: the overlay for the daemon; None for none.
        as_json: whether to print the status as JSON.

    Raises:
        ClientError: the user or the provider declined, or the daemon cannot be used.
    """
    spinner = make_spinner("Requesting a code")
    handlers = _Handlers(spinner)
    try:
        async with daemon(
            daemon_command,
            config=overlay,
            on_notification=handlers.show_prompt,
            on_request=handlers.answer_request,
        ) as client:
            current = None if again else await _find_account(client, provider)
            if current is not None:
                spinner.stop()
                if as_json:
                    print_json(current)
                    return OK
                say(_describe_account(current))
                if not asks:
                    say(f"To sign in again: {_format_command(provider, has_overlay=overlay is not None)}")
                    return OK
                if await confirm("Sign in again?") != OK:
                    return OK
                spinner.show("Requesting a code")
            status = await client.sign_in(provider=provider, open_browser=browser)
    finally:
        spinner.stop()
    return _report(status, as_json=as_json)


def _format_command(provider: str | None, *, has_overlay: bool) -> str:
    """Return the command that signs in again."""
    if provider is not None and provider.startswith(MCP_PREFIX):
        overlay = "--overlay FILE " if has_overlay else ""
        return f"jumpseat mcp login {overlay}--again {provider.removeprefix(MCP_PREFIX)}"
    return f"jumpseat login --again {provider or ''}".rstrip()


async def _find_account(client: Client, provider: str | None) -> dict[str, Any] | None:
    """Return the authentication state of a working sign-in; None if there is none."""
    name = provider or DEFAULT_PROVIDER
    # A refresh sends a request to the provider, which is not needed if nobody is signed in.
    for refresh in (False, True):
        status = await client.auth_status(provider=name, refresh=refresh)
        if status.get("state") != "signed_in":
            return None
    return status


def _report(status: Mapping[str, Any], *, as_json: bool) -> int:
    ready = status.get("state") in USABLE
    if as_json:
        print_json(status)
    elif not ready:
        print_failure(str(status.get("message") or "The sign-in failed."))
    elif status.get("state") == "not_required":
        say(f"{status.get('provider')} does not need a sign-in.")
    else:
        plan = f", plan {status['plan']}" if status.get("plan") else ""
        say(clean_line(f"Signed in to {place_of(status)}{_as_account(status)}{plan}."))
        if status.get("message"):
            say(clean_line(str(status["message"])))
    return OK if ready else FAILED


def _describe_account(status: Mapping[str, Any]) -> str:
    source = f", from {status['source']}" if status.get("source") else ""
    return clean_line(f"Already signed in to {place_of(status)}{_as_account(status)}{source}.")


def _as_account(status: Mapping[str, Any]) -> str:
    """Return the words " as ACCOUNT"; an empty text for an MCP server that does not name the account."""
    is_unnamed = not status.get("login") and str(status.get("provider", "")).startswith(MCP_PREFIX)
    return "" if is_unnamed else f" as {account_of(status)}"


def place_of(status: Mapping[str, Any]) -> str:
    """Return the host, or else the provider, of a sign-in."""
    return clean_line(str(status.get("host") or status.get("provider")))


def account_of(status: Mapping[str, Any]) -> str:
    """Return the name of the account that is signed in."""
    return clean_line(str(status.get("login") or "an account"))
