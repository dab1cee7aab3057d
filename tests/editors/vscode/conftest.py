"""Fixtures of the VS Code tests: one VS Code with one window, a provider and a GitHub, for all tests.

Modules that import Playwright are imported in the fixtures, because only these tests need it.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from tests.editors.github import GitHub, running_github
from tests.editors.provider import fake
from tests.editors.vscode.code_server import (
    REPOSITORY,
    CodeServer,
    running_code_server,
    skip_if_programs_are_missing,
)
from tests.editors.vscode.provider import Provider
from tests.hub import Hub

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.editors.vscode.window import Window

PICTURES = REPOSITORY / "build/vscode"
"""The directory in which failed tests leave a picture of the screen and the logs."""

WINDOW: pytest.StashKey[Window] = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Save the screen and the logs if a test failed."""
    report = yield
    window = item.config.stash.get(WINDOW, None)
    if report.failed and window is not None:
        name = PICTURES / item.name
        window.save_picture(name.with_suffix(".png"))
        name.with_suffix(".log").write_text(window.server.log(), "utf-8")
        report.sections.append(("the screen and the logs", f"{name}.png\n{name}.log"))
    return report


@pytest.fixture(scope="package")
def github() -> Iterator[GitHub]:
    """GitHub's services."""
    with running_github() as running:
        yield running


@pytest.fixture(scope="package")
def provider_of_all() -> Iterator[Provider]:
    """The provider `fake`, for all tests."""
    with ThreadedUpstream() as upstream:
        yield Provider(upstream)


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium."""
    skip_if_programs_are_missing()
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("Playwright is not installed: run `make test-vscode`")
    from playwright.sync_api import sync_playwright

    from tests.editors.vscode.window import running_browser

    home = tmp_path_factory.mktemp("browser")
    with sync_playwright() as playwright, running_browser(playwright, home) as running:
        yield running


def configuration(provider: Provider, github: GitHub) -> str:
    """Return the daemon's configuration file: the providers `fake`, which is the default, and `copilot`."""
    copilot = "".join(f"{key} = {json.dumps(value)}\n" for key, value in github.table.items())
    return (
        'default_provider = "fake"\n\n'
        f"{fake(provider.base_url)}capabilities = {{ tool_calls = true, thinking = true, vision = true }}\n"
        f"\n[providers.copilot]\n{copilot}\n"
        '[prompts.tidy]\ntext = "Tidy this: {{input}}"\ndescription = "Make it tidy."\n'
    )


@pytest.fixture(scope="package")
def code_server(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser, provider_of_all: Provider, github: GitHub
) -> Iterator[CodeServer]:
    """The VS Code of all tests, with the extension."""
    home = tmp_path_factory.mktemp("vscode")
    (home / "config.toml").write_text(configuration(provider_of_all, github))
    with running_code_server(home) as running:
        yield running


@pytest.fixture(scope="package")
def only_window(code_server: CodeServer, browser: Browser, pytestconfig: pytest.Config) -> Iterator[Window]:
    """The window of all tests."""
    from tests.editors.vscode.window import Window

    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, permissions=["clipboard-read", "clipboard-write"]
    )
    window = pytestconfig.stash[WINDOW] = Window(code_server, context)
    yield window
    del pytestconfig.stash[WINDOW]
    context.close()


@pytest.fixture
def provider(provider_of_all: Provider) -> Provider:
    """The provider `fake`, with nothing scripted."""
    provider_of_all.forget()
    return provider_of_all


@pytest.fixture
def window(only_window: Window, provider: Provider) -> Window:
    """The window, in which everything that the previous test opened is closed."""
    only_window.reset()
    return only_window


@pytest.fixture
def chat(window: Window) -> Window:
    """The window with an empty chat view."""
    window.new_chat()
    return window


@pytest.fixture
def open_window(code_server: CodeServer, only_window: Window) -> Callable[[], Window]:
    """Return a function that opens another window of the same VS Code. Close its page to close it."""
    from tests.editors.vscode.window import Window

    return lambda: Window(code_server, only_window.page.context)


@pytest.fixture
def daemon(code_server: CodeServer) -> Hub:
    """The daemon of this VS Code."""
    return Hub(code_server.home)
