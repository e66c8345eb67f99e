"""Who may import whom, and what importing costs."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tito_audit

PACKAGE = Path(tito_audit.__file__).parent
MODULES = {path.stem: path for path in PACKAGE.glob("*.py")}

# Layers from the bottom up: a module imports from its own layer and those below it.
LAYERS = (
    {"errors", "lazy", "printable", "rules", "_core"},
    {"ragged", "records", "tokenizer", "columns", "logprobs", "jsonlines", "signal"},
    {"results", "batch", "findings", "provenance", "lanes", "verdict", "check"},
    {"rows", "readers", "counts", "groups", "kept", "report"},
    {"audit"},
    {"terminal", "progress"},
    {"__init__"},
    {"cli"},
    {"__main__"},
)
# Renderers compute nothing, so they need nothing but the report, the catalogue and safe printing.
ALLOWED = {"terminal": {"_core", "printable", "report", "rules"}, "progress": {"audit", "printable"}}
# Imports inside functions that reach up a layer: a result that renders itself on demand.
ON_DEMAND = {("report", "terminal")}


def imports(module: str) -> set[str]:
    """Modules of the package that a module imports when it runs, inside functions too."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        if id(node) not in for_types:
            parts = (name.split(".") for name in names if name.startswith("tito_audit."))
            found |= {part[1] for part in parts if part[1] in MODULES or part[1] == "_core"}
    return found


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_go_downwards(module: str) -> None:
    level = next((level for level, layer in enumerate(LAYERS) if module in layer), None)
    assert level is not None, f"say in which layer {module} stands"
    below = set().union(*LAYERS[: level + 1])
    upwards = {target for target in imports(module) - below if (module, target) not in ON_DEMAND}
    assert not upwards


@pytest.mark.parametrize("module", sorted(ALLOWED))
def test_renderers_import_the_report_and_the_catalogue_only(module: str) -> None:
    assert imports(module) <= ALLOWED[module]


def test_nothing_imports_the_command() -> None:
    assert {module for module in MODULES if "cli" in imports(module)} == {"__main__"}


def modules_after(statement: str) -> set[str]:
    program = f"{statement}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_import_brings_numpy_and_the_extension_only() -> None:
    ours = modules_after("import tito_audit") - modules_after("import numpy")
    foreign = {name.split(".")[0] for name in ours} - {"tito_audit", "numpy"} - set(sys.stdlib_module_names)
    assert not foreign


def test_help_needs_no_reader_and_no_renderer() -> None:
    after = modules_after(
        "from tito_audit.cli import main\n"
        "import contextlib, io\n"
        "with contextlib.redirect_stdout(io.StringIO()): assert main(['check', '--help']) == 0"
    )
    assert not {"msgspec", "rich", "tokenizers"} & after
