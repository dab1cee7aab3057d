"""File systems with little space."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mount_small_disk(directory: Path) -> Iterator[Path]:
    """Create a directory and mount a file system of 64 KiB there. Skip the test if this is not permitted."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(directory)]
    if sys.platform != "linux" or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this user cannot mount a file system")
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)
