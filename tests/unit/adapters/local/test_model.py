"""The choice of the model file that the local provider runs, and the errors if there is none."""

import pytest

from jumpseat.adapters.local import model as local_model
from jumpseat.adapters.local.model import FILE_NAME, SMOLLM2, identify, installed_file, locate, require_engine
from jumpseat.chat import ConfigError
from jumpseat.system.environment import environment_of_process
from jumpseat.system.paths import places_of_process


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch):
    """Create an empty data directory, without a model package."""
    monkeypatch.setenv("JUMPSEAT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(local_model, "PACKAGE", "llm_that_is_not_installed")
    return tmp_path


def install_model_file():
    file = installed_file(places_of_process())
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    return file


def test_the_installed_model_is_found_in_the_data_directory(tmp_path):
    file = install_model_file()
    assert locate("local", None, environment_of_process()) == file == tmp_path / "home" / "models" / FILE_NAME


def test_the_model_inside_its_package_is_found_without_importing_the_package(tmp_path, monkeypatch):
    package = tmp_path / "site" / "packaged_model"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / FILE_NAME).write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr(local_model, "PACKAGE", "packaged_model")
    assert locate("local", None, environment_of_process()) == package / FILE_NAME


def test_the_installed_model_takes_precedence_over_the_packaged_one(tmp_path, monkeypatch):
    monkeypatch.setattr(local_model, "packaged_file", lambda: tmp_path / "packaged.gguf")
    file = install_model_file()
    assert locate("local", None, environment_of_process()) == file


def test_a_configured_path_takes_precedence_and_its_tilde_is_the_home(tmp_path, monkeypatch):
    install_model_file()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "Mine.gguf").write_bytes(b"GGUF3")
    assert locate("local", "~/Mine.gguf", environment_of_process()) == tmp_path / "Mine.gguf"


def test_the_error_of_a_missing_model_names_the_command_that_installs_it():
    with pytest.raises(ConfigError, match="not installed") as raised:
        locate("mine", None, environment_of_process())
    assert "jumpseat local install" in raised.value.hint
    assert raised.value.provider == "mine"
    assert "providers.mine.model_path" in raised.value.hint


def test_a_configured_path_that_does_not_exist_names_key_and_file(tmp_path):
    with pytest.raises(ConfigError, match=r"providers\.mine\.model_path names .*gone\.gguf") as raised:
        locate("mine", str(tmp_path / "gone.gguf"), environment_of_process())
    assert "jumpseat local install" in raised.value.hint


def test_a_file_that_is_not_gguf_is_refused_before_it_is_loaded(tmp_path):
    (tmp_path / "notes.gguf").write_text("Dear diary")
    with pytest.raises(ConfigError, match="not a GGUF file"):
        locate("mine", str(tmp_path / "notes.gguf"), environment_of_process())


def test_the_error_of_a_missing_engine_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(local_model, "ENGINE", "engine_that_is_not_installed")
    with pytest.raises(ConfigError, match="engine_that_is_not_installed") as raised:
        require_engine("local")
    assert "jumpseat local install" in raised.value.hint


@pytest.mark.parametrize("path", [None, f"/elsewhere/{FILE_NAME}"])
def test_the_small_model_is_known_wherever_its_file_lies(path):
    assert identify(path) is SMOLLM2


def test_another_file_is_named_by_its_stem_and_has_no_known_context():
    model = identify("/models/Qwen3-4B-Q4_K_M.gguf")
    assert (model.name, model.title, model.context_tokens) == ("qwen3-4b-q4_k_m", "Qwen3-4B-Q4_K_M", None)
