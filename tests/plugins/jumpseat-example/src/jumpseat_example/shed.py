"""The smallest tool server."""

from jumpseat.tools.server import Tool, ToolCall, ToolError, ToolOutput, ToolServer

DIG = Tool(
    name="dig",
    description="Digs a hole and returns what is in it.",
    parameters={"type": "object", "properties": {"depth": {"type": "integer"}}, "required": ["depth"]},
)


class Shed(ToolServer):
    async def list_tools(self):
        return [DIG]

    @property
    def known_tools(self):
        return [DIG]

    async def call(self, call: ToolCall) -> ToolOutput:
        depth = call.arguments.get("depth")
        if not isinstance(depth, int):
            raise ToolError("depth must be an integer.")
        return ToolOutput(f"{depth} m of earth")


def create(environment):
    return Shed("shed")
