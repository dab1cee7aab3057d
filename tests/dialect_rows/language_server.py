"""What the provider "Copilot language server" must do, row by row."""

ROWS: dict[str, str | tuple[str, str]] = {
    # The process.
    "command": "`command`, or a program on the PATH; a missing one is 1010 with the line that installs it",
    "initialize": "it is told editor, proxy and GitHub; what it says before its first answer is taken",
    "environment": "it gets its own variables and the table's, and no other provider's key",
    "no-secrets": "what it writes to its stderr is logged without what looks like a credential",
    "restart": "a server that ended is started again for the next question, 5 times in 180 s",
    "shutdown": "it ends with the daemon, with all it has started, also after kill -9 of the daemon",
    "failed-start": "a program that cannot be started, or is not ready, is 1008 with its last words",
    "broken-framing": "what is no message ends it: 1009",
    "crash": "a crash in mid-chat is 1009 with the partial within a second; the next chat starts it again",
    "overlay": "no client's overlay has a program started",
    # Who is signed in.
    "status": "every state that it tells has its AuthStatus; one that does not answer holds up nobody",
    "did-change": "what its notifications tell of the account is auth/didChange, each change once",
    "sign-in": "a code is shown, if its page is the configured GitHub's; a cancel takes the sign-in back",
    "sign-out": "auth/signOut has the server forget its sign-in",
    "not-ready": "a chat while nobody is signed in is 1000 with the command that mends it",
    "quotas": "plan and quotas of checkQuota and of copilot/quotaChange have Copilot's own names",
    # Models.
    "models": "rows of copilot/models are read one by one; a bad row is dropped, never the list",
    "terms": "terms are accepted at a client's wish alone, and that is checked",
    # Chats.
    "conversation": "pieces stream, wherever a version puts them; the model is named on every call",
    "reports": "thinking, steps, sources, notices, tokens and credits of a turn are events",
    "history": "a chat is turns, its system prompt before the first; nothing said in it is lost",
    "second-turn": "a chat that a message is added to goes on in its conversation, any other is a new one",
    "tools-away": "the server's own tools, which read the user's files, are taken away",
    "requests": "what it asks of an editor is answered: nothing is shown to it, and no tool is run",
    "completion": "a chat is completed as a document, in the panel and then in the text, as one piece",
    "auto": "auto takes conversations where the server has them, else completions",
    "capabilities": "each way declares what it can do, and what is left out of a chat is said",
    "cancel": "a cancel takes the request back at once and keeps the partial",
    "silence": "a chat never hangs: silence, a lost end and a lost answer have their bounds",
    "errors": "each code and each sentence of its refusals has its kind of error, with a hint",
    "limits": "limits say how long to wait and when they end; a notice of one is a warning",
    "expired-token": "a short-lived token of the server's that has expired costs one attempt, unnoticed",
    # The real server.
    "real-signed-out": "the real server, signed out: status, models and chats say so",
    "real-emulator": "the real server at the emulator: sign-in, models, chats both ways, cancel, kill",
}
