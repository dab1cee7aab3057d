"""Methods for the requests that have a single response and no stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

TranscriptFormat: TypeAlias = Literal["markdown", "org"]


class Requests(ABC):
    """The methods that send one request each; `Client` implements `request`."""

    @abstractmethod
    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | Literal["default"] | None = "default",
    ) -> Any:
        """Send any request and return its result."""

    async def parse_transcript(
        self,
        text: str,
        *,
        format: TranscriptFormat = "markdown",  # noqa: A002 - the protocol's name
        line: int | None = None,
    ) -> dict[str, Any]:
        """Parse a conversation written as Markdown or Org.

        In Org, `line` chooses a branch. Lines are counted from 0; the default is the last line.

        The result is `{"messages", "system"?, "model"?, "settings"?, "conversationId"?, "turns", "branch"?}`.
        """
        params = {"text": text, "format": format, "line": line}
        return dict(await self.request("transcript/parse", params))

    async def check_transcript(
        self,
        text: str,
        *,
        format: TranscriptFormat = "markdown",  # noqa: A002 - the protocol's name
        line: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the problems that a chat would report in a transcript, as LSP diagnostics.

        Each diagnostic is `{"range", "severity": 1 | 2, "message", "code"}`. The severity 1 is an error, 2 a
        warning.

        In Org, `line` chooses a branch, as for `parse_transcript`.
        """
        params = {"text": text, "format": format, "line": line}
        return list((await self.request("transcript/check", params))["diagnostics"])

    async def render_transcript(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        system: str | None = None,
        model: str | None = None,
        settings: Mapping[str, Any] | None = None,
        conversation_id: str | None = None,
        format: TranscriptFormat = "markdown",  # noqa: A002 - the protocol's name
        level: int = 1,
    ) -> str:
        """Render a conversation as text, which people can edit and `parse_transcript` can read.

        In Org, `level` is the number of stars in the headings.
        """
        params = {
            "messages": list(messages),
            "system": system,
            "model": model,
            "settings": settings,
            "conversationId": conversation_id,
            "format": format,
            "level": level,
        }
        return str((await self.request("transcript/render", params))["text"])

    async def complete(
        self,
        prefix: str,
        suffix: str = "",
        *,
        model: str | None = None,
        extent: Literal["line", "block"] | None = None,
        max_tokens: int | None = None,
        stop_sequences: Sequence[str] | None = None,
        language_id: str | None = None,
        uri: str | None = None,
    ) -> dict[str, Any]:
        """Return the text that a model fills in between two texts: `{"text", "stopReason", …}`.

        Cancelling the task cancels the request.

        Args:
            prefix: the text before the cursor.
            suffix: the text after the cursor.
            model: a model that can fill in text (`supportsInfill`).
            extent: "line" for the rest of a line; "block", the default, for several lines.
            language_id: the language of the text, as in LSP.
            uri: the URI of the document.
            max_tokens, stop_sequences: see `docs/protocol/completions.md`.

        Raises:
            RequestFailed: the model cannot fill in text (1004), or failed as in a chat.
        """
        params = {
            "prefix": prefix,
            "suffix": suffix,
            "model": model,
            "extent": extent,
            "maxTokens": max_tokens,
            "stopSequences": stop_sequences,
            "languageId": language_id,
            "uri": uri,
        }
        return dict(await self.request("complete/start", params))

    async def count_tokens(
        self,
        /,
        messages: str | Sequence[Mapping[str, Any]],
        *,
        model: str | None = None,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        workspace_rules: bool = False,
        allow_estimate: bool = True,
        **more: Any,
    ) -> dict[str, Any]:
        """Count a chat's tokens: `{"tokens": int, "method": "provider" | "estimate" | "unsupported"}`.

        Args:
            messages, model, system, tools, workspace_rules: as for `chat`.
            allow_estimate: whether to estimate if the provider cannot count. Without a count or an estimate,
                `tokens` is -1.
            more: any other param of `chat/start`, under its wire name.
        """
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        params: dict[str, Any] = {
            "messages": list(messages),
            "model": model,
            "system": system,
            "tools": tools,
            "workspaceRules": workspace_rules or None,
            "allowEstimate": allow_estimate,
            **more,
        }
        params = {key: value for key, value in params.items() if value is not None}
        return dict(await self.request("chat/countTokens", params))

    async def list_models(self, *, provider: str | None = None, refresh: bool = False) -> dict[str, Any]:
        """Return `{"models": [...], "errors": [...]}`; see `docs/protocol/models.md`."""
        params: dict[str, Any] = {"refresh": refresh}
        if provider is not None:
            params["provider"] = provider
        return dict(await self.request("models/list", params))

    async def list_providers(self, *, probe: bool = False) -> list[dict[str, Any]]:
        """Return every configured or built-in provider with its capabilities and authentication state."""
        return list((await self.request("providers/list", {"probe": probe})).get("providers", []))

    async def diagnose(self, provider: str) -> list[dict[str, Any]]:
        """Check each part of a provider: `[{"name", "ok", "message", "hint"?, "durationMs"?}]`."""
        return list((await self.request("providers/diagnose", {"provider": provider}))["checks"])

    async def auth_status(self, *, provider: str | None = None, refresh: bool = False) -> dict[str, Any]:
        """Return the authentication state of a provider, or of the default provider if `provider` is None."""
        params: dict[str, Any] = {"refresh": refresh}
        if provider is not None:
            params["provider"] = provider
        return dict(await self.request("auth/status", params))

    async def sign_in(self, *, provider: str | None = None, open_browser: bool = False) -> dict[str, Any]:
        """Wait until the user has signed in, and return the authentication state.

        The notification `auth/prompt` contains a code, and the address of the page where the user enters it.
        This notification and the request `window/showDocument` go to the callbacks passed to `spawn`.

        Args:
            provider: None for GitHub Copilot.
            open_browser: whether the daemon sends `window/showDocument` with the page's address.

        Raises:
            RequestFailed: the user refused, the code expired, or the provider has no sign-in.
        """
        params: dict[str, Any] = {"openBrowser": open_browser}
        if provider is not None:
            params["provider"] = provider
        # The daemon ends the request when the code expires.
        return dict(await self.request("auth/signIn", params, timeout=None))

    async def sign_out(self, *, provider: str | None = None) -> dict[str, Any]:
        """Delete the credential that a sign-in stored, and return the authentication state."""
        params = {} if provider is None else {"provider": provider}
        return dict(await self.request("auth/signOut", params))

    async def settings_schema(self, model: str | None = None) -> list[dict[str, Any]]:
        """Return the settings that a chat with this model accepts, in the order for a form."""
        params = {} if model is None else {"model": model}
        return list((await self.request("settings/schema", params))["settingsSchema"])

    async def settings(self) -> dict[str, Any]:
        """Return the saved settings.

        The result is `{"default_provider"?, "default_model"?, "max_tokens"?, "providers"}`. The value of
        `providers` contains the settings of each provider.
        """
        return dict((await self.request("settings/get"))["settings"])

    async def save_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Merge `settings` deeply into the saved settings and return the result; None deletes a value.

        After a change the daemon sends `settings/didChange` to this client and to all others.

        Raises:
            RequestFailed: a value is invalid (-32602), or the file cannot be written (1010).
        """
        return dict((await self.request("settings/save", {"settings": settings}))["settings"])

    async def set_key(self, provider: str, key: str, *, test: bool = True) -> dict[str, Any]:
        """Store a provider's API key as `jumpseat keys set` does.

        The result is `{"stored"?: "keyring" | "file", "test"?: {"ok", "error"?}}`. If the provider refuses
        the key, `error` has the `code` 1000, and the key is not stored. After any other failure of the test,
        the key is stored.

        Args:
            provider: a provider in the configuration file, or a well-known service, whose table is added if
                it is missing.
            test: whether to request the provider's list of models with the key first.

        Raises:
            RequestFailed: there is no such provider (1004); the provider does not use keys, or already has a
                key that jumpseat has not stored (1010); or the text cannot be a key (-32602).
        """
        return dict(await self.request("keys/set", {"provider": provider, "key": key, "test": test}))

    async def remove_key(self, provider: str) -> bool:
        """Delete a provider's stored key; return False if jumpseat has not stored one."""
        return bool((await self.request("keys/remove", {"provider": provider}))["removed"])

    async def fetch_context(self, url: str) -> dict[str, Any]:
        """Return the text of a page or file on the web as a context block, for a user message.

        Raises:
            RequestFailed: the address is not allowed, or does not lead to text (1004); or the page cannot be
                reached within 10 seconds (1008).
        """
        return dict((await self.request("context/fetch", {"url": url}))["context"])

    async def list_tools(self, *, refresh: bool = False) -> dict[str, Any]:
        """Return the tools that the daemon runs: `{"tools": [...], "servers": [...]}`.

        Args:
            refresh: whether to start stopped servers; otherwise their last known tools are listed.
        """
        return dict(await self.request("tools/list", {"refresh": refresh}))

    async def restart_mcp_server(self, server: str) -> dict[str, Any]:
        """Start an MCP server again, or for the first time, and return its row as in `list_tools`."""
        return dict(await self.request("mcp/restart", {"server": server}))

    async def trust_mcp_server(
        self, server: str, fingerprint: str, *, trusted: bool = True
    ) -> dict[str, Any]:
        """Trust an MCP server that a workspace defines, or withdraw the trust; return the server's row.

        Args:
            server: the server's name.
            fingerprint: the fingerprint in the row that the user has seen.
            trusted: False to withdraw the trust.
        """
        params = {"server": server, "fingerprint": fingerprint, "trusted": trusted}
        return dict(await self.request("mcp/trust", params))

    async def list_prompts(self) -> list[dict[str, Any]]:
        """Return the prompts, sorted by name.

        Each prompt is `{"name", "builtin"?, "description"?, "model"?, "usesInput", "takesDiff"}`.
        """
        return list((await self.request("prompts/list"))["prompts"])

    async def get_prompt(
        self,
        name: str,
        input_text: str = "",
        *,
        context: Sequence[Mapping[str, Any]] = (),
        model: str | None = None,
        default_model: str | None = None,
    ) -> dict[str, Any]:
        """Insert the input into a prompt: `{"name", "builtin"?, "text", "system"?, "model"?, "settings"?}`.

        If the prompt takes a diff that is too long for the model, the result also has `leftOut` or `cutOff`,
        and `warnings`.

        Args:
            name: the prompt's name.
            input_text: the input.
            context: the context blocks of the question. The result's `context` replaces them.
            model: the model of the question; it overrides the prompt's model.
            default_model: the model to use if the prompt does not name one; None for the daemon's default.

        Raises:
            RequestFailed: there is no prompt with this name (1004).
        """
        params: dict[str, Any] = {"name": name, "input": input_text}
        if context:
            params["context"] = list(context)
        models = {"model": model, "defaultModel": default_model}
        params |= {key: value for key, value in models.items() if value is not None}
        return dict(await self.request("prompts/get", params))

    async def list_conversations(
        self,
        *,
        cwd: str | None = None,
        query: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Return kept conversations, most recently changed first: `{"conversations": [...], "nextCursor"?}`.

        Args:
            cwd: only conversations from this directory and those below it.
            query: only conversations that contain all these words.
            limit: the size of a page, up to 200.
            cursor: `nextCursor` of the previous page.
        """
        params = {"cwd": cwd, "query": query, "limit": limit, "cursor": cursor}
        return dict(await self.request("conversations/list", params))

    async def get_conversation(self, conversation_id: str) -> dict[str, Any]:
        """Return a kept conversation: its row, `messages`, and `system` and `settings` as last sent.

        Raises:
            RequestFailed: there is no conversation with this id (1004). `fork_conversation` and
                `rename_conversation` raise this error too.
        """
        return dict(await self.request("conversations/get", {"id": conversation_id}))

    async def fork_conversation(self, conversation_id: str, *, messages: int | None = None) -> dict[str, Any]:
        """Copy a kept conversation, or its first messages, and return the copy's row."""
        params = {"id": conversation_id, "messages": messages}
        return dict(await self.request("conversations/fork", params))

    async def rename_conversation(self, conversation_id: str, title: str) -> dict[str, Any]:
        """Rename a kept conversation and return its row."""
        return dict(await self.request("conversations/rename", {"id": conversation_id, "title": title}))

    async def suggest_title(self, conversation_id: str, *, model: str | None = None) -> str:
        """Ask a model for a title, of at most eight words, for a kept conversation; nothing is renamed.

        Args:
            model: None for the model of the conversation's last turn.

        Raises:
            RequestFailed: there is no such conversation (1004); or the model suggested no title (1009), or
                failed as in a chat.
        """
        params = {"id": conversation_id, "model": model}
        return str((await self.request("conversations/suggestTitle", params))["title"])

    async def delete_conversation(self, conversation_id: str) -> bool:
        """Delete a kept conversation; return False if it does not exist."""
        return bool((await self.request("conversations/delete", {"id": conversation_id}))["deleted"])
