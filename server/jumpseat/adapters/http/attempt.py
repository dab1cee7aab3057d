"""The shared parts of all routes: the request of one attempt, and the record of refused parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jumpseat.adapters.base import Replan
from jumpseat.adapters.http.refusals import unknown_model_error
from jumpseat.chat import ChatError, ChatRequest, WarningEvent
from jumpseat.dialects import Decoder, ProviderFault
from jumpseat.dialects.efforts import effort_warning, efforts_after_refusal, nearest_effort
from jumpseat.dialects.parameters import dropped_parameter_warning, omit
from jumpseat.dialects.reasoning_models import efforts_of
from jumpseat.http import Refine


@dataclass(frozen=True, slots=True)
class Prepared:
    """An encoded request, the warnings for the user, and the decoder of its answer."""

    body: Mapping[str, Any]
    warnings: Sequence[WarningEvent]
    decoder: Decoder
    refine: Refine
    """Maps the error of a refused request to the exception to raise."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers of the dialect, with names in lower case."""

    on_headers: Callable[[Mapping[str, str]], None] | None = None
    """Receives the headers of an answer that is not an error, and may raise a `Replan`."""


class Route(ABC):
    """One dialect at one endpoint. It remembers which parameters the endpoint refuses for each model."""

    path: str
    """The path of a request below the base URL."""

    def __init__(self, provider: str) -> None:
        """
        Args:
            provider: the configured provider's id.
        """
        self._provider = provider
        self._refused: dict[str, frozenset[str]] = {}
        """The parameters that the endpoint has refused, by model."""

        self._efforts: dict[str, Collection[str]] = {}
        """The reasoning efforts that remain after a refusal, by model."""

        self.listed_efforts: Callable[[str], Collection[str] | None] = lambda model: None
        """Returns the reasoning efforts (`low`, `high` …) that the provider lists for a model, if any."""

    @abstractmethod
    def prepare(self, request: ChatRequest) -> Prepared:
        """Encode a request without the parts that are known to be refused."""

    def _learn(
        self, request: ChatRequest, body: Mapping[str, Any], fault: ProviderFault, error: ChatError
    ) -> Replan | None:
        """Learn from a refusal, and return the replan of the request; None if nothing can be changed."""
        return None

    def _refine(self, request: ChatRequest, body: Mapping[str, Any]) -> Refine:
        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            learned = self._learn(request, body, fault, error)
            return learned or unknown_model_error(fault, error, self._provider, request.model) or error

        return refine

    def _refused_parameters(self, model: str) -> frozenset[str]:
        """Return the parameters that the endpoint has refused for a model: `name`, or `object.member`."""
        return self._refused.get(model, frozenset())

    def _remember(self, model: str, name: str, error: ChatError) -> Replan:
        """Omit a parameter from this model's requests from now on, and return the replan."""
        self._refused[model] = self._refused_parameters(model) | {name}
        return Replan(f"refused_parameter:{name}", error)

    def _efforts_of(self, model: str) -> Collection[str]:
        """Return a model's efforts: learned from a refusal, or else listed, or else derived from its name."""
        return self._efforts.get(model) or self.listed_efforts(model) or efforts_of(model)

    def _effort_warnings(self, request: ChatRequest) -> list[WarningEvent]:
        """Return a warning if the model does not support the request's thinking level exactly."""
        if request.thinking is None:
            return []
        effort = nearest_effort(request.thinking, self._efforts_of(request.model))
        warning = effort_warning(request.model, request.thinking, effort)
        return [] if warning is None else [warning]

    def _learn_efforts(
        self, model: str, effort: Any, fault: ProviderFault, error: ChatError
    ) -> Replan | None:
        """Remember the efforts that remain after a refusal of `effort`, and return the replan.

        Return None if no effort remains, or if the refused request had no effort.
        """
        if not isinstance(effort, str):
            return None
        efforts = efforts_after_refusal(fault.message, effort, self._efforts_of(model))
        if not efforts:
            return None
        self._efforts[model] = efforts
        return Replan(f"refused_effort:{effort}", error)

    def _omit_refused(
        self,
        model: str,
        body: Mapping[str, Any],
        unsupported: Mapping[str, str] | None = None,
        silent: Collection[str] = (),
    ) -> tuple[dict[str, Any], list[WarningEvent]]:
        """Return the body without the refused parameters, and a warning for each removed one.

        Args:
            model: the model of the request.
            body: the complete body.
            unsupported: parameters that the model is known to refuse, each with the predicate of a sentence
                about the model: "does not reason".
            silent: parameters to remove without a warning.
        """
        reasons = {name: f"{model} {reason}" for name, reason in (unsupported or {}).items()}
        reasons |= dict.fromkeys(self._refused_parameters(model), f"{self._provider} refuses it for {model}")
        names = [name for name in sorted(reasons) if omit(body, [name]) != body]
        warnings = [dropped_parameter_warning(name, reasons[name]) for name in names if name not in silent]
        return omit(body, names), warnings
