from pathlib import Path

import pytest

from tito_audit.command.config import defaults_of, read_config
from tito_audit.errors import ConfigError


def test_the_nearest_file_with_a_table_counts(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tito_audit]\ntokenizer = 'outer'\nfail-on = 'drift'\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    config = read_config(inner)
    assert config == (tmp_path / "pyproject.toml", {"tokenizer": "outer", "fail_on": "drift"})


def test_a_table_of_rates_is_what_the_command_line_takes(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tito_audit]\nmax-rate = { TITO101 = 0.5 }\nignore = ['TITO302']\n")
    config = read_config(tmp_path)
    assert config is not None
    assert defaults_of(config, {"max_rate", "ignore"}) == {"max_rate": ["TITO101=0.5"], "ignore": ["TITO302"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.tito_audit\n", "cannot be read"),
        ("[tool]\ntito_audit = 3\n", "is no table of options"),
        ("[tool.tito_audit]\nfail_om = 'drift'\n", "has no option fail_om .*fail-on"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)

    def read() -> None:
        config = read_config(tmp_path)
        assert config is not None
        defaults_of(config, {"fail_on"})

    with pytest.raises(ConfigError, match=words) as refusal:
        read()
    assert "pyproject.toml" in str(refusal.value)
