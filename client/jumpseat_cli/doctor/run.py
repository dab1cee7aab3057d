"""Runs the checks and prints each section when it is finished."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from jumpseat import __version__
from jumpseat.chat import Check
from jumpseat.system.threads import run_blocking
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.doctor.installation import (
    check_configuration,
    check_installation,
    check_shared_daemon,
    read_default_model,
)
from jumpseat_cli.doctor.providers import check_providers
from jumpseat_cli.doctor.report import ReportSection, make_redactor, show_section, show_summary
from jumpseat_cli.doctor.tools import check_tools
from jumpseat_cli.terminal.failures import FAILED, OK, print_json
from jumpseat_cli.terminal.output import make_spinner
from jumpseat_client import ClientError


async def examine(
    *, provider: str | None, config: Path | None, chat: bool, daemon_command: Sequence[str], as_json: bool
) -> int:
    """Run all checks, print the results, and return the exit code.

    Args:
        provider: the id of the only provider to check; None to check all of them, and the tool servers.
        config: the configuration file; None for the default one.
        chat: whether to send a short chat to each provider.
        daemon_command: the daemon's command line.
        as_json: whether to print one JSON document instead of text.
    """
    from jumpseat.config.redaction import hide_secrets
    from jumpseat.system.environment import environment_of_process
    from jumpseat.system.secrets import redact

    environment = environment_of_process()
    await run_blocking(hide_secrets, environment, config or environment.places.config_file)
    rewrite = make_redactor(redact)
    sections = []
    spinner = make_spinner("Checking")
    try:
        async for found in _check_sections(provider, config, chat, daemon_command):
            section = found.rewrite_texts(rewrite)
            sections.append(section)
            if not as_json:
                spinner.pause()
                show_section(section)
                spinner.show("Checking")
    finally:
        spinner.stop()
    failures = sum(section.failures for section in sections)
    if as_json:
        print_json(
            {
                "ok": not failures,
                "version": __version__,
                "sections": [section.as_dict() for section in sections],
            }
        )
    else:
        show_summary(failures)
    return FAILED if failures else OK


async def _check_sections(
    provider: str | None, config: Path | None, chat: bool, daemon_command: Sequence[str]
) -> AsyncIterator[ReportSection]:
    yield await check_installation()
    configuration = await check_configuration(config)
    yield configuration
    yield await run_blocking(check_shared_daemon)
    try:
        async with daemon(daemon_command) as client:
            default = read_default_model(config)
            async for section in check_providers(client, only=provider, chat=chat, default_model=default):
                yield section
            if provider is None and (tools := await check_tools(client)) is not None:
                yield tools
    except ClientError as error:
        if str(error) in {check.message for check in configuration.checks}:
            message = "The providers were not checked, because the configuration file cannot be read."
            yield ReportSection("Providers", [Check("daemon", None, message)])
        else:
            yield ReportSection("Providers", [Check("daemon", False, str(error), error.hint)])
