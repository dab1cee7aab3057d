"""The requirements about services that thin clients share."""

PREFIX = "13"
SOURCE = "docs/protocol/pages.md, authentication.md, chat.md, conversations.md and providers.md"
ROWS: dict[str, str | tuple[str, str]] = {
    "keys-set": "keys/set tries a key with the provider's model list and stores it as jumpseat keys does",
    "keys-refused": "a key that the provider refuses is not stored; after any other failure it is",
    "keys-existing": "if the source of a key works, keys/set is 1010 naming it; else it is replaced",
    "keys-remove": "keys/remove deletes a stored key and restores the source that it replaced",
    "keys-secret": "the key is never in a log, error, notification, kept conversation or other result",
    "prompts": "six prompts are built in and marked so; a table in the file can replace one",
    "diffs": "a prompt for diffs leaves out and names the files that are too long for the model",
    "rules": "workspaceRules adds three files, bounded, to the system prompt of chats, edits and counts",
    "fetch": "context/fetch returns the text and final address of a page or file, without credentials",
    "fetch-addresses": "only public addresses are fetched, checked after name resolution and redirects",
    "fetch-bounds": "size, time, redirects, unpacking, parsing and memory of a page are bounded",
    "fetch-network": "pages use the proxies and certificates of the table [fetch] and of the environment",
    "suggest-title": "a model suggests a title of at most eight words, renaming nothing; no title is 1009",
    "cli": "the command line fetches pages (-f, /file), adds rules (--rules) and suggests titles",
    "client": "the clients for Python have a method for each service, with and without asyncio",
}
