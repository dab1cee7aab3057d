"""The parlour: a fictitious provider with its own dialect, its own key header, and leases.

`POST /converse` answers in lines of JSON. Every chat needs a lease from `/leases` and must return it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field

from jumpseat.adapters.base import Capabilities, ProviderConfig, SettingRow, read_options
from jumpseat.adapters.http.hooks import HttpAdapter, Outcome
from jumpseat.chat import (
    ChatError,
    ChatRequest,
    ModelInfo,
    ProtocolError,
    RateLimitError,
    WarningEvent,
)
from jumpseat.dialects import ProviderFault
from jumpseat.http import HttpCall, HttpClient, get_json
from jumpseat_example import dialect
from jumpseat_example.decoder import ParlourDecoder


class ParlourOptions(BaseModel):
    """The keys of a parlour's table that other providers do not have."""

    region: str = Field(default="north", pattern="^(north|south)$")
    lease_seconds: int = Field(default=60, ge=1, le=600)


SETTINGS = {
    "warmth": SettingRow(
        type="number", order=1, minimum=0, maximum=1, optional=True, description="Warmer is chattier."
    ),
    "tone": SettingRow(type="enum", order=2, choices=["plain", "florid"], default="plain"),
}


class Parlour(HttpAdapter):
    """One parlour."""

    path = "/converse"
    messages_key = "turns"
    capabilities = Capabilities(vision=False)
    options = ParlourOptions
    settings_rows = SETTINGS

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        super().__init__(provider, config, http)
        self._options = read_options(ParlourOptions, provider, config)

    async def set_up(self, request: ChatRequest) -> ChatRequest:
        terms = {"region": self._options.region, "seconds": self._options.lease_seconds}
        answer = await self._ask("POST", "/leases", terms)
        if not answer.get("lease"):
            wait = answer.get("come_back_in")
            raise RateLimitError("The parlour is full.", provider=self.provider_name, retry_after=wait)
        return replace(request, state={"lease": answer["lease"]})

    def credential(self, key: str) -> Mapping[str, str]:
        return {"x-parlour-key": key}

    def form_headers(self, request: ChatRequest) -> Mapping[str, str]:
        return {"x-parlour-lease": request.state["lease"]}

    def warnings(self, request: ChatRequest) -> Iterable[WarningEvent]:
        if request.stop_sequences:
            yield WarningEvent("parameter_dropped", "The parlour does not support stop sequences.")

    def form_parameters(self, request: ChatRequest) -> Mapping[str, Any]:
        return {**dialect.parameters(request), **self.config.parameters, **request.settings}

    def form_messages(self, request: ChatRequest) -> Sequence[Any]:
        return dialect.turns(request, self.provider_name)

    def decode(self, request: ChatRequest) -> ParlourDecoder:
        return ParlourDecoder(self.provider_name, request.model)

    def refine(self, request: ChatRequest, fault: ProviderFault, error: ChatError) -> Exception:
        better = super().refine(request, fault, error)
        if isinstance(better, ChatError) and better.status_code == 423:
            better.hint = "The lease ran out: set lease_seconds higher."
        return better

    async def tear_down(self, request: ChatRequest, outcome: Outcome) -> None:
        await self._ask("POST", f"/leases/{request.state['lease']}/return", {"after": outcome.stop_reason})

    def inline_output(self, text: str) -> str | None:
        # The parlour puts the new text of an edit between << and >>.
        _, begun, rest = text.partition("<<")
        inside, ended, _ = rest.rpartition(">>")
        return inside if begun and ended else None

    async def count_tokens(self, request: ChatRequest) -> int:
        answer = await self._ask("POST", "/measure", self.form_body(request))
        tokens = answer.get("tokens")
        return tokens if isinstance(tokens, int) else -1

    async def fetch_models(self) -> list[ModelInfo]:
        voices = (await self._ask("GET", "/voices")).get("voices")
        if not isinstance(voices, list):
            raise ProtocolError("The parlour did not list its voices.", provider=self.provider_name)
        return [
            ModelInfo(
                provider=self.provider_name,
                model=voice["id"],
                name=voice["title"],
                family="parlour",
                version="1",
                max_context_tokens=voice.get("hears"),
                supports_vision=False,
            )
            for voice in voices
        ]

    async def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        call: HttpCall = await self.call(method, path, body)
        answer = await get_json(self.http, call, provider=self.provider_name)
        return answer if isinstance(answer, dict) else {}
