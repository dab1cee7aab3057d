"""`python -m tests.emulator`: an emulated GitHub, to try Copilot's sign-in and chats without an account."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from tests.emulator.accounts import PLANS
from tests.emulator.emulator import CopilotEmulator, Seen
from tests.emulator.state import PLANES

_EXAMPLES = """\
examples:
  python -m tests.emulator
      ports 8460 and up; put the table that it prints into config.toml, then
      `jumpseat login copilot` and approve the code on the page that it names
  python -m tests.emulator --port 0 --plan business --account octocat
  python -m tests.emulator --token
      prints a token of the first account, to use as `github_token` without signing in

what the models say:
  "use the tool NAME with {json}"   calls it, if NAME is among the tools of the request
  "count to 100"                    a long answer; "repeat my first message", "repeat the system prompt"
  anything else                     is said back
"""


def main() -> None:
    """Run until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.emulator",
        description="Emulate GitHub's sign-in, its REST API and Copilot on 127.0.0.1.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=8460, help=f"the first of {len(PLANES)} ports; 0 for any")
    parser.add_argument("--account", action="append", help="a login; may be repeated (default: octocat)")
    parser.add_argument("--plan", choices=PLANS, default="individual", help="the plan of every account")
    parser.add_argument("--pace", type=float, default=0.02, help="seconds between events of an answer")
    parser.add_argument("--token", action="store_true", help="print a GitHub token of the first account")
    options = parser.parse_args()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_run(options))
    except OSError as error:
        parser.exit(1, f"{error.strerror or error}. Choose other ports with --port.\n")


async def _run(options: argparse.Namespace) -> None:
    async with CopilotEmulator(options.port, pace=options.pace, watch=_log) as emulator:
        logins = options.account or ["octocat"]
        for login in logins:
            emulator.add_account(login, options.plan)
        print(_instructions(emulator), flush=True)
        if options.token:
            print(f"A token of {logins[0]}: {emulator.issue_token(logins[0])}\n", flush=True)
        await asyncio.Event().wait()


def _instructions(emulator: CopilotEmulator) -> str:
    return f"""\
[providers.copilot]
kind = "copilot"
host = "github.com"
github_url = "{emulator.github_url}"
api_url = "{emulator.api_url}"
copilot_url = "{emulator.copilot_url}"

Approve codes at {emulator.github_url}/login/device
Press Ctrl-C to stop. Requests:
"""


def _log(seen: Seen) -> None:
    whose = f" as {seen.credential!r}" if seen.credential else ""
    print(f"{seen.status} {seen.plane:18} {seen.request.method} {seen.request.path}{whose}", flush=True)


if __name__ == "__main__":
    main()
