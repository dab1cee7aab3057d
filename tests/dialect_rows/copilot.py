"""The requirements of the provider "GitHub Copilot" beyond its dialects, row by row."""

PREFIX = "copilot"
ROWS: dict[str, str | tuple[str, str]] = {
    # Whole chats.
    "recordings": "recorded answers are decoded completely, and their sealed data goes back byte for byte",
    "routes": "each model uses the best route in its row; if the row lists none, trying finds it",
    "conversations": "tools, thinking and images go both ways on every route, as the service requires",
    "billing": "neither a tool round nor the repetition of a request is billed to the user",
    "rate-limit": "a delay of up to 60 s is waited for; a longer one is reported",
    "quirks": "clients do not see the quirks of the service in streams",
    "auto": "with auto, the service chooses the model, in a session that lasts",
    # What the service adds to every dialect.
    "cost": "copilot_usage is the cost in AI units, wherever it is in a dialect",
    "citations": "references and matches with public code are citations",
    "notices": "copilot_errors are warnings, and the answer continues",
    "summaries": "cot_summary is thinking that does not go back; a cot_id after the end is ignored",
    "reasoning-tokens": "reasoning tokens that are reported beside the counts are part of the output",
    "models": "rows with either shape of billing are read; only a bad row is dropped, never the list",
    "default-model": "the default model is one that the account can use",
    "identity": "requests have our name, the attached editor's version and configurable identifiers",
    "initiator": "x-initiator is user only for the first request of a user's turn",
    "vision-header": "the vision header is sent if an image is in the history",
    "interaction-id": "the interaction id is derived from the conversation's id",
    "thinking-levels": "an unsupported level becomes the nearest one, with a warning",
    "image-limit": "the oldest of too many images become a note; too many in the last message are error 1004",
    "interleaved-thinking": "Claude 4 to 4.5 with tools gets the beta header for thinking between calls",
    "errors": "refusals of every status and code have the right kind and a hint",
    "terms-not-accepted": "a model whose terms are not accepted is error 1001, which says how to accept them",
    "fresh-list": "a list is requested once for all chats of ten minutes; without one, a chat goes on",
    "login-command": "jumpseat login shows the code and page, opens the page, and can be cancelled",
    "logout-command": "jumpseat logout reports which sign-ins remain",
    "terms-command": "jumpseat accept-terms accepts nothing without a person's yes or --yes",
    "cures": "only a refusal that a changed request cures is tried again, once for each cure",
    "endless-whitespace": "endless white space in arguments is cut off, and the chat does not fail",
}
