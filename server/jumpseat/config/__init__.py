"""The configuration: the TOML file, a client's overlay, value sources, settings schemas, saved settings."""

from jumpseat.config.config import Config
from jumpseat.config.load import load_config
from jumpseat.config.options import ToolOptions
from jumpseat.config.prompts import Prompt, find_prompt
from jumpseat.config.reading import FaultyConfigError
from jumpseat.config.saved import SavedSettings, saved_settings_file
from jumpseat.config.saved_rules import find_overridden
from jumpseat.config.schema import ProviderConfig, TableOrigin
from jumpseat.config.setting_rows import SettingRow, chat_params, check_settings, map_to_body
from jumpseat.config.values import Values, resolve
from jumpseat.system.secrets import Secret, SecretFilter, redact, register_secret

__all__ = [
    "Config",
    "FaultyConfigError",
    "Prompt",
    "ProviderConfig",
    "SavedSettings",
    "Secret",
    "SecretFilter",
    "SettingRow",
    "TableOrigin",
    "ToolOptions",
    "Values",
    "chat_params",
    "check_settings",
    "find_overridden",
    "find_prompt",
    "load_config",
    "map_to_body",
    "redact",
    "register_secret",
    "resolve",
    "saved_settings_file",
]
