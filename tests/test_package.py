"""The public face: every name is there, and stays what it is whatever is imported in which order."""

import ast
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import tito_audit as tito

MODULES = [module.name for module in pkgutil.iter_modules(tito.__path__) if not module.name.startswith("_")]


def test_public_names() -> None:
    assert list(tito.__all__) == sorted(tito.__all__, key=lambda name: (name[0].islower(), name))
    for name in tito.__all__:
        assert getattr(tito, name).__module__.startswith("tito_audit")


@pytest.mark.parametrize("name", tito.__all__)
def test_public_names_are_documented(name: str) -> None:
    public = getattr(tito, name)
    assert inspect.getdoc(public)
    if inspect.isfunction(public):
        parameters = inspect.signature(public).parameters.values()
        assert not [each for each in parameters if each.kind is each.VAR_KEYWORD]
        doc = inspect.getdoc(public) or ""
        for parameter in parameters:
            assert f"{parameter.name}:" in doc, parameter.name
        options = [each for each in parameters if each.default is not each.empty]
        assert all(each.kind is each.KEYWORD_ONLY for each in options)


@pytest.mark.parametrize("module", MODULES)
def test_importing_a_module_first_does_not_hide_a_function(module: str) -> None:
    code = f"""\
import tito_audit.{module}
import tito_audit
assert all(not inspect.ismodule(getattr(tito_audit, name)) for name in tito_audit.__all__)
"""
    done = subprocess.run([sys.executable, "-c", f"import inspect\n{code}"], check=False)
    assert done.returncode == 0


def test_version_is_that_of_the_core() -> None:
    assert tito.__version__.count(".") == 2


def test_no_module_uses_kwargs_in_public_functions() -> None:
    package = Path(tito.__file__).parent
    for path in set(package.glob("*.py")) - {package / "cli.py"}:  # click hands over an option each
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                assert node.args.kwarg is None, f"{path.name}: {node.name}"


def test_an_interrupt_waits_until_the_extension_is_there() -> None:
    program = (
        "import os, signal, sys\n"
        "from tito_audit.uninterrupted import uninterrupted\n"
        "try:\n"
        "    with uninterrupted():\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        print('inside')\n"
        "except KeyboardInterrupt:\n"
        "    print('after')\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["inside", "after"]
