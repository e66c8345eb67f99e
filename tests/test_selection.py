import pytest

from tito_audit.auditing.selection import Selection
from tito_audit.rules import RULES
from tito_audit.rules.lookup import code_of


def test_all_is_reported_by_default() -> None:
    assert all(map(Selection().takes, RULES))


def test_a_beginning_stands_for_a_family() -> None:
    chosen = Selection.of(select=["tito1", "TITO301"], ignore=["TITO110", "merge"])
    assert chosen.takes("TITO102")
    assert chosen.takes("TITO301")
    assert not chosen.takes("TITO302")
    assert not chosen.takes("TITO110")
    assert not chosen.takes("TITO101")


@pytest.mark.parametrize("name", ["", "TITO9", "Merges", "TITO1011", "\x1b[31m"])
def test_what_stands_for_no_rule_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="there is no finding") as refusal:
        Selection.of(ignore=[name])
    assert "\x1b" not in str(refusal.value)


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_goes_by_code_and_name(code: str) -> None:
    assert code_of(f" {code.lower()} ") == code_of(RULES[code].name.upper()) == code
