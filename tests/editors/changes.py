"""Changes of a Git repository, one of which is too long for a model."""

from __future__ import annotations

import subprocess
from pathlib import Path

WIDE = '[[providers.fake.models]]\nid = "other-model"\nmax_prompt_tokens = 100000\n'
"""A model of the provider `fake` that accepts the whole diff. The limit of the default model is unknown."""

WARNING = "The diff is too long for the model. These files are left out: all.lock"
NOTE = "These files have changed too, but their diffs are too long: all.lock"


def stage_long_change(repository: Path) -> None:
    """Stage a file whose diff is longer than 64 kB, the limit for models that do not report one."""
    (repository / "all.lock").write_text("pinned = 1\n" * 7000)
    git(repository, "add", "all.lock")


def git(repository: Path, *arguments: str) -> None:
    """Run Git with an identity, so that it can commit."""
    identity = ("-c", "user.name=Mona", "-c", "user.email=mona@example.org")
    subprocess.run(
        ["git", *identity, *arguments], cwd=repository, check=True, capture_output=True, timeout=20
    )
