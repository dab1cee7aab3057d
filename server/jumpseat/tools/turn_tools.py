"""Offers tools to the model for one turn, and runs the model's calls that the user allows."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from jumpseat.chat import (
    InvalidRequestError,
    Origin,
    Problem,
    ProgressEvent,
    Remember,
    RequestError,
    StreamEvent,
    ToolApprovalEvent,
    ToolDefinition,
    ToolResultBlock,
    ToolStatusEvent,
    ToolUseBlock,
    WarningEvent,
)
from jumpseat.config import ToolOptions
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import compute, run_blocking
from jumpseat.tools.approvals import Approvals, Decision
from jumpseat.tools.decisions import AlwaysAllowed, digest_of
from jumpseat.tools.display import escape, make_title, show_arguments
from jumpseat.tools.memory import ConversationState
from jumpseat.tools.naming import name_tools
from jumpseat.tools.results import limit_output
from jumpseat.tools.rules import ApprovalQuestion, Rules
from jumpseat.tools.selectors import Selector, matches_any
from jumpseat.tools.server import (
    CallContext,
    Preview,
    ServerUnavailableError,
    Tool,
    ToolCall,
    ToolError,
    ToolOutput,
    ToolServer,
)

logger = logging.getLogger(__name__)

DAEMON = "daemon"
"""The `provider` in the origin of a tool's result if the daemon ran the tool."""

MANY_TOOLS = 500
"""The number of tools above which a loop over them runs in a thread."""

PROGRESS_SECONDS = 0.1
"""The shortest time between two reports of a call's progress."""

Send = Callable[[StreamEvent], None]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the model may call in this turn."""

    server: ToolServer
    tool: Tool


class TurnTools:
    """The tools of one turn. Call `open` before anything else, and `aclose` at the end of the turn."""

    def __init__(
        self,
        servers: Sequence[ToolServer],
        selectors: Sequence[Selector],
        context: CallContext,
        options: ToolOptions,
        *,
        turn_id: str,
        max_rounds: int,
        state: ConversationState,
        has_conversation_id: bool,
        always: AlwaysAllowed,
        approvals: Approvals | None,
    ) -> None:
        """
        Args:
            servers: the servers that the selectors name.
            selectors: the tools that the client selected.
            context: the context of the turn's calls.
            options: the table `[tools]` of the configuration.
            turn_id: the id of the turn.
            max_rounds: the maximum number of requests to the provider, not counting retries.
            state: the state of the conversation, with the tools that the user allowed in earlier turns.
            has_conversation_id: whether later turns can belong to the same conversation.
            always: the tools that the user allowed for all conversations.
            approvals: waits for the user's decisions; None if the client cannot ask, so that calls that need
                an approval are denied.
        """
        self.max_rounds = max_rounds
        self.max_calls = options.max_calls
        self.definitions: Sequence[ToolDefinition] = ()
        """The tools to offer to the model, sorted by name. Empty before `open`."""

        self.on_preview: Callable[[ToolUseBlock, Preview], None] = lambda call, preview: None
        """Called with each call and its preview, before the user is asked."""

        self._servers = [server.begin_turn(context) for server in servers]
        self._selectors = selectors
        self._context = context
        self._options = options
        self._rules = Rules(options)
        self._turn_id = turn_id
        self._state = state
        self._has_conversation_id = has_conversation_id
        self._always = always
        self._approvals = approvals
        self._offered: dict[str, OfferedTool] = {}
        """The offered tools, by the names that the model uses."""

        self._tools_of: dict[str, Sequence[Tool]] = {}
        """The tools of each available server, by the server's name."""

        self._for_turn: dict[str, Decision] = {}
        """The decisions for the rest of the turn, by the digest of the tool."""

        self._waiting: dict[str, str] = {}
        """The digest of the tool for each call that waits for the user, by the id of the call.

        Calls whose decision cannot be remembered are not included.
        """

    async def open(self, taken: Sequence[str], send: Send) -> Sequence[WarningEvent]:
        """Start the servers and choose the tools to offer; return a warning for each unavailable server.

        Args:
            taken: the names of the client's own tools.
            send: receives the progress of servers that have to start.

        Raises:
            InvalidRequestError: a tool of the client has the name of an offered tool.
            RequestError: there are more tools than the configuration allows.
        """
        with suppress(StateError):
            await run_blocking(self._always.read)
        warnings = await asyncio.gather(*(self._open_server(server, send) for server in self._servers))
        count = sum(map(len, self._tools_of.values()))
        selected = await compute(count > MANY_TOOLS, self._select_tools)
        self._check_tool_count([server for server, _ in selected])
        self._offered = {name: selected[pair] for name, pair in name_tools(selected).items()}
        for index, name in enumerate(taken):
            if name in self._offered:
                problem = Problem(f"tools.{index}.name", f"{name!r} is the name of a tool of the daemon")
                raise InvalidRequestError.at(problem.path, problem.message)
        self.definitions = [
            ToolDefinition(name, offered.tool.description, offered.tool.parameters)
            for name, offered in self._offered.items()
        ]
        return [warning for warning in warnings if warning is not None]

    async def aclose(self) -> None:
        """Release the servers at the end of the turn."""
        for server in self._servers:
            await server.end_turn()

    async def _open_server(self, server: ToolServer, send: Send) -> WarningEvent | None:
        if not server.is_available(self._context):
            why = f"The tools of {server.name} need a workspace folder."
            return WarningEvent("tool_server_unavailable", why)
        if server.status.state != "running":
            send(ProgressEvent(f"Starting the tools of {server.name}."))
        try:
            self._tools_of[server.name] = await server.list_tools()
        except ServerUnavailableError as error:
            return WarningEvent("tool_server_unavailable", str(error))
        except Exception:
            logger.exception("the tools of %s cannot be listed", server.name)
            why = f"The tools of {server.name} cannot be listed; the daemon's log has the details."
            return WarningEvent("tool_server_unavailable", why)
        return None

    def _select_tools(self) -> dict[tuple[str, str], OfferedTool]:
        """Return the tools to offer, by the names of the server and the tool."""
        return {
            (server.name, tool.name): OfferedTool(server, tool)
            for server in self._servers
            for tool in self._tools_of.get(server.name, ())
            if matches_any(self._selectors, server.name, tool.name)
            and not self._rules.is_denied(server.name, tool.name)
        }

    def _check_tool_count(self, servers: Sequence[str]) -> None:
        """Raise a `RequestError` if too many tools are selected.

        Args:
            servers: for each selected tool, the name of its server.
        """
        limit = self._options.max_tools
        if len(servers) <= limit:
            return
        largest = ", ".join(f"{name} ({count})" for name, count in Counter(servers).most_common(3))
        raise RequestError(
            f"The turn has {len(servers)} tools, but at most {limit} are allowed. The servers with the most "
            f"tools are {largest}.",
            hint="Select fewer tools, or raise max_tools in the table [tools] of the configuration.",
        )

    def find(self, name: str) -> OfferedTool | None:
        """Return the offered tool that the model knows under this name."""
        return self._offered.get(name)

    def find_name(self, name: str) -> str:
        """Return `server/tool` for a name that the model uses, or that name itself if it is unknown."""
        offered = self.find(name)
        return name if offered is None else f"{offered.server.name}/{offered.tool.name}"

    async def run(self, call: ToolUseBlock, send: Send) -> ToolResultBlock:
        """Run a call if the user allows it, and return its result. Failures become error results.

        Args:
            call: the call of the model.
            send: receives the questions and the status of the call.
        """
        name = self.find_name(call.name)
        offered = self.find(call.name)
        if offered is None:
            return self._fail(call, name, f"There is no tool named {call.name}.", send)
        if call.arguments is None:
            return self._fail(call, name, call.error or "The arguments are not a JSON object.", send)
        tool_call = ToolCall(
            offered.tool.name,
            call.arguments,
            self._context,
            _Progress(call.id, send).report,
            int(self._options.max_result_kilobytes * 1024),
        )
        try:
            preview = await offered.server.preview(tool_call)
            self.on_preview(call, preview)
            denial = await self._ask_if_needed(call, offered, preview, send)
            if denial is not None:
                send(ToolStatusEvent(call.id, "denied", make_title(denial)))
                return _make_result(call, name, ToolOutput(denial, is_error=True))
            send(ToolStatusEvent(call.id, "running"))
            output = await self._call_server(offered.server, replace(tool_call, approved=preview))
        except ToolError as error:
            return self._fail(call, name, str(error), send)
        except Exception:
            logger.exception("a call of %s failed", name)
            return self._fail(call, name, "The tool failed; the daemon's log has the details.", send)
        send(ToolStatusEvent(call.id, "failed" if output.is_error else "completed"))
        return _make_result(call, name, limit_output(output, self._options.max_result_kilobytes))

    async def _call_server(self, server: ToolServer, call: ToolCall) -> ToolOutput:
        seconds = self._options.call_seconds
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await server.call(call)
        except TimeoutError:
            if not limit.expired():
                raise  # The server raised the error itself.
            raise ToolError(f"The tool did not answer within {seconds:g} s.") from None

    def _fail(self, call: ToolUseBlock, name: str, message: str, send: Send) -> ToolResultBlock:
        """Send the status of a failed call, and return its error result."""
        send(ToolStatusEvent(call.id, "failed", make_title(message)))
        return _make_result(call, name, ToolOutput(message, is_error=True))

    async def _ask_if_needed(
        self, call: ToolUseBlock, offered: OfferedTool, preview: Preview, send: Send
    ) -> str | None:
        """Ask the user about a call if necessary, and remember the decision if the user wants that.

        Returns:
            The message for the model if the call is denied; None if it is allowed.
        """
        question = self._find_question(offered, preview)
        if question is None:
            return None
        digest = digest_of(offered.server, offered.tool)
        # An earlier decision for this turn is a denial here: if it had allowed the tool, `_find_question`
        # would have returned None, or a question that must be asked each time and has no `remember`.
        if question.remember and digest in self._for_turn:
            return _describe_denial(self._for_turn[digest])
        if self._approvals is None:
            return "This call needs the user's approval, which this client cannot ask for."
        with self._approvals.open(self._turn_id, call.id) as decided:
            send(_make_approval_event(call, offered, preview, question))
            if question.remember:
                self._waiting[call.id] = digest
            try:
                decision = await decided
            finally:
                self._waiting.pop(call.id, None)
        if question.remember and decision.remember is not None:
            await self._remember(offered, decision, question.remember)
        return None if decision.is_allowed else _describe_denial(decision)

    def _find_question(self, offered: OfferedTool, preview: Preview) -> ApprovalQuestion | None:
        """Return the question for the user; None if a rule or a remembered decision allows the call."""
        server, tool = offered.server, offered.tool
        rule = self._rules.find_decision(server.name, tool.name)
        if preview.is_outside:
            return ApprovalQuestion("outside", ())
        if rule == "ask":
            return ApprovalQuestion("rule", ())
        digest = digest_of(server, tool)
        earlier = self._for_turn.get(digest)
        # True if this version of the tool is allowed, None if only another version is allowed, else False.
        always_allowed = self._always.find(server, tool)
        if earlier is not None:
            is_allowed = earlier.is_allowed
        else:
            is_allowed = always_allowed or digest in self._state.allowed or rule == "allow"
        if is_allowed:
            return None
        remember: tuple[Remember, ...] = ("turn", "conversation", "always")
        if not self._has_conversation_id:
            remember = ("turn", "always")
        return ApprovalQuestion("changed" if always_allowed is None else "ask", remember)

    async def _remember(self, offered: OfferedTool, decision: Decision, choices: Sequence[Remember]) -> None:
        """Remember a decision, and apply it to the waiting calls that it covers."""
        server = offered.server
        tools = [offered.tool] if decision.scope == "tool" else self._tools_of[server.name]
        digests = await compute(len(tools) > MANY_TOOLS, lambda: {digest_of(server, tool) for tool in tools})
        self._for_turn |= dict.fromkeys(digests, decision)
        if self._approvals is not None:
            for tool_use_id, digest in list(self._waiting.items()):
                if digest in digests:
                    self._approvals.decide(self._turn_id, tool_use_id, replace(decision, remember=None))
        # A denial is remembered at most until the end of the turn.
        if not decision.is_allowed or decision.remember not in choices:
            return
        if decision.remember == "conversation":
            self._state.allowed |= digests
        elif decision.remember == "always":
            try:
                await run_blocking(self._always.add, server, tools)
            except StateError as error:
                logger.warning("a decision about %s was not saved: %s", server.name, error.message)


class _Progress:
    """Reports the progress of one call, at most once per `PROGRESS_SECONDS`."""

    def __init__(self, tool_use_id: str, send: Send) -> None:
        self._id = tool_use_id
        self._send = send
        self._next = 0.0
        """The earliest time of the next report, by `time.monotonic`."""

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PROGRESS_SECONDS
            shown = None if message is None else make_title(message)
            self._send(ToolStatusEvent(self._id, "running", shown, progress, total))


def _make_approval_event(
    call: ToolUseBlock, offered: OfferedTool, preview: Preview, question: ApprovalQuestion
) -> ToolApprovalEvent:
    diff = [replace(each, uri=escape(each.uri)) for each in preview.diff]
    return ToolApprovalEvent(
        call.id,
        offered.server.name,
        offered.tool.name,
        make_title(preview.title),
        offered.tool.kind,
        show_arguments(call.arguments or {}),
        question.reason,
        question.remember,
        diff or None,
    )


def _make_result(call: ToolUseBlock, name: str, output: ToolOutput) -> ToolResultBlock:
    return ToolResultBlock(call.id, output.content, output.is_error or None, origin=Origin(DAEMON, name))


def _describe_denial(decision: Decision) -> str:
    words = (decision.message or "").strip()
    return f"The user denied this call: {words}" if words else "The user denied this call."
