"""The contract, row by row: what the daemon promises, and where the promise is written.

Tests name the rows that they show with `@pytest.mark.requirement("id", …)`;
`tests/unit/test_requirements.py` checks both ways that no row is without a test and no test without its
row. A row that cannot be shown yet says why in `deferred`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.dialect_rows import anthropic_messages, chat_completions, ollama_chat, responses


@dataclass(frozen=True)
class Requirement:
    """One row."""

    behaviour: str
    source: str
    deferred: str | None = None


_ROWS: dict[str, str | tuple[str, str]] = {
    # Section 1: transport and lifecycle.
    "1:frames": "Content-Length frames in UTF-8; header names are case-insensitive",
    "1:charset": "utf8 and utf-8 are both accepted, another charset is refused",
    "1:frame-limit": "a frame of more than 64 MiB is refused and the next request is served",
    "1:resync": "after any malformed frame the next good request is served",
    "1:batch": "batches are answered as JSON-RPC 2.0 says",
    "1:stdout-is-frames": "stdout carries frames and nothing else; logs go to stderr or a file",
    "1:flags": "--config, --log-level, --log-file, --clientProcessId and --client-process-id, --stdio",
    "1:before-initialize": "a request before initialize gets -32002, a notification is dropped",
    "1:after-shutdown": "a request after shutdown gets -32600",
    "1:shutdown-cancels": "shutdown cancels turns, whose responses come before its own",
    "1:exit-code": "exit code 0 after shutdown, else 1, stdin closing included",
    "1:stdin-eof": "the daemon exits when stdin closes",
    "1:parent-gone": "the daemon exits when the process named by processId is gone",
    "1:signals": "SIGTERM ends the daemon within a second, its upstream connections closed",
    "1:initialize-result": "serverInfo and capabilities.experimental.jumpseat, exactly",
    "1:protocol-versions": "a client that does not speak version 1 is refused",
    "1:coalesce": "coalesceMs asks for at most one delta of text in that time",
    "1:parse-error": "malformed JSON in a well-formed frame is -32700 with id null",
    "1:invalid-request": "what is not a request object is -32600",
    "1:unknown-method": "an unknown method is -32601",
    "1:invalid-params": "bad params are -32602 with data.errors of path and message",
    "1:duplicate-id": "a request that reuses the id of one in flight is -32600",
    "1:unknown-keys": "unknown keys in params are ignored, unknown discriminators are -32602",
    "1:absent-null-empty": "absent, null and, for objects, empty mean the same in params",
    "1:slow-reader": "a client that stops reading blocks nobody, loses nothing and pauses its upstream",
    # Section 2: chat.
    "2:start-first": "start comes first, before any network",
    "2:laws": "seq rises by one; start < deltas < done per block; deltas concatenated equal the done block",
    "2:done-last": "done is last, then the response, exactly once",
    "2:same-content": "deltas folded and the response give the same content",
    "2:stream-false": "stream false: no chat/delta, only the response",
    "2:result": "the result's keys; content is always an array, text the convenience string",
    "2:no-delta-when-invalid": "params that do not validate produce no delta",
    "2:tools": "tool definitions, tool choice, calls with raw, results",
    "2:broken-arguments": "broken tool JSON has arguments null and an error; none at all is {}",
    "2:thinking": "thinking streams as blocks of its own",
    "2:usage": "usage is a cumulative snapshot, inclusive of cache and reasoning",
    "2:stop-reasons": "stopReason of the contract with rawStopReason kept",
    "2:turn-id": "turnId is the client's or minted, unique among turns in flight",
    "2:cancel-request": "$/cancelRequest: upstream aborted, done cancelled, -32800 with data.partial",
    "2:chat-cancel": "chat/cancel by turnId answers whether it cancelled",
    "2:cancel-before-start": "a cancel that arrives before start produces no delta",
    "2:cancel-unknown": "a cancel for something unknown or finished is ignored",
    "2:partial-replayable": "partial content has no unsigned thinking and no unfinished tool call",
    "2:retry": "retry only before the first output, with attempt, maxAttempts, delayMs and error",
    "2:error-in-mid-stream": "an error in mid-stream keeps data.partial and ends with done error",
    "2:tool-use-without-result": "a tool_use without its result gets an error result with a warning",
    "2:result-without-tool-use": "a tool result without its call is -32602",
    "2:foreign-opaque": "opaque data of another provider or model is dropped with a warning",
    "2:degradation": "tools or images a model is known not to take are 1004; others drop with a warning",
    "2:max-tokens": "maxTokens defaults to 8192",
    "2:settings": "a setting that breaks its row, or an unknown one, is -32602 naming key and rule",
    "2:context-block": "a context block becomes fenced text that cannot be broken out of",
    "2:progress": "waits that are not the model's are reported on the client's workDoneToken",
    "2:edit-start": ("edit/start rewrites a piece of text in place", "not built yet"),
    "2:block-memory": ("recent blocks are remembered for thin clients", "not built yet"),
    # Section 3: models.
    "3:models-list": "models of all providers; one that fails hides no other",
    "3:model-info": "unknown limits are absent, never guessed",
    "3:set-policy": ("models/setPolicy accepts terms at a client's request", "needs a provider with terms"),
    "3:did-change": ("models/didChange is notified", "lists change only when asked for yet"),
    # Section 4: names.
    "4:provider-prefix": "provider:model where the prefix is a configured provider's id, else a bare name",
    "4:bare-name": "a bare name goes to the default provider, else to the only one that lists it",
    "4:default-model": "an absent model is config default_model, else the default provider's own default",
    "4:default-provider": "config default_provider, else the only configured provider, else local",
    "4:not-ready": "without a usable default the error is 1000 with a hint",
    "4:upstream-spellings": ("upstream spellings of names resolve", "needs facts about models"),
    "4:saved-default": ("the choice of a default is saved", "saved settings are not built yet"),
    # Section 5: providers and settings.
    "5:providers-list": "id, name, kind, isDefault, configured, auth, capabilities, sources, settingsSchema",
    "5:settings": ("settings/get and settings/save", "not built yet"),
    "5:count-tokens": ("chat/countTokens", "not built yet"),
    "5:transcript": ("transcript/parse and transcript/render", "not built yet"),
    # Section 6: errors.
    "6:data": "error.data has kind, retryable and what else is known",
    "6:every-error-has-a-code": "every class of the error tree has its code",
    "6:authentication": "401 is 1000",
    "6:authorization": "403 is 1001",
    "6:rate-limit": "429 is 1002 with retryAfter; beyond 60 s it is reported, not slept",
    "6:quota": "402 and insufficient_quota are 1003, never retried",
    "6:request": "an unknown model is 1004 naming it and the provider",
    "6:context-exceeded": "a prompt that is too long is 1005",
    "6:content-filter": "a blocked prompt is 1006",
    "6:server": "5xx is 1007",
    "6:connection": "an unreachable base URL is 1008 naming the host",
    "6:protocol": "an answer that ends early is 1009 with the partial",
    "6:config": "a wrong configuration is 1010 naming the key",
    "6:internal": "a defect is -32603 without its text or traceback",
    "6:no-secrets": "no secret reaches the wire, the logs or a repr",
    # Section 7: configuration.
    "7:file": "--config, else $JUMPSEAT_CONFIG, else config.toml of JUMPSEAT_HOME; a missing one is fine",
    "7:unknown-keys": "unknown keys are warned about with their path",
    "7:env-source": "api_key = env:NAME; unresolved is 1010 naming provider, key and source",
    "7:trust": "an overlay may add providers of literal values and choose defaults, nothing else",
    "7:host": "a credential is sent only to the host it was configured with; redirects are not followed",
    "7:other-sources": (
        "cmd:, file:, keyring:, python:, schema:, a variable's bare name, and ${name}",
        "not built yet; the prefixes are refused with a sentence",
    ),
    # Section 8: authentication.
    "8:auth-status": "AuthStatus of a provider, of the default one if none is named",
    "8:sign-in": ("auth/signIn, auth/signOut, auth/didChange", "no provider signs in yet"),
}

_DIALECTS = {
    "chat": chat_completions.ROWS,
    "responses": responses.ROWS,
    "messages": anthropic_messages.ROWS,
    "ollama": ollama_chat.ROWS,
}


def _requirements() -> dict[str, Requirement]:
    sourced = [(key, row, f"protocol page, section {key[0]}") for key, row in _ROWS.items()]
    for dialect, rows in _DIALECTS.items():
        sourced += [(f"{dialect}:{key}", row, f"the {dialect} dialect") for key, row in rows.items()]
    return {
        key: Requirement(row, source)
        if isinstance(row, str)
        else Requirement(row[0], source, deferred=row[1])
        for key, row, source in sourced
    }


REQUIREMENTS = _requirements()
