"""Paths are resolved with all links before anything is decided about them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PureWindowsPath

import pytest

from jumpseat.system.environment import environment_of_process
from jumpseat.system.paths import Places
from jumpseat.tools.approvals import Decision
from jumpseat.tools.files.locations import refuse_devices
from jumpseat.tools.server import ToolError
from tests.unit.tools.files.project import Project, open_project

OUTSIDE = pytest.mark.requirement("12:files-outside")
DENIED = pytest.mark.requirement("12:files-denied")


@pytest.mark.requirement("12:files-paths")
async def test_paths_are_relative_to_the_first_folder_or_absolute(tmp_path: Path, home: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "b").write_text("b")
    async with open_project(tmp_path / "first", second) as project:
        project.write("dir/a", "a")
        for path in ("dir/a", "./dir/../dir/a", str(project.root / "dir/a")):
            assert await project.ok("read", path=path) == "a"
        assert await project.ok("read", path=str(second / "b")) == "b"
        assert "no file b" in await project.error("read", path="b")
        assert project.questions == []


@pytest.mark.requirement("12:files-paths")
async def test_a_folder_that_the_client_names_by_a_link_is_the_folder(tmp_path: Path, home: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "project")
    async with open_project(tmp_path / "project", folders=[link]) as project:
        project.write("a", "a")
        for path in ("a", str(link / "a"), str(project.root / "a")):
            assert await project.ok("read", path=path) == "a"
        assert project.questions == []


@OUTSIDE
@pytest.mark.parametrize("way", ["absolute", "parent", "link", "folder link", "chain"])
async def test_a_path_outside_the_folders_asks_each_time_whatever_the_rules_say(
    tmp_path: Path, home: Path, way: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("outside")
    async with open_project(tmp_path / "project", allow=["files/*"]) as project:
        (project.root / "link").symlink_to(outside / "a")
        (project.root / "folder").symlink_to(outside)
        (project.root / "chain").symlink_to("link")
        path = {
            "absolute": str(outside / "a"),
            "parent": "../outside/a",
            "link": "link",
            "folder link": "folder/a",
            "chain": "chain",
        }[way]
        for _ in range(2):
            assert await project.ok("read", path=path) == "outside"
        assert [(each.reason, each.remember, each.title) for each in project.questions] == [
            ("outside", (), f"Read {outside / 'a'}")
        ] * 2

        project.on_question = lambda question: Decision(False)
        assert "denied" in await project.error("read", path=path)
        assert "denied" in await project.error("edit", path=path, oldText="outside", newText="in")
        assert "denied" in await project.error("list", path=str(outside))
        assert "denied" in await project.error("search", path="folder", pattern="o")
    assert (outside / "a").read_text() == "outside"


@OUTSIDE
async def test_a_new_file_behind_a_link_is_outside(tmp_path: Path, home: Path) -> None:
    (tmp_path / "outside").mkdir()
    async with open_project(tmp_path / "project", allow=["files/*"]) as project:
        (project.root / "folder").symlink_to(tmp_path / "outside")
        (project.root / "dangling").symlink_to(tmp_path / "outside" / "new")
        project.on_question = lambda question: Decision(False)
        for path in ("folder/new", "folder/sub/new", "dangling"):
            assert "denied" in await project.error("write", path=path, text="x")
        assert [each.reason for each in project.questions] == ["outside"] * 3
    assert list((tmp_path / "outside").iterdir()) == []


async def test_a_link_inside_the_folder_is_followed_and_stays_a_link(project: Project) -> None:
    project.write("real", "old\n")
    (project.root / "link").symlink_to("real")
    await project.ok("read", path="link")
    assert await project.ok("edit", path="link", oldText="old", newText="new") == "Changed real."

    assert (project.root / "link").is_symlink()
    assert (project.root / "real").read_text() == "new\n"


@pytest.mark.parametrize("path", ["a\0b", "loop", "x" * 5000, "\ud800"])
async def test_a_path_that_cannot_exist_is_an_error_without_a_question(project: Project, path: str) -> None:
    (project.root / "loop").symlink_to("loop")
    for tool, more in (("read", {}), ("list", {}), ("write", {"text": ""}), ("search", {"pattern": "x"})):
        await project.error(tool, path=path, **more)
    assert project.questions == []


@DENIED
@pytest.mark.parametrize("name", [".env", "sub/.ssh/config", "id_rsa", "plain.txt", "linked", "spelled.pem"])
async def test_files_with_credentials_are_denied_without_a_question(project: Project, name: str) -> None:
    project.write("plain.txt", "-----BEGIN RSA PRIVATE KEY-----\nsecret\n")
    for each in (".env", "sub/.ssh/config", "id_rsa", "harmless"):
        project.write(each, "secret\n")
    (project.root / "linked").symlink_to(".env")
    (project.root / "spelled.pem").symlink_to("harmless")
    calls = [
        ("read", {}),
        ("edit", {"oldText": "secret", "newText": "x"}),
        ("write", {"text": "x"}),
    ]
    for tool, arguments in calls:
        text = await project.error(tool, path=name, **arguments)
        assert "never use it" in text
        assert "secret" not in text
    assert project.questions == []
    assert (project.root / ".env").read_text() == "secret\n"


@DENIED
async def test_new_files_for_credentials_are_not_created(project: Project) -> None:
    assert "never use it" in await project.error("write", path=".ssh/authorized_keys", text="x")
    assert not (project.root / ".ssh").exists()


@DENIED
async def test_a_private_key_in_the_editor_is_denied_too(project: Project) -> None:
    path = project.write("notes", "harmless")
    project.editor.unsaved[path] = "-----BEGIN PRIVATE KEY-----\nsecret"
    assert "secret" not in await project.error("read", path="notes")
    assert "secret" not in await project.ok("search", pattern="secret")


@DENIED
async def test_lists_name_files_with_credentials_and_searches_skip_them(project: Project) -> None:
    for name in (".env", ".ssh/config", "cert.pem", "plain.txt", "key.txt"):
        project.write(name, "secret\n")
    project.write("key.txt", "-----BEGIN PRIVATE KEY-----\nsecret\n")

    listed = await project.ok("list", recursive=True)
    assert listed.splitlines() == [".env", ".ssh/", "cert.pem", "key.txt", "plain.txt", ".ssh/config"]
    found = await project.ok("search", pattern="secret")
    assert found.splitlines() == [
        "plain.txt:1: secret",
        "[Skipped files that may contain credentials: 4]",
    ]
    for path in (".env", ".ssh", "key.txt"):
        assert "secret" not in await project.ok("search", pattern="secret", path=path)


@DENIED
async def test_the_directories_of_jumpseat_are_denied_however_they_are_reached(
    tmp_path: Path, home: Path
) -> None:
    home.joinpath("auth").mkdir()
    home.joinpath("auth", "tokens.json").write_text("secret")
    (tmp_path / "link").symlink_to(home)
    async with open_project(tmp_path, allow=["files/*"]) as project:
        for path in ("home/auth/tokens.json", str(home / "auth/tokens.json"), "link/auth/tokens.json"):
            assert "belongs to jumpseat" in await project.error("read", path=path)
        assert "belongs to jumpseat" in await project.error("write", path="home/config.toml", text="x")
        assert project.questions == []

        assert "home/auth/tokens.json" in await project.ok("list", recursive=True)
        for arguments in ({}, {"path": "home"}, {"path": "home/auth/tokens.json"}):
            assert "tokens.json" not in await project.ok("search", pattern="secret", **arguments)


@DENIED
async def test_the_directory_of_a_chosen_configuration_file_is_not_denied(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "project"
    places = Places(root / "conf.toml", home, home)
    environment = replace(environment_of_process(), places=places)
    async with open_project(root, environment=environment) as project:
        project.write("conf.toml", "secret")
        project.write("a", "a")
        assert await project.ok("read", path="a") == "a"
        assert "belongs to jumpseat" in await project.error("read", path="conf.toml")
        assert "secret" not in await project.ok("search", pattern="secret")


@DENIED
def test_the_usual_directory_of_the_configuration_belongs_to_jumpseat(tmp_path: Path) -> None:
    places = Places(tmp_path / "jumpseat/config.toml", tmp_path / "state", tmp_path / "data")
    assert tmp_path / "jumpseat" in places.own
    assert tmp_path not in Places(tmp_path / "config.toml", tmp_path / "state", tmp_path / "data").own


@DENIED
@pytest.mark.parametrize(
    "path",
    [
        r"\\server\share\file",
        "//server/share/file",
        r"\\.\COM1",
        r"\\?\C:\Users\me\.env",
        r"C:\project\.env::$DATA",
        r"C:\project\a.txt:b",
    ],
)
def test_windows_paths_to_servers_devices_and_streams_are_refused(path: str) -> None:
    with pytest.raises(ToolError):
        refuse_devices(PureWindowsPath(path), PureWindowsPath(r"C:\project"))


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        (r"C:\project\a", r"C:\project"),
        (r"D:\a", r"C:\project"),
        (r"\\server\share\p\a", r"\\SERVER\share\p"),
    ],
)
def test_other_windows_paths_are_accepted(path: str, folder: str) -> None:
    refuse_devices(PureWindowsPath(path), PureWindowsPath(folder))
