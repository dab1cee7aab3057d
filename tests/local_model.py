"""The real local model of the developer who runs the tests."""

from jumpseat.adapters.local.model import FILE_NAME, installed_file, packaged_file
from jumpseat.system.paths import places_of_process

# Look it up at import, before a fixture moves the data directory.
FILE = next(
    (file for file in (installed_file(places_of_process()), packaged_file()) if file and file.is_file()), None
)
"""The GGUF file; None if it is not installed."""

HOW_TO_INSTALL = f"{FILE_NAME} is missing: run `jumpseat local install`"
