"""The provider kind `copilot-language-server`."""

from __future__ import annotations

from jumpseat.adapters.base.settings_rows import THINKING
from jumpseat.adapters.base.spec import ProviderSpec
from jumpseat.adapters.github.language_server.options import LanguageServerOptions
from jumpseat.adapters.github.options import USER_ONLY_KEYS

LANGUAGE_SERVER = ProviderSpec(
    kind="copilot-language-server",
    adapter="jumpseat.adapters.github.language_server.adapter:LanguageServerAdapter",
    settings_rows={"thinking": THINKING},
    options=LanguageServerOptions,
    user_only={"command": "names a program, which only the user may choose to run", **USER_ONLY_KEYS},
)
