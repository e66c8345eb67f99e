"""The side-by-side timing runs, and its engines agree; what it times is nobody's business here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import zoo

SCRIPT = Path(__file__).parents[1] / "benches" / "side_by_side.py"
KINDS = ("code", "drift-5")


def test_quick_run_agrees_with_the_reference(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(zoo.zoo()["bytelevel_cl100k"], encoding="utf-8")
    options = ("--quick", "--rows", ",".join(KINDS), "--measure", "rows,load,assert,provenance")
    files = ("--tokenizer", f"zoo={tmp_path / 'tokenizer.json'}", "--json", str(tmp_path / "raw.json"))
    environment = os.environ | {"TITO_SIDE_BY_SIDE": str(tmp_path / "rows")}
    done = subprocess.run([sys.executable, SCRIPT, *options, *files], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    numbers = json.loads((tmp_path / "raw.json").read_text(encoding="utf-8"))["numbers"]
    rows = [entry for entry in numbers if entry["measure"] == "rows"]
    assert [(entry["kind"], entry["engine"]) for entry in rows] == [
        (kind, engine) for kind in KINDS for engine in ("tito_audit", "tokenizers")
    ]
    assert all(run["equal"] == run["compared"] > 0 for entry in rows for run in entry["runs"])
    assert [entry["measure"] for entry in numbers if entry["measure"] != "rows"] == ["load", "assert", "provenance"]
