"""A fake parlour. It numbers its leases, and records the stop reason with which each was returned."""

from __future__ import annotations

from parlour_script import ParlourScript

from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Reply


class FakeParlour(FakeUpstream):
    """The server of a parlour, which is the fictitious provider of the example."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []
        self.returned: dict[str, str] = {}
        ParlourScript().prepare(self, ["alto"])
        self.default(self._lease, "/leases")

    @property
    def visits(self) -> list[RecordedRequest]:
        """The requests for chats."""
        return [request for request in self.requests if request.path == "/converse"]

    def _lease(self, request: RecordedRequest) -> Reply:
        lease = f"lease-{len(self.given) + 1}"
        self.given.append(lease)
        self.default(self._return, f"/leases/{lease}/return")
        return Reply.json({"lease": lease})

    def _return(self, request: RecordedRequest) -> Reply:
        lease = request.path.split("/")[2]
        assert lease not in self.returned, f"{lease} was returned twice"
        self.returned[lease] = request.json["after"]
        return Reply.json({})
