"""The requirements about the shared daemon."""

PREFIX = "9"
SOURCE = "docs/protocol/attach.md"
ROWS: dict[str, str | tuple[str, str]] = {
    "attach": "attached clients chat through one daemon, with the exit codes of serve",
    "one-daemon": "any number of clients at once start one daemon",
    "streams": "any kind of descriptor works as with serve, and is left as it was",
    "version-skew": "a daemon of another version keeps its clients and ends with the last of them",
    "one-clients-load": "one client's flood or stalled pipe does not delay the deltas of another",
    "soak": "after hundreds of clients the daemon has as many descriptors, threads and bytes as before",
    "editors": "Neovim, Emacs and Node can share a daemon",
    "attach-dies": "a session ends with its attach process; the daemon and other clients go on",
    "daemon-dies": "if the daemon is killed, every attach exits with 1, and the next one starts a daemon",
    "run-directory": "the socket's directory is used only if it is the user's, no link, and has mode 0700",
    "lean": "attach imports only light modules of the standard library",
    "fallback": "if sharing is impossible, attach serves the client itself and logs the reason",
    "no-descriptors": "a daemon without free descriptors refuses a client, which then serves itself",
    "own-surroundings": "one client's variables, working directory and files are hidden from all others",
    "hostile": "garbage on the control socket costs nothing and leaks no descriptor",
    "idle": "the daemon ends after idle_minutes without clients, and leaves no file behind",
    "status": "daemon status lists the clients, without itself",
    "shared": "connections, lists and tokens with equal values are shared; all clients see changes",
    "not-shared": "what only one client's environment provides is not used for any other client",
    "commands": "commands share the daemon, each with its own environment, unless they have --own",
    "python-client": "Client.spawn(shared=True) attaches, reports the daemon's end, and can start again",
    "upgrade": "a daemon accepts no more clients after a package is installed or upgraded beside it",
    "others": "status lists and stop ends daemons of all versions, also those that accept no clients",
    "stop": "daemon stop cancels turns, every attach exits with 1, and it returns when the daemon is gone",
}
