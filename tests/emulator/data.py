"""The data plane: models, policies, auto mode, embeddings and the three chat endpoints."""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from jumpseat.testing.upstream import RecordedRequest, Reply
from tests.emulator import (
    chat_completions,
    chat_flavours,
    message_events,
    messages,
    response_events,
    responses,
)
from tests.emulator.admission import Entry, admit, charge, choose_model
from tests.emulator.catalogue import Model
from tests.emulator.conversation import Prompt, compose, count_words
from tests.emulator.refusals import (
    Refused,
    html_safe_json,
    invalid_body,
    make_coded_error,
    make_plain_error,
    model_not_supported,
)
from tests.emulator.seals import Sealer
from tests.emulator.state import Session, State, body_object

_AUTO_SECONDS = 3600
_AUTO_DISCOUNT = 0.1
_EMBEDDING_SIZE = 1536


@dataclasses.dataclass(frozen=True)
class _Chat:
    """A chat endpoint. `listed` is its name in `supported_endpoints`."""

    listed: str
    read: Callable[[dict[str, Any], Model, Sealer], Prompt]
    write: Callable[..., Reply]


_RESPONSES = _Chat("/responses", responses.read, response_events.write)
CHATS: Mapping[str, _Chat] = {
    "/chat/completions": _Chat("/chat/completions", chat_completions.read, chat_flavours.write),
    "/responses": _RESPONSES,
    "/v1/responses": _RESPONSES,
    "/v1/messages": _Chat("/v1/messages", messages.read, message_events.write),
}


def answer(state: State, plane: str, request: RecordedRequest) -> Reply:
    """Return the answer of a data host."""
    if request.path == "/_ping":
        return Reply.raw(b"OK")
    try:
        entry = admit(state, plane, request)
        reply = _route(state, entry, request)
    except Refused as refused:
        reply = refused.reply
    headers = {
        "x-request-id": request.headers.get("x-request-id") or secrets.token_hex(16),
        "x-copilot-service-request-id": secrets.token_hex(16),
        "x-github-backend": "Kubernetes",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Strict-Transport-Security": "max-age=31536000",
    }
    return dataclasses.replace(reply, headers={**headers, **reply.headers})


def _route(state: State, entry: Entry, request: RecordedRequest) -> Reply:
    if request.method == "POST" and request.path in CHATS:
        return _chat(state, entry, request)
    match request.method, request.path.strip("/").split("/"):
        case "GET", ["models"]:
            rows = state.models.rows(entry.account, entry.api_version, entry.integrator)
            return Reply.json({"data": rows, "object": "list"}, Cache_Control="private, max-age=21600")
        case "GET", ["models", model_id]:
            model = state.models.find(model_id)
            found = model.row(entry.account, entry.api_version) if model else None
            return Reply.json(found) if found else make_coded_error(404, "model not found", "not_found")
        case "POST", ["models", "session"]:
            return _open_session(state, entry, request)
        case "POST", ["models", "session", "intent"]:
            return _intent(state, entry, request)
        case "POST", ["models", model_id, "policy"]:
            return _set_policy(state, entry, model_id, request)
        case "POST", ["embeddings"]:
            return _embeddings(state, request)
        case "GET", ["agents"]:
            return Reply.json({"agents": []})
        case "GET", ["responses"]:
            return make_plain_error(503, "the WebSocket transport is not available\n")
    return make_plain_error(404, "404 page not found\n")


def _chat(state: State, entry: Entry, request: RecordedRequest) -> Reply:
    body = body_object(request)
    if body is None:
        return make_coded_error(400, "failed to parse request", "")
    chat = CHATS[request.path]
    model = choose_model(state, entry, body.get("model"), chat.listed)
    if chat.listed == "/v1/messages":
        messages.check_betas(request.headers.get("anthropic-beta", ""))
    try:
        prompt = chat.read(body, model, state.seals)
    except (KeyError, TypeError, AttributeError) as error:
        return invalid_body(f"failed to parse request: {type(error).__name__} {error}")
    # The other routes accept images without this header, because GitHub's own language server omits it there.
    needs_header = prompt.images and request.path == "/chat/completions"
    if needs_header and request.headers.get("copilot-vision-request") != "true":
        return make_coded_error(400, "missing required Copilot-Vision-Request header for vision requests", "")
    limit = (model.limits or {}).get("max_prompt_tokens")
    if limit is not None and prompt.words > limit:
        message = f"prompt token count of {prompt.words} exceeds the limit of {limit}"
        return make_coded_error(400, message, "model_max_prompt_tokens_exceeded")
    quotas = charge(state, entry, model, request)
    answer = compose(prompt)
    owner = (entry.account.login, model.id)
    answer.cache_read, answer.cache_written = state.prompts.use(owner, prompt.segments)
    reply: Reply = chat.write(prompt, answer, model, body, state.seals, state.clock.now())
    return dataclasses.replace(reply, headers={**reply.headers, **quotas})


def _set_policy(state: State, entry: Entry, model_id: str, request: RecordedRequest) -> Reply:
    body = body_object(request) or {}
    # GitHub's editor sends `state`, but its language server sends `status`.
    requested = body.get("state", body.get("status"))
    model = state.models.find(model_id)
    if model is None:
        return make_coded_error(404, "model not found", "not_found")
    if model.policy is None or requested not in ("enabled", "disabled"):
        return make_coded_error(400, "the model has no policy that could be set so", "bad_request")
    # If the plan excludes the model, the service accepts this too, but it has no effect: see `policy_for`.
    entry.account.policies[model_id] = requested
    return Reply.raw(b"")


def _open_session(state: State, entry: Entry, request: RecordedRequest) -> Reply:
    hints = ((body_object(request) or {}).get("auto_mode") or {}).get("model_hints")
    if not hints:
        return invalid_body("auto_mode.model_hints is required")
    usable = [
        model
        for model in state.models.available(entry.integrator)
        if model.broken is None and model.type == "chat" and model.picker and model.in_plan(entry.account)
        if model.policy_for(entry.account) in (None, "enabled")
    ]
    session = Session(
        entry.account,
        [model.id for model in usable],
        {model.id: _AUTO_DISCOUNT for model in usable},
        state.clock.now() + _AUTO_SECONDS,
    )
    token = secrets.token_urlsafe(32)
    state.sessions[token] = session
    body = {
        "available_models": session.models,
        "selected_model": session.models[0],
        "session_token": token,
        "expires_at": int(session.expires_at),
        "discounted_costs": session.discounts,
    }
    return Reply.json(body)


def _intent(state: State, entry: Entry, request: RecordedRequest) -> Reply:
    session = state.sessions.get(request.headers.get("copilot-session-token", ""))
    if session is None or session.account is not entry.account:
        return make_coded_error(401, "The session token is not valid.", "session_expired")
    body = body_object(request) or {}
    candidates = [each for each in body.get("available_models") or () if each in session.models]
    if not candidates:
        raise Refused(model_not_supported())
    hard = min(1.0, count_words(str(body.get("prompt", ""))) / 100)
    chosen = {
        "predicted_label": "needs_reasoning" if hard > 0.5 else "no_reasoning",
        "confidence": max(hard, 1 - hard),
        "latency_ms": 1,
        "candidate_models": candidates,
        "chosen_model": candidates[0],
        "scores": {"needs_reasoning": hard, "no_reasoning": 1 - hard},
    }
    return Reply.json(chosen)


def _embeddings(state: State, request: RecordedRequest) -> Reply:
    body = body_object(request) or {}
    model = state.models.find(str(body.get("model")))
    texts = body.get("input")
    if model is None or model.type != "embeddings":
        return model_not_supported()
    if not isinstance(texts, list) or not texts:
        return invalid_body("input must be a list of texts")
    most = (model.limits or {}).get("max_inputs")
    if most is not None and len(texts) > most:
        return invalid_body(f"input has {len(texts)} entries; the limit is {most}")
    tokens = sum(count_words(str(text)) for text in texts)
    rows = [
        {"object": "embedding", "index": index, "embedding": _vector(str(text))}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    whole = {"object": "list", "data": rows, "model": model.id, "usage": usage}
    return Reply.raw(html_safe_json(whole).encode(), content_type="application/json")


def _vector(text: str) -> list[float]:
    """Return a vector of about unit length, always the same for the same text."""
    stream = hashlib.shake_256(text.encode()).digest(_EMBEDDING_SIZE)
    return [(byte - 127.5) / 127.5 / (_EMBEDDING_SIZE / 3) ** 0.5 for byte in stream]
