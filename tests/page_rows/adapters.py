"""The requirements about the interface of adapters, which plug-ins implement too."""

PREFIX = "adapters"
SOURCE = "adapters/base/interface.py"
ROWS: dict[str, str | tuple[str, str]] = {
    "contract-suite": "every kind of provider passes jumpseat.testing, with recordings of its own",
    "contract-can-fail": "an adapter that breaks a rule of the interface fails the suite with a sentence",
    "tool-server-suite": "every tool server passes ToolServerContract; one that breaks a rule fails it",
    "contract-public": "the suite runs for third parties, without the daemon's own tests",
}
