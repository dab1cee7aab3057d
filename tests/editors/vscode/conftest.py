"""Fixtures of the VS Code tests: one VS Code with one window, a provider and a GitHub, for all tests.

Everything is deferred that imports Playwright: only these tests need it.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.editors.vscode.code_server import REPOSITORY, CodeServer, requirements, running_code_server
from tests.editors.vscode.github import GitHub, running_github
from tests.hub import Hub

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.editors.vscode.window import Window

PICTURES = REPOSITORY / "build/vscode"
"""Where failed tests leave what was on the screen, and the logs."""

MODELS = Reply.json({"data": [{"id": "fake-model"}, {"id": "other-model"}]})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Save the screen and the logs of a test that failed."""
    report = yield
    window = getattr(item, "funcargs", {}).get("window")
    if report.failed and window is not None:
        name = PICTURES / item.name
        window.picture(name.with_suffix(".png"))
        name.with_suffix(".log").write_text(window.server.log(), "utf-8")
        report.sections.append(("the screen and the logs", f"{name}.png\n{name}.log"))
    return report


@pytest.fixture(scope="package")
def github() -> Iterator[GitHub]:
    """GitHub's services."""
    with running_github() as running:
        yield running


@pytest.fixture(scope="package")
def upstream() -> Iterator[ThreadedUpstream]:
    """The provider `fake`, for all tests."""
    with ThreadedUpstream() as running:
        running.default(MODELS, path="/v1/models")
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    requirements()
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("Playwright is not installed: run `make test-vscode`")
    from playwright.sync_api import sync_playwright

    from tests.editors.vscode.window import running_browser

    with sync_playwright() as playwright, running_browser(playwright) as running:
        yield running


def configuration(upstream: ThreadedUpstream, github: GitHub) -> str:
    """The daemon's configuration file: the providers `fake`, which is the default, and `copilot`."""
    copilot = "".join(f"{key} = {json.dumps(value)}\n" for key, value in github.table.items())
    return (
        'default_model = "fake:fake-model"\n\n'
        f'[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\napi_key = "fake-key"\n'
        f"max_retries = 0\n\n[providers.copilot]\n{copilot}"
    )


@pytest.fixture(scope="package")
def code_server(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser, upstream: ThreadedUpstream, github: GitHub
) -> Iterator[CodeServer]:
    """The VS Code of all tests, with the extension."""
    home = tmp_path_factory.mktemp("vscode")
    (home / "config.toml").write_text(configuration(upstream, github))
    with running_code_server(home) as running:
        yield running


@pytest.fixture(scope="package")
def only_window(code_server: CodeServer, browser: Browser) -> Iterator[Window]:
    """The window of all tests."""
    from tests.editors.vscode.window import Window

    context = browser.new_context(viewport={"width": 1280, "height": 800})
    window = Window(code_server, context)
    yield window
    context.close()


@pytest.fixture
def provider(upstream: ThreadedUpstream) -> ThreadedUpstream:
    """The provider `fake`: two models, and nothing scripted."""
    upstream.forget()
    upstream.default(MODELS, path="/v1/models")
    return upstream


@pytest.fixture
def window(only_window: Window, provider: ThreadedUpstream) -> Window:
    """The window, with what the test before has opened closed."""
    only_window.reset()
    return only_window


@pytest.fixture
def daemon(code_server: CodeServer) -> Hub:
    """The daemon of this VS Code."""
    return Hub(code_server.home)
