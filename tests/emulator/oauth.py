"""The web plane: the device flow, and the page on which the user approves a code.

Bodies may be JSON or forms. Without `Accept: application/json`, answers are forms. Errors have HTTP status
200.
"""

from __future__ import annotations

import html
import json
from typing import Any
from urllib.parse import parse_qs, urlencode

from jumpseat.testing.upstream import RecordedRequest, Reply
from tests.emulator.state import GITHUB, State

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Device activation (emulator)</title>
<body style="font-family: sans-serif; max-width: 30em; margin: 4em auto">
<h1>Device activation</h1>
<p>This is an emulator of GitHub. No account is needed.</p>
<p><strong>{message}</strong></p>
<form method="post" action="/login/device">
<p><label>Code <input name="user_code" value="{code}" placeholder="ABCD-1234" required autofocus></label></p>
<p><label>Account <select name="login">{logins}</select></label></p>
<p><button name="decision" value="approve">Authorize</button>
<button name="decision" value="deny">Cancel</button></p>
</form></body></html>
"""


def answer(state: State, request: RecordedRequest) -> Reply:
    """Return the answer of github.com."""
    match request.method, request.path:
        case "POST", "/login/device/code":
            return _start(state, request)
        case "POST", "/login/oauth/access_token":
            fields = _fields(request)
            wanted = (fields.get(name, "") for name in ("client_id", "device_code", "grant_type"))
            return _encode_as_asked(request, state.devices.poll(*wanted))
        case "GET", "/login/device":
            code = parse_qs(request.query).get("user_code", [""])[0]
            return _page(state, "Enter the code that your editor shows.", code)
        case "POST", "/login/device":
            return _decide(state, _fields(request))
    return Reply.raw(b"<!doctype html><title>Page not found</title>", 404, "text/html; charset=utf-8")


def _start(state: State, request: RecordedRequest) -> Reply:
    fields = _fields(request)
    client_id = fields.get("client_id", "")
    if client_id not in state.credentials.known_apps:
        return _encode_as_asked(request, {"error": "Not Found"}, 404)
    begun = state.devices.start(client_id, fields.get("scope", ""))
    if "device_code" in begun:
        begun["verification_uri"] = f"{state.origins[GITHUB]}/login/device"
    return _encode_as_asked(request, begun)


def _decide(state: State, fields: dict[str, str]) -> Reply:
    code, decision = fields.get("user_code", ""), fields.get("decision", "")
    if decision not in ("approve", "deny"):
        return _page(state, "Press one of the two buttons.", code, 400)
    try:
        if decision == "approve":
            state.devices.approve(code, state.accounts.find(fields.get("login", "")))
        else:
            state.devices.deny(code)
    except KeyError:
        return _page(state, "No device waits with this code, or there is no such account.", code, 404)
    done = "Your device is connected." if decision == "approve" else "Cancelled."
    return _page(state, f"{done} You can close this page.")


def _page(state: State, message: str, code: str = "", status: int = 200) -> Reply:
    logins = "".join(f"<option>{html.escape(login)}</option>" for login in state.accounts.logins())
    page = _PAGE.format(message=html.escape(message), code=html.escape(code), logins=logins)
    return Reply.raw(page.encode(), status, "text/html; charset=utf-8")


def _fields(request: RecordedRequest) -> dict[str, str]:
    if "json" in request.headers.get("content-type", ""):
        try:
            body = json.loads(request.body)
        except ValueError:
            return {}
        return {name: str(value) for name, value in body.items()} if isinstance(body, dict) else {}
    return {name: values[0] for name, values in parse_qs(request.body.decode("latin-1")).items()}


def _encode_as_asked(request: RecordedRequest, body: dict[str, Any], status: int = 200) -> Reply:
    if "application/json" in request.headers.get("accept", ""):
        return Reply.json(body, status)
    form = "application/x-www-form-urlencoded; charset=utf-8"
    return Reply.raw(urlencode(body).encode(), status, form)
