"""Finding the app that a command line names."""

import re
from pathlib import Path

import pytest

from fairlead import App, ConfigError
from fairlead.cli.loading import load_app

MODULE = """
from fairlead import App
class Holder:
    app = App("sqlite:///:memory:")
app = Holder.app
number = 5
"""


@pytest.fixture
def module(tmp_path: Path) -> str:
    (tmp_path / "loading_shop.py").write_text(MODULE, encoding="utf-8")
    return "loading_shop"


def test_an_app_in_the_current_folder(module: str) -> None:
    assert isinstance(load_app(f"{module}:app"), App)
    assert load_app(f"{module}:Holder.app") is load_app(f"{module}:app")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("loading_shop", "write it like"),
        (":app", "write it like"),
        ("loading_shop:", "write it like"),
        ("loading_shop:other", "its apps are: app"),
        ("loading_shop:number", "is a int, not a fairlead.App"),
        ("no_such_shop:app", "there is no module 'no_such_shop'"),
        ("no_such_shop.jobs:app", "there is no module 'no_such_shop'"),
        ("loading_shop.jobs:app", "there is no module 'loading_shop.jobs'"),
    ],
)
def test_what_is_missing_is_named(module: str, path: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_app(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1 / 0", "ZeroDivisionError: division by zero"),
        ("import no_such_library", "No module named 'no_such_library'"),
        ("def broken(:", "SyntaxError"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
    ],
)
def test_an_error_in_the_module_is_shown(tmp_path: Path, source: str, message: str) -> None:
    name = f"broken_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"cannot be imported: .*{re.escape(message)}"):
        load_app(f"{name}:app")
