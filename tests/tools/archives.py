"""Builds the packages for Emacs and Neovim into `dist/`: `make archives`.

Each package contains the plug-in with its README, the installer that all editors share, and the daemon's
wheel, which must already be in `dist/`. The same sources and the same wheel always produce the same bytes.
"""

from __future__ import annotations

import gzip
import io
import os
import posixpath
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from jumpseat import __version__

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
EDITORS = ROOT / "editors"

DEFAULT_TIME = 1580601600
"""The modification time of all files if SOURCE_DATE_EPOCH is not set; hatchling has the same default."""

_RELATIVE_LINK = re.compile(r"(?<=\]\()(?!https:|#)[^)\s]+")

PACKAGE_FILE = """\
;;; Generated from the header of jumpseat.el.  -*- no-byte-compile: t -*-
(define-package "jumpseat" "{version}" "{summary}" '{requires}
  :url "{url}" :keywords '({keywords}))
"""


def build_emacs_package(directory: Path) -> Path:
    """Build the tar that `package-install-file` installs."""
    top = f"jumpseat-{__version__}"
    package = EDITORS / "emacs"
    # package.el adds the manual to Info only if there is a file named `dir`.
    manual = [package / "dir", package / "jumpseat.info"]
    files = {file.name: file.read_bytes() for file in sorted([*package.glob("jumpseat*.el"), *manual])}
    files["jumpseat-pkg.el"] = package_description(files["jumpseat.el"].decode()).encode()
    built = directory / f"jumpseat-emacs-{__version__}.tar"
    built.write_bytes(tar(top, {**files, **dict(common_files("emacs", directory))}))
    return built


def build_neovim_archive(directory: Path) -> Path:
    """Build the archive that users unpack into `pack/*/start/`."""
    plugin = EDITORS / "neovim"
    found = [file for folder in ("doc", "lua", "plugin") for file in (plugin / folder).rglob("*")]
    files = {
        file.relative_to(plugin).as_posix(): file.read_bytes() for file in sorted(found) if file.is_file()
    }
    built = directory / f"jumpseat-neovim-{__version__}.tar.gz"
    packed = tar("jumpseat", {**files, **dict(common_files("neovim", directory))})
    built.write_bytes(gzip.compress(packed, mtime=modification_time()))
    return built


def common_files(editor: str, directory: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files that every editor's package contains: README, licence, installer and wheel."""
    yield "README.md", readme(editor).encode()
    (wheel,) = directory.glob(f"jumpseat-{__version__}-*.whl")
    for file in (ROOT / "LICENSE", EDITORS / "bootstrap.py", wheel):
        yield file.name, file.read_bytes()


def readme(editor: str) -> str:
    """Return an editor's README. Links to files outside the package become URLs of the repository's tag."""
    text = (EDITORS / editor / "README.md").read_text("utf-8")

    def to_url(link: re.Match[str]) -> str:
        path = posixpath.normpath(f"editors/{editor}/{link[0]}")
        return f"{repository()}/blob/v{__version__}/{path}"

    return _RELATIVE_LINK.sub(to_url, text)


def repository() -> str:
    """Return the URL of the repository, which the Emacs package names."""
    found = re.search(r"^;; URL: (\S+)$", (EDITORS / "emacs/jumpseat.el").read_text("utf-8"), re.MULTILINE)
    assert found is not None, "jumpseat.el has no URL"
    return found[1]


def package_description(source: str) -> str:
    """Return `jumpseat-pkg.el`, which package.el requires in a package of several files."""
    summary = re.match(r";;; jumpseat\.el --- (.*?)  -\*-", source)
    headers = dict(re.findall(r"^;; ([A-Za-z-]+): (.+)$", source, re.MULTILINE))
    assert summary is not None, "jumpseat.el has no summary"
    return PACKAGE_FILE.format(
        version=headers["Version"],
        summary=summary[1],
        requires=headers["Package-Requires"],
        url=repository(),
        keywords=" ".join(f'"{word}"' for word in headers["Keywords"].split(", ")),
    )


def tar(top: str, files: dict[str, bytes]) -> bytes:
    """Pack files below one directory, without owners and with one modification time."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        directory = tarfile.TarInfo(f"{top}/")
        directory.type, directory.mode, directory.mtime = tarfile.DIRTYPE, 0o755, modification_time()
        archive.addfile(directory)
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mode, entry.mtime = len(content), 0o644, modification_time()
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def modification_time() -> int:
    """Return the modification time of all files, in seconds since 1970."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", DEFAULT_TIME))


if __name__ == "__main__":
    for built in (build_emacs_package(DIST), build_neovim_archive(DIST)):
        print(built.relative_to(ROOT))
