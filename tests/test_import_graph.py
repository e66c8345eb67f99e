"""Who may import whom, and what importing costs."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tito_audit

PACKAGE = Path(tito_audit.__file__).parent


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {_name(path): path for path in PACKAGE.rglob("*.py")}

# Layers from the bottom up: a module imports from its own layer and those below it. A name with a dot and a star stands
# for all modules of a package that are not named elsewhere.
LAYERS = (
    {"errors", "lazy", "printable", "uninterrupted", "whole_file", "rules", "rules.*", "_core", "forking", "appending"}
    | {"stored_json"},
    {"ragged", "records", "native", "schema", "tokenizer", "loading", "loading.*", "asked", "recheck"}
    | {"digests", "policies", "rotation", "segments"},
    {"rendering", "rendering.style", "rendering.layout", "rendering.paint"},
    {"reading.ahead", "reading.cells", "reading.columns", "reading.magic", "reading.padding", "reading.sequence"}
    | {"reading.shape"},
    {"reading.advice", "reading.arrow", "reading.compressed", "reading.files", "reading.jsonlines"}
    | {"reading.logprobs", "reading.sources", "reading.tables", "reading.turns", "reading"},
    {"results", "batch", "findings", "provenance", "realised", "realised.*", "check"}
    | {"reading.row", "reading.training", "reading.second_sources", "reading.record_checks", "reading.role_checks"}
    | {"reading.framing", "reading.parts", "signal", "signal.*"}
    | {"rendering.lanes", "rendering.strip", "rendering.verdict", "rendering.show", "rendering.explain"},
    {"buffer", "continuation", "replay", "reencoded_rows"},
    {"recorder", "handed", "observation"},
    {"reading.rows", "reading.readers"},
    {"auditing", "auditing.counts", "auditing.batch_counts", "auditing.groups", "auditing.row_findings"}
    | {"auditing.seen_ids", "auditing.selection", "auditing.sampling", "auditing.outcomes", "auditing.kept"}
    | {"auditing.one_row", "bar"},
    {
        "report",
        "auditing.baseline",
        "auditing.baseline_shape",
        "auditing.clean_copy",
        "auditing.placing",
        "auditing.rows_out",
    }
    | {"auditing.tally"},
    {"judging"},
    {"step"},
    {"guard"},
    {"auditing.auditor", "auditing.shown_rows", "audit"},
    {"candidates", "candidates.judged", "candidates.vocabulary"},
    {"candidates.spellings"},
    {"candidates.kinds"},
    {"fuzzing", "fuzzing.sketch", "fuzzing.judging"},
    {"fuzzing.baseline_shape"},
    {"fuzzing.profile"},
    {"fuzzing.entries", "fuzzing.changes", "fuzzing.pretokens", "fuzzing.stored"},
    {"fuzzing.windows", "fuzzing.search"},
    {"fuzzing.report", "fuzzing.difference"},
    {"fuzzing.baseline"},
    {"fuzzing.regression"},
    {"rendering.fuzz_text"},
    {"rendering.fuzz_diff", "rendering.fuzz_json"},
    {"rendering.concise", "rendering.jsonl_report", "rendering.progress", "rendering.terminal.page"},
    {"rendering.terminal.ending", "rendering.terminal.findings", "rendering.terminal.head"}
    | {"rendering.terminal.tables"},
    {"rendering.terminal.commands", "rendering.terminal.summary"},
    {"rendering.terminal"},
    {"__init__"},
    {"pytest_plugin.adding_up", "pytest_plugin.report_file"},
    {"pytest_plugin.watch", "pytest_plugin.options"},
    {"pytest_plugin.drift_guard", "pytest_plugin.results"},
    {"pytest_plugin"},
    {"strategies.arguments", "strategies.index", "strategies.prepared", "strategies.judge"}
    | {"strategies.mixed", "strategies.parts"},
    {"strategies.loose"},
    {"strategies.windows"},
    {"strategies.causes", "strategies.straddling", "strategies.texts"},
    {"strategies.edited", "strategies.segmentations", "strategies.trajectories", "strategies.conversations"},
    {"strategies.ids"},
    {"strategies"},
    {"command", "command.*"},
    {"cli"},
    {"__main__"},
)
_PLAIN = {"printable", "rules", "rendering.layout", "rendering.paint", "rendering.style"}
_TERMINAL = {module for module in MODULES if module.startswith("rendering.terminal")}
# Renderers compute nothing, so they need nothing but the report, the catalogue and safe printing.
ALLOWED = {
    **dict.fromkeys(_TERMINAL, _PLAIN | {"_core", "bar", "report", "auditing.row_findings"} | _TERMINAL),
    "rendering.concise": _PLAIN | {"report", "auditing.row_findings"},
    "rendering.jsonl_report": {"bar", "report"},
    "rendering.progress": {"auditing.auditor", "printable"},
}
# Imports inside functions that reach up a layer: a result that renders itself on demand.
ON_DEMAND = {("report", "rendering.terminal")}


def layer_of(module: str) -> int | None:
    """The number of the layer that names a module, or else all of its package."""
    for name in (module, f"{module.partition('.')[0]}.*"):
        for level, layer in enumerate(LAYERS):
            if name in layer:
                return level
    return None


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
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            # Of ``from package import module`` the module counts.
            names = [name for name in inside if name.removeprefix("tito_audit.") in MODULES] or [node.module or ""]
            names += [name for name in inside if name == "tito_audit._core"]
        else:
            continue
        if id(node) not in for_types:
            own = (name.removeprefix("tito_audit.") for name in names if name.startswith("tito_audit."))
            found |= {name for name in own if name in MODULES or name == "_core"}
    return found


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_go_downwards(module: str) -> None:
    level = layer_of(module)
    assert level is not None, f"say in which layer {module} stands"
    upwards = {
        target
        for target in imports(module)
        if (above := layer_of(target)) is None or (above > level and (module, target) not in ON_DEMAND)
    }
    assert not upwards


@pytest.mark.parametrize("module", sorted(ALLOWED))
def test_renderers_import_the_report_and_the_catalogue_only(module: str) -> None:
    assert imports(module) <= ALLOWED[module]


def test_nothing_imports_the_command() -> None:
    assert {module for module in MODULES if "cli" in imports(module)} == {"__main__"}
    users = {module for module in MODULES if any(name.startswith("command.") for name in imports(module))}
    assert {user for user in users if not user.startswith("command.")} == {"cli"}


def modules_after(statement: str) -> set[str]:
    program = f"{statement}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_import_brings_numpy_and_the_extension_only() -> None:
    ours = modules_after("import tito_audit") - modules_after("import numpy")
    foreign = {name.split(".")[0] for name in ours} - {"tito_audit", "numpy"} - set(sys.stdlib_module_names)
    assert not foreign


def test_rows_in_memory_need_no_reader_and_no_report() -> None:
    after = modules_after("import tito_audit")
    assert not {"tito_audit.reading.readers", "tito_audit.auditing.auditor", "tito_audit.report"} & after
    assert not {"tito_audit.buffer", "tito_audit.guard", "tito_audit.recorder"} & after


def test_help_needs_no_reader_and_no_renderer() -> None:
    after = modules_after(
        "from tito_audit.cli import main\n"
        "import contextlib, io\n"
        "with contextlib.redirect_stdout(io.StringIO()): assert main(['check', '--help']) == 0"
    )
    assert not {"msgspec", "rich", "tokenizers", "pyarrow", "numpy.random"} & after


def test_a_plain_array_brings_no_masked_ones() -> None:
    after = modules_after("import numpy\nfrom tito_audit.records import as_array\nas_array(numpy.zeros(2), 'mask')")
    assert "tito_audit.records" in after
    assert "numpy.ma" not in after
