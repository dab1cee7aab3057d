"""A scripted Ollama server on top of the fake upstream.

The installed models determine the errors, and the answers of `/api/tags`, `/api/show`, `/api/ps` and
`/api/version`. A test scripts the chats with the builders in `jumpseat.testing`. The shapes follow Ollama's
API reference and `api/types.go`; `tests/unit/fakes/test_ollama.py` checks them with the official Python
client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jumpseat.testing.answers.ollama_chat import CREATED_AT, error, lines, part
from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Reply


@dataclass(frozen=True, slots=True)
class FakeModel:
    """An installed model. `capabilities` is None for an old server, which does not report them."""

    name: str = "qwen3:4b"
    family: str = "qwen3"
    context_length: int | None = 40_960
    capabilities: Sequence[str] | None = ("completion", "tools", "thinking")
    parameters: str = ""
    remote_host: str | None = None

    @property
    def details(self) -> dict[str, Any]:
        """The fields that /api/tags and /api/show share."""
        return {
            "parent_model": "",
            "format": "gguf",
            "family": self.family,
            "families": [self.family],
            "parameter_size": "4.0B",
            "quantization_level": "Q4_K_M",
        }

    def row(self) -> dict[str, Any]:
        """Return the model's row in /api/tags."""
        row = {
            "name": self.name,
            "model": self.name,
            "modified_at": CREATED_AT,
            "size": 2_497_293_931,
            "digest": "359d7dd4bcdab3d86b87d73ac27966f4dbb9f5efdfcc75d34a8764a09474fae7",
            "details": self.details,
        }
        return row | ({"remote_host": self.remote_host} if self.remote_host else {})

    def make_description(self) -> dict[str, Any]:
        """Return the answer of /api/show for the model."""
        info: dict[str, Any] = {"general.architecture": self.family, "general.parameter_count": 4_022_468_096}
        if self.context_length is not None:
            info[f"{self.family}.context_length"] = self.context_length
        answer: dict[str, Any] = {
            "modelfile": "FROM fake",
            "template": "{{ .Prompt }}",
            "details": self.details,
            "model_info": info,
            "modified_at": CREATED_AT,
        }
        if self.parameters:
            answer["parameters"] = self.parameters
        if self.capabilities is not None:
            answer["capabilities"] = list(self.capabilities)
        if self.remote_host:
            answer |= {"remote_model": self.name, "remote_host": self.remote_host}
        return answer


@dataclass
class FakeOllama:
    """The server. It answers chats from `script`, and most other requests from `models`."""

    upstream: FakeUpstream
    models: list[FakeModel] = field(default_factory=lambda: [FakeModel()])
    loaded: dict[str, int] = field(default_factory=dict)
    """The context length of each loaded model, for the rows of /api/ps."""

    def __post_init__(self) -> None:
        self.upstream.default(self._tags, path="/api/tags")
        self.upstream.default(self._show, path="/api/show")
        self.upstream.default(self._ps, path="/api/ps")
        self.upstream.default(Reply.json({"version": "0.12.6"}), path="/api/version")
        self.upstream.default(self._chat, path="/api/chat")
        self.upstream.default(self._generate, path="/api/generate")

    @property
    def base_url(self) -> str:
        """The value for `base_url` and `OLLAMA_HOST`."""
        return self.upstream.origin

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chats so far."""
        return [each.json for each in self.upstream.requests if each.path == "/api/chat"]

    @property
    def completions(self) -> list[dict[str, Any]]:
        """The bodies of the requests for completions so far."""
        return [each.json for each in self.upstream.requests if each.path == "/api/generate"]

    def script(self, *replies: Reply) -> None:
        """Script the next chats. A chat that needs a missing model or capability is refused instead."""
        self.upstream.script(*(self._add_refusals(reply) for reply in replies), path="/api/chat")

    def _add_refusals(self, reply: Reply) -> Any:
        def answer(request: RecordedRequest) -> Reply:
            refusal = self._refusal(request.json)
            return refusal if refusal is not None else reply

        return answer

    def _chat(self, request: RecordedRequest) -> Reply:
        refusal = self._refusal(request.json)
        if refusal is not None:
            return refusal
        if not request.json["messages"]:
            unloads = request.json.get("keep_alive") == 0
            return Reply.json(
                {
                    **part(model=request.json["model"], done=True),
                    "done_reason": "unload" if unloads else "load",
                }
            )
        return error("no chat is scripted", 500)

    def _generate(self, request: RecordedRequest) -> Reply:
        """Fill in `a + b`, after the checks of `GenerateHandler` in server/routes.go."""
        asked = request.json
        model = self._find(asked["model"])
        if model is None:
            return error(f"model '{asked['model']}' not found", 404)
        if asked.get("suffix") and "insert" not in (model.capabilities or ("insert",)):
            return error(f"registry.ollama.ai/library/{model.name} does not support insert", 400)
        head = {"model": model.name, "created_at": CREATED_AT}
        texts = [{**head, "response": text, "done": False} for text in ("a +", " b")]
        end = {**head, "response": "", "done": True, "done_reason": "stop"}
        return lines(*texts, {**end, "prompt_eval_count": 21, "eval_count": 4})

    def _refusal(self, asked: Mapping[str, Any]) -> Reply | None:
        """Apply the server's own checks, in the order of `ChatHandler` in server/routes.go."""
        model = self._find(asked.get("model"))
        if model is None:
            return error(f"model '{asked.get('model')}' not found", 404)
        for message in asked["messages"]:
            for each in message.get("tool_calls", ()):
                if not isinstance(each["function"]["arguments"], dict):
                    field_name = "ChatRequest.messages.tool_calls.function.arguments"
                    return error(f"json: cannot unmarshal string into Go struct field {field_name}", 400)
        can = model.capabilities
        if can is not None and asked.get("tools") and "tools" not in can:
            return error(f"registry.ollama.ai/library/{model.name} does not support tools", 400)
        if can is not None and asked.get("think") and "thinking" not in can:
            return error(f'"{model.name}" does not support thinking', 400)
        return None

    def _find(self, name: Any) -> FakeModel | None:
        return next((each for each in self.models if each.name in (name, f"{name}:latest")), None)

    def _tags(self, _: RecordedRequest) -> Reply:
        return Reply.json({"models": [model.row() for model in self.models]})

    def _show(self, request: RecordedRequest) -> Reply:
        model = self._find(request.json.get("model"))
        if model is None:
            return error(f"model '{request.json.get('model')}' not found", 404)
        return Reply.json(model.make_description())

    def _ps(self, _: RecordedRequest) -> Reply:
        running = [model for model in self.models if model.name in self.loaded]
        rows = [{**each.row(), "size_vram": 1, "context_length": self.loaded[each.name]} for each in running]
        return Reply.json({"models": rows})
