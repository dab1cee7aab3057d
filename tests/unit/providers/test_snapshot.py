"""The vendored facts: the contents of the file, when it is read, and how a maintainer refreshes it."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from jumpseat.providers import snapshot
from tests.tools import refresh_snapshot

FILE = Path(snapshot.__file__).with_name(snapshot.FILE)
MAX_BYTES = 150_000

API: dict[str, Any] = {
    "anthropic": {
        "models": {
            "claude-x": {
                "name": "Claude X",
                "family": "claude",
                "tool_call": True,
                "reasoning": False,
                "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},
                "limit": {"context": 1000, "input": 800, "output": 200},
                "cost": {"input": 1},
            },
            "embedder": {"modalities": {"input": ["text"], "output": []}, "limit": {"context": 1}},
            "painter": {"modalities": {"input": ["text"], "output": ["image"]}, "limit": {"context": 1}},
            "unlimited": {"modalities": {"input": ["text"], "output": ["text"]}, "limit": {"context": 0}},
        }
    },
    "unknown-catalogue": {"models": {}},
}
KEPT = {
    "name": "Claude X",
    "family": "claude",
    "context": 1000,
    "input": 800,
    "output": 200,
    "can": "tools vision",
}


def test_the_file_is_small_and_has_its_source_and_date() -> None:
    snapshot_file = json.loads(FILE.read_text("utf-8"))

    assert FILE.stat().st_size < MAX_BYTES
    assert snapshot_file["source"] == "https://models.dev"
    assert "MIT" in snapshot_file["licence"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", snapshot_file["date"])
    assert set(snapshot_file["catalogues"]) == set(snapshot.CATALOGUES)


def test_every_row_is_valid() -> None:
    rows = [row for models in snapshot.read_snapshot().values() for row in models.values()]

    assert len(rows) > 200
    for row in rows:
        assert row.max_context_tokens
        assert (row.max_prompt_tokens or 1) <= row.max_context_tokens
        assert row.supports_json in (True, None)


def test_the_daemon_starts_without_reading_the_snapshot() -> None:
    script = (
        "import jumpseat.connections.connection, jumpseat.providers.snapshot as s; "
        "print(s.read_snapshot.cache_info().misses)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.strip() == "0"


def make_database(file: Path) -> bytes:
    connection = sqlite3.connect(file)
    connection.executescript(
        """
        CREATE TABLE metadata (key TEXT, value TEXT);
        CREATE TABLE models (full_id TEXT, provider_id TEXT, id TEXT, name TEXT, family TEXT,
            reasoning INTEGER, tool_call INTEGER, structured_output INTEGER, status TEXT,
            limit_context INTEGER, limit_input INTEGER, limit_output INTEGER);
        CREATE TABLE model_modalities (model_full_id TEXT, direction TEXT, position INTEGER, value TEXT);
        INSERT INTO metadata VALUES ('generated_at', '2026-08-18T08:14:34+00:00');
        INSERT INTO models VALUES ('anthropic:claude-x', 'anthropic', 'claude-x', 'Claude X', 'claude', 0, 1,
            NULL, NULL, 1000, 800, 200);
        INSERT INTO model_modalities VALUES ('anthropic:claude-x', 'input', 0, 'text'),
            ('anthropic:claude-x', 'input', 1, 'image'), ('anthropic:claude-x', 'output', 0, 'text');
        """
    )
    connection.commit()
    connection.close()
    return file.read_bytes()


@pytest.mark.parametrize(
    ("form", "date"),
    [
        ("json", None),
        ("gzip", None),
        ("database", "2026-08-18"),
        ("wheel", None),
        ("other wheel", "2026-08-18"),
    ],
)
def test_the_snapshot_is_regenerated_from_any_form_of_the_data(
    tmp_path: Path, form: str, date: str | None
) -> None:
    text = json.dumps(API).encode()
    data = {"json": text, "gzip": gzip.compress(text), "database": make_database(tmp_path / "db")}
    file = tmp_path / "data"
    if form in data:
        file.write_bytes(data[form])
    else:
        inside = {
            "wheel": ("m/data.json.gz", data["gzip"]),
            "other wheel": ("m/_db.sqlite", data["database"]),
        }
        with zipfile.ZipFile(file, "w") as wheel:
            wheel.writestr(*inside[form])

    models, found_date = refresh_snapshot.read(file)
    rendered = json.loads(refresh_snapshot.render(models, found_date or "2026-01-01"))

    assert found_date == date
    assert rendered["catalogues"] == {"anthropic": {"claude-x": KEPT}}
    assert rendered["date"] == (date or "2026-01-01")
