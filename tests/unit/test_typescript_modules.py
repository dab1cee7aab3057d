"""The reader of the VS Code extension's imports."""

from __future__ import annotations

import pytest

from tests.unit.typescript_modules import find_imports, read_imports


@pytest.mark.parametrize(
    "source",
    [
        "import { f } from './log';",
        "import type { Log } from './log';",
        "import {\n  f,\n  g,\n} from './log';",
        "import './log';",
        "export { f } from './log';",
        "export * from './log';",
        "const { f } = await import('./log');",
        "type Log = import('./log').Log;",
        "const address = 'https://a.b'; import { f } from './log';",
    ],
)
def test_an_import_is_read(source: str) -> None:
    assert find_imports(source) == {"./log"}


@pytest.mark.parametrize(
    "source",
    [
        "// import { f } from './log';",
        "/*\nimport { f } from './log';\n*/",
        "const advice = `Write import { f } from './log'`;",
        "const advice = \"from './log'\";",
        "const path = join(from, './log');",
    ],
)
def test_comments_and_other_strings_are_not_imports(source: str) -> None:
    assert find_imports(source) == set()


def test_every_import_of_the_extension_names_a_file_or_a_package() -> None:
    imports = read_imports()
    packages = {"vscode", "vscode-jsonrpc/node", "diff"}
    found = {each for reached in imports.values() for each in reached if not each.startswith("node:")}

    assert found <= imports.keys() | packages
