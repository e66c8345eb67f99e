"""The search on handed tokenizers: entries by the wheel's own round trip, and planted faults named."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from shared import NAMES, command, tokenizer, tokenizer_path
from tokenizers import Tokenizer

from tito_audit.candidates.vocabulary import Vocabulary
from tito_audit.fuzzing.entries import not_self_canonical
from tito_audit.fuzzing.judging import Judge
from tito_audit.fuzzing.profile import Anatomy

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from faulty import PLANTED

FEW = ("--examples", "5000")
NAMED = {
    "merge": "model: merge dropped: ",
    "digit": "pre_tokenizer: pre_tokenizer.pretokenizers[0].pattern.Regex: ",
    "added": 'added_tokens: token "the" added as id ',
    "normalizer": "normalizer: normalizer added: none -> NFC",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_list_of_entries_is_what_the_wheel_finds(name: str) -> None:
    wheel = Tokenizer.from_file(str(tokenizer_path(name)))
    wheel.no_truncation()
    wheel.no_padding()
    expected = set()
    for id_ in sorted(wheel.get_vocab(with_added_tokens=True).values()):
        text = wheel.decode([id_], skip_special_tokens=False)
        if wheel.encode(text, add_special_tokens=False).ids != [id_]:
            expected.add(id_)
    tok = tokenizer(name)
    judge = Judge(tok)
    entries = not_self_canonical(Vocabulary(tok, Anatomy(tok).ids), judge)
    assert {entry.id for entry in entries} == expected
    assert not judge.mismatches


def test_planted_faults_are_named_and_the_unchanged_one_passes(tmp_path: Path) -> None:
    sound, baseline = tokenizer_path("llama3"), tmp_path / "baseline.json"
    assert command("fuzz", "tokenizer", "-t", sound, *FEW, "--write-baseline", baseline).code == 0
    unchanged = command("fuzz", "tokenizer", "-t", sound, *FEW, "--baseline", baseline)
    assert unchanged.code == 0, unchanged.out
    spec = sound.read_text(encoding="utf-8")
    for fault, plant in PLANTED.items():
        faulty: dict[str, Any] = json.loads(spec)
        plant(faulty)
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(faulty))
        ran = command("fuzz", "tokenizer", "-t", path, *FEW, "--baseline", baseline)
        assert ran.code == 1, ran.err
        first = ran.out.partition("new against the baseline\n")[2].partition("\n")[0]
        assert NAMED[fault] in first, first
