"""The requirements of the provider "GitHub Copilot" beyond its dialects, row by row."""

PREFIX = "copilot"
ROWS: dict[str, str | tuple[str, str]] = {
    # Whole chats.
    "recordings": "recorded answers come through whole, and what is sealed in them goes back byte for byte",
    "routes": "each model takes the best route that its row lists; without a list it is found by asking",
    "conversations": "tools, thinking and images go back and forth on every route, as the service wants them",
    "billing": "a tool round is not billed to the user, nor is a request again when it is repeated",
    "rate-limit": "a delay of up to 60 s is waited for, a longer one is reported",
    "quirks": "the service's habits in streaming do not show",
    "auto": "auto lets the service choose the model, in a session that lasts",
    # What the service adds to every dialect.
    "cost": "copilot_usage is the cost, in AI units, wherever a dialect has it",
    "citations": "matches with public code, and references, are citations",
    "notices": "copilot_errors are warnings; the answer goes on",
    "summaries": "cot_summary is thinking that does not go back; a cot_id after the end is ignored",
    "reasoning-tokens": "reasoning tokens next to the counts belong to the output",
    "models": "rows are read one by one, in both shapes of billing; a bad row is dropped, never the list",
    "default-model": "the default model is one that the account can use",
    "identity": "our own name, the attached editor's version, identifiers that can be configured",
    "initiator": "x-initiator is user for the first request of a user's turn alone",
    "vision-header": "the vision header is sent while an image is in the history",
    "interaction-id": "the interaction id follows from the conversation's",
    "thinking-levels": "an unsupported level becomes the nearest one, with a warning",
    "image-limit": "the oldest of too many images become a note; too many in the last message are 1004",
    "interleaved-thinking": "Claude 4 to 4.5 with tools gets the beta that lets it think between calls",
    "errors": "refusals of every status and code have the right kind and a hint",
    "terms-not-accepted": "a model whose terms are not accepted is 1001 and says how to accept them",
    "fresh-list": "a list serves all chats for ten minutes and is requested once; a chat goes on without one",
    "login-command": "jumpseat login shows code and page, opens the page, and can be cancelled",
    "logout-command": "jumpseat logout reports which sign-ins remain",
    "terms-command": "jumpseat accept-terms accepts nothing without a person's yes or --yes",
    "cures": "only a refusal that a changed request would fix is tried again, each once",
    "endless-whitespace": "endless white space in arguments is cut off; the chat does not fail",
}
