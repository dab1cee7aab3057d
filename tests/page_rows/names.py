"""The requirements about the names of models."""

PREFIX = "4"
SOURCE = "docs/protocol/models.md"
ROWS: dict[str, str | tuple[str, str]] = {
    "provider-prefix": "a prefix that is a configured id names the provider; else it is part of the name",
    "mistyped-prefix": "a prefix that is a kind, a vendor or almost an id is 1004 with the nearest names",
    "nearest-names": "the error of an unknown model, kind, provider, key or setting has the nearest name",
    "bare-name": "a bare name goes to the default provider, else to the only one that lists it",
    "default-model": "an absent model is config default_model, else the default provider's own default",
    "saved-default-model": "the saved default_model comes between these two, if its provider still exists",
    "default-provider": "the default is the configured one, Copilot if signed in, the only one, else local",
    "general-sign-in": "a sign-in that was not made for Copilot comes last, and is checked only then",
    "not-ready": "if no default is usable, the error is 1000 with a hint",
    "upstream-spellings": "another spelling of a listed name resolves to it; an ambiguous one is 1004",
    "saved-default": "the first choice of a default is made once and saved",
    "saved-default-gone": "a saved default of a removed provider is skipped; a person's is never replaced",
    "configured-default": "default_provider of the configuration takes precedence over a saved one",
    "overlay-default": "a default that depends on a client's own providers is not saved",
    "sign-in-default": "signing in makes that provider the default unless the configuration sets another",
}
