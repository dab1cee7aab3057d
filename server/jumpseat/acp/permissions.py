"""Asks the client's user whether a tool call may run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat.acp.client import AcpClient
from jumpseat.chat import Remember
from jumpseat.tools.approvals import Decision
from jumpseat.wire import RequestId

DENIAL = Decision(is_allowed=False)

ALLOW, ALLOW_CONVERSATION, ALLOW_ALWAYS, REJECT = "allow", "allow_conversation", "allow_always", "reject"


async def ask_permission(
    client: AcpClient,
    conversation_id: str,
    tool_call: Mapping[str, Any],
    tool: str,
    remember: Sequence[Remember],
) -> Decision:
    """Ask the user about a call, and return the decision. If the wait is cancelled, withdraw the question.

    The call is denied if the client cannot ask, if the user closes the question, or if the answer is not one
    of the options.

    Args:
        client: the client.
        conversation_id: the conversation of the call.
        tool_call: the call, in the protocol's form.
        tool: the tool as `server/tool`, for the labels of the options.
        remember: the values of `Decision.remember` that the user may choose.
    """
    decisions = {ALLOW: Decision(is_allowed=True)}
    options = [{"optionId": ALLOW, "name": "Allow", "kind": "allow_once"}]
    if "conversation" in remember:
        decisions[ALLOW_CONVERSATION] = Decision(is_allowed=True, remember="conversation")
        name = f"Allow {tool} in this conversation"
        options.append({"optionId": ALLOW_CONVERSATION, "name": name, "kind": "allow_always"})
    if "always" in remember:
        decisions[ALLOW_ALWAYS] = Decision(is_allowed=True, remember="always")
        options.append({"optionId": ALLOW_ALWAYS, "name": f"Always allow {tool}", "kind": "allow_always"})
    options.append({"optionId": REJECT, "name": "Reject", "kind": "reject_once"})

    def withdraw(request_id: RequestId) -> None:
        client.outbox.notify("$/cancel_request", {"requestId": request_id})

    params = {"sessionId": conversation_id, "toolCall": tool_call, "options": options}
    response = await client.client_requests.exchange("session/request_permission", params, None, withdraw)
    outcome = response.result.get("outcome") if isinstance(response.result, Mapping) else None
    if not isinstance(outcome, Mapping) or outcome.get("outcome") != "selected":
        return DENIAL
    return decisions.get(str(outcome.get("optionId")), DENIAL)
