"""Reads and writes files through the client, which has the unsaved texts of open files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.connections.uris import path_of_uri
from jumpseat.system.regular_file import read_regular
from jumpseat.system.threads import run_blocking
from jumpseat.tools.files.text import MAX_TEXT, UTF_8, NotTextError, TextForm, decode, normalize
from jumpseat.tools.workspace import EDITOR_SECONDS, UnsavedFile, Workspace

_BYTE_ORDER_MARK = "\ufeff"


class AcpWorkspace(Workspace):
    """The directories of a conversation, and the texts of the client.

    The protocol cannot list the files with unsaved changes, and its texts have no versions.
    """

    saves_text = True

    def __init__(self, client: AcpClient, conversation: AcpConversation) -> None:
        """
        Args:
            client: the client.
            conversation: the conversation, whose directories are the workspace folders.
        """
        super().__init__((conversation.directory, *conversation.additional_directories))
        self._client = client
        self._conversation = conversation
        # If the client does not let the daemon read a text first, writing could overwrite unsaved changes.
        self.can_replace_text = client.abilities.reads_files and client.abilities.writes_files

    async def find_unsaved(self, uris: Sequence[str] | None = None) -> Sequence[UnsavedFile]:
        """Return the files whose text in the client differs from the disk; see the base class.

        If the client can write files, the files whose texts do not differ follow at the end, so that the
        client makes the changes to these files too, and shows them.
        """
        if uris is None or not self._client.abilities.reads_files:
            return ()
        paths = [path for uri in uris if (path := path_of_uri(uri)) is not None]
        found = await asyncio.gather(*map(self._find, paths))
        files = [each for each in found if each is not None]
        return [file for wanted in (True, False) for file, differs in files if differs is wanted]

    async def replace_text(self, file: UnsavedFile, text: str) -> bool:
        """Let the client write a text; see the base class."""
        if not self.can_replace_text or file.path is None:
            return False
        if await read_text(self._client, self._conversation, file.path) != file.text:
            return False
        params = {"sessionId": self._conversation.id, "path": str(file.path), "content": text}
        response = await self._client.client_requests.exchange("fs/write_text_file", params, EDITOR_SECONDS)
        return response.error is None

    async def _find(self, path: Path) -> tuple[UnsavedFile, bool] | None:
        """Return the client's text of a file, and whether it differs from the file on disk.

        None means that the daemon must change the file itself.
        """
        try:
            saved, form = await run_blocking(_read_stored, path)
        except (OSError, NotTextError):
            return None  # The file is a device, too large, or not text, so the client's text may be garbage.
        text = await read_text(self._client, self._conversation, path)
        if text is None:
            return None
        # Ignore what a client may change: line endings, a byte order mark, and the final line ending.
        shown, expected = (
            normalize(each).removeprefix(_BYTE_ORDER_MARK).removesuffix("\n") for each in (text, saved)
        )
        differs = shown != expected
        if differs and form != UTF_8 and ("\0" in text or "\ufffd" in text):
            return None  # The client has decoded the file with another encoding.
        if not differs and not (self.can_replace_text and form == UTF_8 and text == saved != ""):
            # Unlike the client, the daemon preserves line endings, a byte order mark and the encoding.
            return None
        return UnsavedFile(path.as_uri(), None, text, path), differs


async def read_text(client: AcpClient, conversation: AcpConversation, path: Path) -> str | None:
    """Return the client's text of a file; None if the client does not send one.

    Raises:
        TimeoutError: the client did not answer.
    """
    params = {"sessionId": conversation.id, "path": str(path)}
    response = await client.client_requests.exchange("fs/read_text_file", params, EDITOR_SECONDS)
    text = response.result.get("content") if isinstance(response.result, dict) else None
    return text if isinstance(text, str) else None


def _read_stored(path: Path) -> tuple[str, TextForm]:
    """Return the text of a file and its form; an empty text if there is no file. Blocks.

    Raises:
        OSError: the file cannot be read, or is too large.
        NotTextError: the file is not text.
    """
    try:
        return decode(read_regular(path, MAX_TEXT))
    except FileNotFoundError:
        return "", UTF_8
