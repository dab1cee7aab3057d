"""The requirements about models."""

PREFIX = "3"
SOURCE = "docs/protocol/models.md"
ROWS: dict[str, str | tuple[str, str]] = {
    "models-list": "the list has the models of all providers; one that fails does not hide the others",
    "model-info": "unknown limits are absent, never guessed",
    "set-policy": "models/setPolicy accepts terms at a client's request, and checks that it took effect",
    "did-change": "models/didChange and providers/didChange are sent if something has changed",
    "old-list": "a list older than 10 minutes is fetched again in the background when a client asks",
    "failed-list": "a list that failed is fetched again at the next request after 10 s",
    "slow-list": "a list that takes over 5 s is a row of errors; models/didChange is sent when it arrives",
    "abilities": "an ability is claimed only if the endpoint, configuration or model data states it",
    "model-facts": "facts come from the provider, then the user, then a snapshot of the vendor's models",
}
