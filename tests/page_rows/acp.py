"""The requirements about the Agent Client Protocol."""

PREFIX = "11"
SOURCE = "docs/acp.md"
ROWS: dict[str, str | tuple[str, str]] = {
    "handshake": "initialize returns version 1, the agent's capabilities and the ways to sign in",
    "malformed": "an invalid line gets an error, and the next line is served",
    "prompt": "a prompt streams its answer; resources, linked files and images reach the model",
    "cancel": "a cancelled prompt ends with the stop reason cancelled and keeps its text",
    "errors": "a failed turn is an error with section 6's code and data; its message includes the hint",
    "options": "model, thinking level and settings are config options; a change applies to the next turn",
    "live-options": "open sessions follow the configuration, saved settings and lists of models",
    "commands": "a prompt may start with a command or the name of a configured prompt",
    "sessions": "sessions are kept conversations that are listed, loaded, resumed and deleted",
    "replay": "loading shows texts, thinking, tool calls with results, images, documents and context",
    "clients": "the messages of real editors get the answers that those editors need",
    "branches": "a session is listed, loaded and deleted together with the forks that it has used",
    "restored": "a loaded or resumed session has the options, usage and cost of its last turn",
    "sign-in": "authenticate succeeds immediately if a provider is ready, else it starts the device flow",
    "shared": "jumpseat acp uses the shared daemon, or serves its client itself",
}
