"""A tool server over streamable HTTP on a scripted upstream, and an authorization server for it.

It speaks the Model Context Protocol of 2025-06-18. The authorization server implements the parts of OAuth 2.1
that the specification of MCP requires (RFC 6749, 7591, 7636, 8414, 8707, 9728).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jumpseat.testing.upstream import FakeUpstream, Gate, RecordedRequest, Reply

PATH = "/mcp"
VERSION = "2025-06-18"

OnCall = Callable[[str, Mapping[str, Any], RecordedRequest], Any]
"""Called with a tool's name, its arguments and the request; returns the tool's result or a `Reply`."""


class McpEndpoint:
    """The tool server. `tools` and `on_call` may be replaced at any time."""

    def __init__(self, upstream: FakeUpstream, *, streams: bool = False) -> None:
        """
        Args:
            upstream: the server that receives the requests.
            streams: whether to answer with event streams.
        """
        self.upstream = upstream
        self.streams = streams
        self.tools: list[Any] = [
            {"name": name, "description": f"{name}s", "inputSchema": {"type": "object"}}
            for name in ("echo", "wait")
        ]
        self.on_call: OnCall = lambda name, arguments, request: text(json.dumps(arguments))
        self.valid_tokens: set[str] | None = None
        """The access tokens that are accepted; None if none is required."""

        self.metadata: dict[str, Any] | None = None
        """The protected-resource metadata; None if there is none."""

        self.sessions: set[str] = set()
        self._numbers = itertools.count(1)
        upstream.default(self.answer, PATH)
        upstream.default(self._describe, f"/.well-known/oauth-protected-resource{PATH}")
        upstream.default(Reply.json({}, 404), "/.well-known/oauth-protected-resource")

    @property
    def url(self) -> str:
        return f"{self.upstream.origin}{PATH}"

    @property
    def messages(self) -> list[Any]:
        """The messages that were posted, in order."""
        posted = [each for each in self.upstream.requests if each.path == PATH and each.method == "POST"]
        return [request.json for request in posted]

    @property
    def methods(self) -> list[str]:
        return [message["method"] for message in self.messages if "method" in message]

    def answer(self, request: RecordedRequest) -> Reply:
        """Answer a request to the endpoint."""
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.valid_tokens is not None and token not in self.valid_tokens:
            challenge = 'Bearer error="invalid_token"'
            if self.metadata is not None:
                where = f"{self.upstream.origin}/.well-known/oauth-protected-resource{PATH}"
                challenge = f'Bearer resource_metadata="{where}"'
            return Reply.json({"error": "unauthorized"}, 401, www_authenticate=challenge)
        if request.method != "POST":
            return Reply.raw(b"", 405)
        message = request.json
        if "id" not in message:
            return Reply.raw(b"", 202)
        if message["method"] != "initialize" and request.headers.get("mcp-session-id") not in self.sessions:
            return Reply.raw(b"", 404)
        return self._answer_message(message, request)

    def forget_sessions(self) -> None:
        """Answer requests of all sessions with 404 from now on, as after a restart."""
        self.sessions.clear()

    def _answer_message(self, message: Mapping[str, Any], request: RecordedRequest) -> Reply:
        params = message.get("params") or {}
        more = {}
        match message["method"]:
            case "initialize":
                more["mcp_session_id"] = f"session-{next(self._numbers)}"
                self.sessions.add(more["mcp_session_id"])
                server = {"name": "fake", "version": "1"}
                result: Any = {
                    "protocolVersion": VERSION,
                    "capabilities": {"tools": {}},
                    "serverInfo": server,
                }
            case "tools/list":
                result = {"tools": self.tools}
            case "tools/call":
                result = self.on_call(params["name"], params.get("arguments") or {}, request)
            case method:
                error = {"code": -32601, "message": f"Method {method} not found"}
                return Reply.json({"jsonrpc": "2.0", "id": message["id"], "error": error})
        if isinstance(result, Reply):
            return result
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return Reply.events([answer], **more) if self.streams else Reply.json(answer, **more)

    def _describe(self, request: RecordedRequest) -> Reply:
        return Reply.json({}, 404) if self.metadata is None else Reply.json(self.metadata)


def text(value: str) -> dict[str, Any]:
    """Return a result with one text."""
    return {"content": [{"type": "text", "text": value}]}


def hold(gate: Gate) -> Reply:
    """Return an answer that begins only when the gate is open."""
    return Reply(held=gate)


class AuthorizationServer:
    """An authorization server for one or more endpoints, on a separate upstream."""

    def __init__(self, upstream: FakeUpstream, endpoint: McpEndpoint) -> None:
        self.upstream = upstream
        self.endpoint = endpoint
        self.resources: list[str] = []
        self.tokens: set[str] = set()
        """The valid access tokens."""

        self.clients: dict[str, Any] = {}
        """The registrations by client id. Remove one to make the server forget it."""

        self.codes: dict[str, dict[str, str]] = {}
        self.refresh_tokens: set[str] = set()
        self.expires_in = 3600
        self.has_refresh_tokens = True
        self.overrides: dict[str, Any] = {}
        """Values that replace values of the metadata."""

        self._numbers = itertools.count(1)
        self.protect(endpoint)
        upstream.default(self._describe, "/.well-known/oauth-authorization-server")
        upstream.default(self._register, "/register")
        upstream.default(self._exchange, "/token")

    def protect(self, endpoint: McpEndpoint) -> None:
        """Make an endpoint require a token of this server."""
        endpoint.valid_tokens = self.tokens
        endpoint.metadata = {"resource": endpoint.url, "authorization_servers": [self.upstream.origin]}
        self.resources.append(endpoint.url)

    def approve(self, authorization_url: str) -> str:
        """Do what a person does in the browser; return the address to which the browser is redirected."""
        address, _, query = authorization_url.partition("?")
        assert address == f"{self.upstream.origin}/authorize"
        asked = dict(parse_qsl(query))
        assert asked["client_id"] in self.clients
        assert asked["redirect_uri"] in self.clients[asked["client_id"]]["redirect_uris"]
        assert asked["code_challenge_method"] == "S256"
        assert asked["resource"] in self.resources
        code = f"code-{next(self._numbers)}"
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def revoke(self) -> None:
        """Refuse all access tokens from now on."""
        self.tokens.clear()

    @property
    def registrations(self) -> int:
        """The number of requests for a registration."""
        return sum(request.path == "/register" for request in self.upstream.requests)

    @property
    def refreshes(self) -> int:
        """The number of requests to refresh a token."""
        return sum(b"grant_type=refresh_token" in request.body for request in self.upstream.requests)

    def _describe(self, request: RecordedRequest) -> Reply:
        origin = self.upstream.origin
        return Reply.json(
            {
                "issuer": origin,
                "authorization_endpoint": f"{origin}/authorize",
                "token_endpoint": f"{origin}/token",
                "registration_endpoint": f"{origin}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                **self.overrides,
            }
        )

    def _register(self, request: RecordedRequest) -> Reply:
        client_id = f"client-{next(self._numbers)}"
        self.clients[client_id] = request.json
        return Reply.json({**request.json, "client_id": client_id}, 201)

    def _exchange(self, request: RecordedRequest) -> Reply:
        asked = dict(parse_qsl(request.body.decode()))
        if asked["client_id"] not in self.clients:
            return Reply.json({"error": "invalid_client"}, 401)
        if asked["grant_type"] == "refresh_token":
            if asked["refresh_token"] not in self.refresh_tokens:
                return Reply.json({"error": "invalid_grant"}, 400)
        else:
            granted = self.codes.pop(asked["code"])
            digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == granted["code_challenge"]
            assert asked["redirect_uri"] == granted["redirect_uri"]
        number = next(self._numbers)
        token = f"access-token-{number}-of-the-test"
        self.tokens.add(token)
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": self.expires_in}
        if self.has_refresh_tokens:
            refresh = f"refresh-token-{number}-of-the-test"
            self.refresh_tokens.add(refresh)
            answer["refresh_token"] = refresh
        return Reply.json(answer)


async def visit(url: str) -> tuple[int, str]:
    """Open a page as a browser does; return the status and the text."""

    def get() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(get)
