"""The cached list of a Copilot account's models, the acceptance of terms, and the `auto` session.

Source: the Copilot API, models and auto mode.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from jumpseat.adapters.github.copilot.models import CHAT_COMPLETIONS, plans_hint, read_models
from jumpseat.adapters.http.shared_answers import SharedAnswers
from jumpseat.chat import AuthorizationError, ChatError, ModelInfo, ProtocolError, RequestError
from jumpseat.system.clock import Moment
from jumpseat.system.secrets import Secret, register_secret

logger = logging.getLogger(__name__)

FRESH_SECONDS = 600.0
"""The time that a list is fresh, and the longest time that an `auto` session is used.

The service allows hours for a list, but policies change.
"""

LIST = "/models"

AUTO = "auto"
"""The model name that lets the service choose the model."""

LIST_SECONDS = 10.0
"""The longest time that a chat waits for the list. A chat can run without it."""

AUTO_MARGIN_SECONDS = 300.0
"""An `auto` session is replaced this long before it expires."""

Ask = Callable[[str, str, Any], Coroutine[Any, Any, Any]]
"""`(method, path, body)` → the JSON of the data plane's response; raises the errors of `get_json`."""


@dataclass(frozen=True, slots=True)
class AutoSession:
    """The model that the service chose, for as long as the session lasts."""

    model: str
    token: Secret
    started: Moment
    seconds: float
    """The time after `started` for which the session is used."""


class CopilotCatalogue:
    """One account's models and its `auto` session.

    Concurrent turns, including those of other sessions, share one request for the models.
    """

    def __init__(
        self,
        provider: str,
        ask: Ask,
        answers: SharedAnswers,
        key: Callable[[], Awaitable[Hashable]],
        *,
        list_seconds: float = LIST_SECONDS,
    ) -> None:
        """
        Args:
            provider: the configured provider's id.
            ask: sends a request to the data plane.
            answers: the cache in which sessions share the list.
            key: returns the key of the list in that cache: everything that determines the response, such as
                the account and the request's headers.
            list_seconds: the time limit for a chat that waits for the list.
        """
        self._provider = provider
        self._ask = ask
        self._answers = answers
        self._key = key
        self._list_seconds = list_seconds
        self._models: list[ModelInfo] | None = None
        self._listed_at: Moment | None = None
        self._is_slow = False
        """Whether a chat has stopped waiting for the request in progress."""

        self._auto: AutoSession | None = None
        self._auto_lock = asyncio.Lock()

    @property
    def known(self) -> Sequence[ModelInfo]:
        """The last list; empty before the first one was fetched."""
        return self._models or ()

    def row(self, model: str) -> ModelInfo | None:
        """Return a model's entry in the last list; None if the list does not have one."""
        return next((each for each in self.known if each.model == model), None)

    def forget(self) -> None:
        """Drop the list and the `auto` session, which belong to one account."""
        self._models, self._listed_at, self._auto = None, None, None

    async def fetch(self) -> list[ModelInfo]:
        """Fetch the list; within `SharedAnswers.recent`, a recent one may be returned.

        Raises:
            ChatError: no account is signed in, or the request failed.
        """
        answer = await self._answers.get(LIST, await self._key(), lambda: self._ask("GET", LIST, None))
        self._models, self._listed_at = read_models(answer, self._provider), Moment.now()
        return self._models

    async def get_for_chat(self) -> Sequence[ModelInfo]:
        """Return the list for a chat, fetching it if it is old; fall back to the old or an empty list."""
        # A request that was too slow for one chat continues, but no other chat waits for it.
        is_fresh = self._listed_at is not None and self._listed_at.age() <= FRESH_SECONDS
        if is_fresh or (self._is_slow and self._answers.is_running(LIST)):
            return self.known
        self._is_slow = False
        try:
            async with asyncio.timeout(self._list_seconds):
                with self._answers.recent():
                    return await self.fetch()
        except TimeoutError:
            self._is_slow = True
            logger.warning("the models of %s were not listed within %g s", self._provider, self._list_seconds)
        except ChatError as error:
            logger.info("the models of %s cannot be listed now: %s", self._provider, error.message)
        return self.known

    async def accept_terms(self, model: str) -> ModelInfo:
        """Accept a model's terms for the account, and check that this took effect.

        Raises:
            RequestError: the model does not exist.
            AuthorizationError: the service agreed, but the plan or a policy still disables the model.
            ChatError: the request failed.
        """
        row = self.row(model) or _row(await self.fetch(), model)
        if row is None:
            raise RequestError(
                f"The provider {self._provider} has no model {model!r}.",
                provider=self._provider,
                hint=f"Run `jumpseat models --provider {self._provider} --refresh` to see its models.",
            )
        with contextlib.suppress(ProtocolError):  # The body is not needed, and often empty.
            await self._ask("POST", f"/models/{quote(model, safe='')}/policy", {"state": "enabled"})
        row = _row(await self.fetch(), model)
        if row is None or row.policy not in (None, "enabled"):
            raise AuthorizationError(
                f"The terms of {model} were accepted, but the model is still not enabled for this account.",
                provider=self._provider,
                hint=f"The plan does not include it, or an administrator has to enable it.{plans_hint(row)}",
            )
        return row

    async def get_auto_session(self) -> AutoSession:
        """Return the session behind the model `auto`, starting one if needed.

        Raises:
            ChatError: the request failed.
        """
        async with self._auto_lock:
            if self._auto is None or self._auto.started.age() > self._auto.seconds:
                answer = await self._ask("POST", "/models/session", {"auto_mode": {"model_hints": [AUTO]}})
                self._auto = self._read_session(answer)
            return self._auto

    def _read_session(self, answer: Any) -> AutoSession:
        body: Mapping[str, Any] = answer if isinstance(answer, Mapping) else {}
        offered = body.get("available_models")
        first = offered[0] if isinstance(offered, list) and offered else None
        model, token = body.get("selected_model") or first, body.get("session_token")
        if not (isinstance(model, str) and model and isinstance(token, str) and token):
            raise ProtocolError(
                f"{self._provider} started an auto session without naming a model.", provider=self._provider
            )
        expires_at = body.get("expires_at")
        left = float(expires_at) - time.time() if isinstance(expires_at, int | float) else FRESH_SECONDS
        # `expires_at` is by the service's clock, which may differ from this machine's, so limit the result.
        left = min(max(left - AUTO_MARGIN_SECONDS, 0.0), FRESH_SECONDS)
        return AutoSession(model, register_secret(token, short_lived=True), Moment.now(), left)


def auto_row(provider: str) -> ModelInfo:
    """Return the entry of the model `auto`, whose abilities depend on the service's choice."""
    return ModelInfo(
        provider=provider,
        model=AUTO,
        name="Auto",
        family=AUTO,
        version=AUTO,
        vendor="GitHub",
        endpoints=[CHAT_COMPLETIONS],
    )


def _row(models: Sequence[ModelInfo], model: str) -> ModelInfo | None:
    return next((each for each in models if each.model == model), None)
