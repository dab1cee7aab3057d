"""The promises of the contract, one per row, and where each is written.

Tests name the rows that they show with `@pytest.mark.requirement("id", …)`.
`tests/unit/test_requirements.py` checks that every row has a test and every named row exists. A row
that has no test yet says why in `deferred`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules

from tests import dialect_rows


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
    "1:batch": "batches are answered as JSON-RPC 2.0 requires",
    "1:stdout-is-frames": "stdout has frames only; logs go to stderr or a file",
    "1:flags": "--config, --log-level, --log-file, --clientProcessId and --client-process-id, --stdio",
    "1:before-initialize": "a request before initialize gets -32002, a notification is dropped",
    "1:after-shutdown": "a request after shutdown gets -32600",
    "1:shutdown-cancels": "shutdown cancels turns, whose responses come before its own",
    "1:exit-code": "exit code 0 after shutdown, else 1, also when stdin closes",
    "1:stdin-eof": "the daemon exits when stdin closes",
    "1:parent-gone": "the daemon exits when the process of processId no longer exists",
    "1:signals": "SIGTERM ends the daemon within a second, its upstream connections closed",
    "1:initialize-result": "serverInfo and capabilities.experimental.jumpseat, exactly",
    "1:protocol-versions": "a client that does not speak version 1 is refused",
    "1:coalesce": "coalesceMs asks for at most one delta of text in that time",
    "1:parse-error": "malformed JSON in a well-formed frame is -32700 with id null",
    "1:invalid-request": "a message that is no request object is -32600",
    "1:unknown-method": "an unknown method is -32601",
    "1:invalid-params": "bad params are -32602 with data.errors of path and message",
    "1:duplicate-id": "an id that is already in flight is -32600",
    "1:unknown-keys": "unknown keys in params are ignored, unknown discriminators are -32602",
    "1:absent-null-empty": "absent, null and, for objects, empty mean the same in params",
    "1:limits": "a message beyond a limit of depth or size is refused under its own id, at low cost",
    "1:order": "messages take effect in the order of their arrival, changed configurations included",
    "1:slow-reader": "a client that stops reading blocks no other, loses nothing and pauses its upstream",
    # Section 2: chat.
    "2:exchange": "the exchange at the start of the page: exactly these frames, in this order",
    "2:start-first": "start comes first, before any network",
    "2:laws": "seq rises by one; start < deltas < done per block; deltas concatenated equal the done block",
    "2:done-last": "done is last, then the response, exactly once",
    "2:same-content": "deltas folded and the response give the same content",
    "2:stream-false": "stream false: no chat/delta, only the response",
    "2:result": "the result's keys; content is always an array, text the convenience string",
    "2:no-delta-when-invalid": "params that do not validate produce no delta",
    "2:tools": "tool definitions, tool choice, calls with raw, results",
    "2:broken-arguments": "broken tool JSON has arguments null and an error; absent arguments are {}",
    "2:call-ids-unique": "ids of calls are unique within a content; the provider gets back what it sent",
    "2:split-characters": "a character split into two escapes is joined, in text, thinking and arguments",
    "2:nameless-call": "a call without a name is dropped with a warning, the text is kept",
    "2:taken-back": "the daemon accepts every content that it sent",
    "2:thinking": "thinking streams as blocks of its own",
    "2:usage": "usage is a cumulative snapshot, inclusive of cache and reasoning; absent if unreported",
    "2:warnings": "the result has the warnings, also without streaming; absent if there were none",
    "2:waiting-for-room": "a chat that waits because too many are running gets a warning",
    "2:conversation-id": "with keep, conversationId is 1 to 128 of [A-Za-z0-9._-], else -32602",
    "2:stop-reasons": "stopReason of the contract with rawStopReason kept",
    "2:stop-reason-unknown": "an unknown stop reason is end_turn with a warning, and no edit's replacement",
    "2:stop-reason-twice": "of two stop reasons the one that reports a cut-off answer is used",
    "2:turn-id": "turnId is the client's or generated, unique among turns in flight",
    "2:cancel-request": "$/cancelRequest: upstream aborted, done cancelled, -32800 with data.partial",
    "2:chat-cancel": "chat/cancel by turnId answers whether it cancelled",
    "2:cancel-before-start": "a cancel that arrives before start produces no delta",
    "2:cancel-unknown": "a cancel for something unknown or finished is ignored",
    "2:partial-replayable": "partial content has no unsigned thinking and no unfinished tool call",
    "2:retry": "retry only before the first output, with attempt, maxAttempts, delayMs and error",
    "2:error-in-mid-stream": "an error in mid-stream keeps data.partial and ends with done error",
    "2:tool-use-without-result": "a tool_use without its result gets an error result with a warning",
    "2:result-without-tool-use": "a tool result without its call is -32602",
    "2:orphans": "every call has one result, directly after its message, wherever the client put it",
    "2:order": "every conversation is sent in an order that its provider accepts",
    "2:empty-messages": "an empty message is left out, a user's with a warning; nothing is lost silently",
    "2:opening": "the user comes first where the provider requires it",
    "2:wrong-role": "a block in a message of the wrong role is -32602 at its path",
    "2:foreign-opaque": "opaque data of another provider or model is dropped with a warning",
    "2:degradation": "tools or images a model is known not to take are 1004; others drop with a warning",
    "2:max-tokens": "maxTokens defaults to 8192",
    "2:settings": "a setting that breaks its row, or an unknown one, is -32602 naming key and rule",
    "2:context-block": "a context block becomes text in a fence that it cannot close",
    "2:progress": "waits for anything but the answer are reported on the client's workDoneToken",
    "2:edit-start": "edit/start takes a target and an instruction, and streams and cancels like a chat",
    "2:edit-replacement": "replacement is the new text without fences and chatter, however it was split",
    "2:edit-nothing-to-apply": "an edit that was cut off, or has no text, has no replacement",
    "2:block-memory": "blocks that a client of text and tool parts only drops are restored byte for byte",
    "2:block-memory-edited": "edited answers get nothing; white space, splits and JSON format are no edits",
    "2:block-memory-place": "an answer is recognised by text and place; a short text elsewhere is another",
    "2:block-memory-owner": "data goes back to the provider and model that made it, and to no other",
    "2:block-memory-bounds": "the memory belongs to one connection, is bounded, and is never written out",
    "2:refused-once": "reasoning that its own provider refuses is refused once, not once a turn",
    # Section 3: models.
    "3:models-list": "models of all providers; one that fails hides no other",
    "3:model-info": "unknown limits are absent, never guessed",
    "3:set-policy": "models/setPolicy accepts terms at a client's request, and checks that it took effect",
    "3:did-change": "models/didChange and providers/didChange are notified when something changed",
    "3:model-facts": "facts come from the provider, else the user, else a snapshot of the vendor's models",
    # Section 4: names.
    "4:provider-prefix": "provider:model where the prefix is a configured provider's id, else a bare name",
    "4:mistyped-prefix": "a prefix that is a kind, a vendor or nearly an id is 1004 with the nearest names",
    "4:nearest-names": "the error of an unknown model, kind, provider, key or setting has the nearest name",
    "4:bare-name": "a bare name goes to the default provider, else to the only one that lists it",
    "4:default-model": "an absent model is config default_model, else the default provider's own default",
    "4:saved-default-model": "between the two: the saved default_model, if its provider still exists",
    "4:default-provider": "config default_provider, else Copilot if signed in, else the only one, else local",
    "4:general-sign-in": "a sign-in that was not made for Copilot comes last, and is not checked before",
    "4:not-ready": "without a usable default the error is 1000 with a hint",
    "4:upstream-spellings": "another spelling resolves to the listed name; an ambiguous one is 1004",
    "4:saved-default": "the first choice of a default is made once and saved",
    "4:saved-default-gone": "a saved default of a removed provider is skipped; a person's is never replaced",
    "4:configured-default": "default_provider of the configuration takes precedence over a saved one",
    "4:overlay-default": "a choice that depends on a client's own providers is not saved",
    "4:sign-in-default": "signing in makes that provider the default unless config says otherwise",
    # Section 5: providers and settings.
    "5:providers-list": "id, name, kind, isDefault, configured, auth, capabilities, sources, settingsSchema",
    "5:probe": "with probe, providers are requested in parallel, within 5 s; failures are reported",
    "5:settings-schema": "rows of each kind, under the configuration's; mapping says where a value goes",
    "5:settings": "settings/get shows what is saved; settings/save persists and answers the merged whole",
    "5:settings-merge": "settings/save merges deeply, null deletes, an empty object changes nothing",
    "5:settings-rules": "a saved value that breaks its rule is -32602 naming key and rule",
    "5:settings-kept": "saved values are kept and may be sent again, keys of newer versions included",
    "5:settings-did-change": "settings/didChange once for each change, also one made by another process",
    "5:settings-two-processes": "concurrent saves of daemons lose nothing, a killed one leaves a whole file",
    "5:settings-broken-file": "a broken file of settings is set aside, logged, and stops nothing",
    "5:settings-precedence": "a chat's values override the configuration's, and those the saved ones",
    "5:count-tokens": "chat/countTokens counts what a chat would send, by the provider where it counts",
    "5:estimate-tokens": "without a provider's count the daemon estimates, better after a reported number",
    "5:transcript": "transcript/parse and transcript/render, the one Markdown form of a conversation",
    "5:transcript-round-trip": "parse(render(x)) is x: text, tools and order, headings inside messages too",
    "5:transcript-by-hand": "hand-written and unfinished text is read by stated rules",
    "5:transcript-front-matter": "model, system and settings with their types; a fault names its line",
    "5:transcript-roles": "headings have the names of the provider's roles, next to the standard ones",
    "5:transcript-opaque": "opaque data of an unedited answer is restored, that of an edited one dropped",
    # Section 6: errors.
    "6:data": "error.data has kind, retryable and what else is known",
    "6:every-error-has-a-code": "every class of the error tree has its code",
    "6:authentication": "401 is 1000",
    "6:authorization": "403 is 1001",
    "6:rate-limit": "429 is 1002 with retryAfter; beyond 60 s it is reported, not slept",
    "6:quota": "402 and insufficient_quota are 1003, never retried",
    "6:request": "an unknown model is 1004 naming it and the provider",
    "6:context-exceeded": "a prompt that is too long is 1005",
    "6:too-long-before-sending": "an exact count over the limit, or an estimate over twice it, is 1005",
    "6:content-filter": "a blocked prompt is 1006",
    "6:server": "5xx is 1007",
    "6:connection": "an unreachable base URL is 1008 naming the host",
    "6:protocol": "an answer that ends early is 1009 with the partial",
    "6:bounds": "an answer above 64 MiB, or 16 MiB without output, is 1009 with the partial",
    "6:bounds-packed": "compressed answers have the same bounds, and none keeps other requests waiting",
    "6:config": "a wrong configuration is 1010 naming the key",
    "6:internal": "a defect is -32603 without its text or traceback",
    "6:no-secrets": "no secret reaches the wire or an error",
    "6:no-secrets-in-logs": "no secret reaches a log: message, arguments, traceback, the HTTP library",
    "6:no-secrets-in-reprs": "a secret hides itself in a repr, a pickle and a dump",
    # Section 7: configuration.
    "7:file": "--config, else $JUMPSEAT_CONFIG, else config.toml of JUMPSEAT_HOME; a missing one is fine",
    "7:unknown-keys": "unknown keys are warned about with path and line, and the nearest known key",
    "7:own-keys": "each kind has keys of its own; a wrong one faults its table, another kind's is unknown",
    "7:recipes": "every table of docs/recipes.md makes a provider and sends what the page promises",
    "7:reread": "a changed file or overlay is reread; turns go on, a broken one changes nothing",
    "7:file-errors": "all faults of a file at once: line, key, rule; a wrong table affects only its provider",
    "7:hostile-files": "a pipe, a device, a huge file, deep nesting, a wrong port are faults; nothing hangs",
    "7:env-source": "api_key = env:NAME; unresolved is 1010 naming provider, key and source",
    "7:cmd-source": "cmd: is split like in a shell, run without one, bounded, ended with its children",
    "7:file-source": "file: is relative to the configuration, bounded, without its last line end",
    "7:keyring-source": "keyring:service/user; without the package 1010 with the line that installs it",
    "7:python-source": "python:module:function is called on a thread; of its exception only the class",
    "7:schema-source": "schema: is a path of the provider's own table as the file has it",
    "7:bare-names": "a value that is the exact name of a set variable is its value, except in an overlay",
    "7:resolved-once": "a slow source is read at first use, once for all chats; a failure is not kept",
    "7:expired-credential": "a refused value is read again once per turn; another one is tried",
    "7:templates": "${name} is env.name, a key of the table, or the model; one without a value is 1010",
    "7:templates-in-urls": "a value in a URL is encoded for its place, and its secret is hidden",
    "7:url": "url is the whole address of a chat; a table with it alone has the models that it names",
    "7:query": "query is merged over that of every request, and its secrets reach only the provider",
    "7:roles": "roles.wire, or names that look like a server's, are the roles of chat completions",
    "7:proxy": "proxy of a table, with or without scheme and password; none; never for loopback",
    "7:proxy-environment": "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY in either case, with or without a scheme",
    "7:no-proxy": "NO_PROXY excludes names with subdomains, addresses, networks and ports",
    "7:proxy-secret": "a proxy's password and a provider's credential reach only their own host, and no log",
    "7:proxy-errors": "a proxy that fails or refuses is named, 1008; a refusal is not tried again",
    "7:tls": "the system's store and ca_file, client_cert; a broken file is 1010 naming its key",
    "7:tls-errors": "an untrusted certificate is 1008 with its reason and a hint; verification stays on",
    "7:timeouts": "connect_timeout bounds the connection, also through a proxy; timeout bounds silence",
    "7:network-shared": "providers whose networks are equal share their connections",
    "7:reuse": "successive chats share a connection; done does not wait for bytes after the end mark",
    "7:network-trust": "an overlay may name no ca_file, no client_cert, no proxy for a user's sign-in",
    "7:trust": "an overlay may add providers of literal values and choose defaults, nothing else",
    "7:trust-sources": "an overlay reads no variable or file, and changes nothing that a source reads",
    "7:trust-plugins": "an overlay may choose a plug-in's kind but not set its own keys",
    "7:plugins": "kinds come from the entry points jumpseat.adapters; a broken one is 1010 for itself alone",
    "7:plugin-hooks": "the hooks of a request run in order, once per attempt; teardown always runs",
    "7:host": "a credential is sent only to the host it was configured with; redirects are not followed",
    # Section 8: authentication.
    "8:auth-status": "AuthStatus of the named provider, else of the default one",
    "8:hosts": "github.com, a tenant of ghe.com or a server has its three planes, each of which can be moved",
    "8:credential-host": "a credential goes to its own GitHub only, even if an answer or a table has another",
    "8:device-flow": "every answer of the device flow is handled, at the interval of the server",
    "8:verification-page": "a sign-in page on another host is never shown",
    "8:token-kinds": "a prefix decides between exchange and direct use; a classic token is an error",
    "8:token-fallback": "a token that is refused in one way is tried once in the other, which is remembered",
    "8:found-sign-ins": "sign-ins of the environment, of editors and of gh are found in order",
    "8:sign-ins-of-editors": "files of editors are only read; a broken or encrypted one is a note",
    "8:sign-in-of-gh": "gh gives its token for the host, without the daemon's keys, and within a bound",
    "8:refused-sign-ins": "a refused sign-in gives way to the next found one; a chosen one never does",
    "8:token-file": "token files have mode 0600 in a directory of 0700; others and links are refused",
    "8:token-file-whole": "a token file is whole after any kill, and a broken one is set aside",
    "8:token-file-shared": "daemons share a token by account, provider and host, and notice a change",
    "8:sign-out-erases": "after a sign-out no file holds a token of the provider, or the error names it",
    "8:keyring": "the keyring is used first; if it is missing, broken or silent, the file is used",
    "8:single-flight": "one exchange in a process for all concurrent callers; a failure is shared",
    "8:exchange-lock": "one exchange on a machine; a daemon that hangs or dies delays the others for seconds",
    "8:refresh": "a token is replaced before it expires, also with a wrong clock, and once if refused",
    "8:sign-in-errors": "each refusal of GitHub has its kind of error and a hint that a person can act on",
    "8:quotas": "plan and quotas in newer and older shapes and from headers; thresholds once",
    "8:sign-in": "auth/signIn stays pending until the person is signed in, refuses, is late or is cancelled",
    "8:did-change": "auth/didChange on every change, and models/didChange with it",
    "8:open-browser": "window/showDocument is asked for only with openBrowser",
    "8:other-process": "running daemons notice a sign-in and a sign-out by another process",
    "8:two-accounts": "two accounts are two provider tables",
    "8:no-token-leaks": "no token in logs, on the wire, in a loose file, or left after a sign-out",
    "8:one-exchange-for-all-daemons": "daemons of one machine share one exchange",
    "8:token-expires": "a refused short-lived token is replaced once, without an error",
    "8:no-refresh-storm": "refusals do not cause repeated exchanges",
    "8:status-and-chat-agree": "auth/status and a chat agree on a lost sign-in and on a lost seat",
    "8:host-moves": "a 421 leads to the host that the account has now",
    "8:expired-sign-in": "a revoked sign-in is 1000 with the command that fixes it",
    # Section 9: attach.
    "9:attach": "attached clients chat through one daemon, with the exit codes of serve",
    "9:one-daemon": "any number of clients at once start one daemon",
    "9:streams": "descriptors of any kind do what they do with serve and are left as they were found",
    "9:version-skew": "a daemon of another version stays for its clients and ends with its last",
    "9:one-clients-load": "a flood of one client and a stalled pipe do not slow the deltas of another",
    "9:soak": "hundreds of clients leave descriptors, threads and memory of the daemon as they were",
    "9:attach-dies": "a session ends with its attach process; the daemon and other clients go on",
    "9:daemon-dies": "when the daemon is killed every attach ends with 1, and the next one starts another",
    "9:run-directory": "the socket's directory is the user's own, mode 0700 and no link, else it is not used",
    "9:lean": "attach imports only light modules of the standard library",
    "9:fallback": "where sharing is not possible attach serves the client itself and logs the reason",
    "9:own-surroundings": "variables, working directory and files of one client are not seen by another",
    "9:hostile": "garbage on the control socket costs nothing and leaks no descriptor",
    "9:idle": "the daemon ends after idle_minutes without clients, and leaves no file behind",
    "9:status": "daemon status lists the clients; the asking command is none",
    "9:shared": "connections, lists and tokens of equal values are shared; changes reach all clients",
    "9:not-shared": "what one client's environment alone brings is used for no other client",
    "9:commands": "commands share the daemon, each with its own environment; with --own they do not",
    "9:python-client": "Client.spawn(shared=True) attaches, reports the daemon's end, and can start again",
    "9:stop": "daemon stop ends turns as cancelled and every attach with 1; returns when the process is gone",
    # Section 10: kept conversations.
    "10:before-response": "a turn with keep is in the store before its response, also without streaming",
    "10:start-names-it": "start and the Result name the conversation; without conversationId one is minted",
    "10:fork": "anything else is a fork with conversation_forked; nothing is overwritten",
    "10:partial": "a cancelled or failed turn is kept with its partial, and may be continued without it",
    "10:client-dies": "the partial is kept when the client dies in mid-turn",
    "10:edit": "an edit is kept too",
    "10:cwd": "cwd is the workspace folder, the root or the client's directory, with links resolved",
    "10:switched-off": "with keep = false nothing is written, whatever a client requests",
    "10:not-written": "a chat goes on where the store cannot be written, also on a full disk",
    "10:not-kept-once": "a conversation that is not kept is warned of once, not at every turn",
}

_ADAPTERS = {
    "contract-suite": "every kind of provider passes jumpseat.testing, with recordings of its own",
    "contract-can-fail": "an adapter that breaks a rule of the interface fails the suite with a sentence",
    "contract-public": "the suite runs for third parties, without the daemon's own tests",
}
"""The interface of adapters, which plug-ins implement too."""

_DIALECTS = [
    import_module(f"{dialect_rows.__name__}.{module.name}") for module in iter_modules(dialect_rows.__path__)
]


def _requirements() -> dict[str, Requirement]:
    sourced = [(key, row, f"protocol page, section {key.partition(':')[0]}") for key, row in _ROWS.items()]
    sourced += [(f"adapters:{key}", row, "adapters/base/interface.py") for key, row in _ADAPTERS.items()]
    for dialect in _DIALECTS:
        name = dialect.PREFIX
        sourced += [(f"{name}:{key}", row, f"the {name} dialect") for key, row in dialect.ROWS.items()]
    return {
        key: Requirement(row, source)
        if isinstance(row, str)
        else Requirement(row[0], source, deferred=row[1])
        for key, row, source in sourced
    }


REQUIREMENTS = _requirements()
