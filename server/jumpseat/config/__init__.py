"""What the user wrote down: the TOML file, the overlay of a client, value sources and their secrets.

Below it is only `chat`; it knows no HTTP and no adapter.
"""

from jumpseat.config.load import load_config
from jumpseat.config.saved import SavedSettings, saved_settings_file
from jumpseat.config.schema import Config, ProviderConfig, SettingRow, check_settings
from jumpseat.config.sources import Secret, SecretFilter, hidden, redact, resolve

__all__ = [
    "Config",
    "ProviderConfig",
    "SavedSettings",
    "Secret",
    "SecretFilter",
    "SettingRow",
    "check_settings",
    "hidden",
    "load_config",
    "redact",
    "resolve",
    "saved_settings_file",
]
