import pytest

from tito_audit.errors import TokenizerError
from tito_audit.loading.split_pattern import to_oniguruma


@pytest.mark.parametrize(
    ("pattern", "rewritten"),
    [
        (r"\p{N}{1,3}+", r"(?>\p{N}{1,3})"),
        (r"x|[a-z[0-9]]{2,}+y", r"x|(?>[a-z[0-9]]{2,})y"),
        (r"(a(b)c){3}+", r"(?>(a(b)c){3})"),
        (r"a{2}?b", r"a{2}b"),
        (r"a{2,3}?b{1,2}", r"a{2,3}?b{1,2}"),
        (r"\s++$|^a\$[$^]", r"\s++\z|\Aa\$[$^]"),
        (r"(?s:.)(?i:b)(?=c)(?!d)(?>e)", r"(?m:.)(?i:b)(?=c)(?!d)(?>e)"),
        (r"(?is).{1,2}+", r"(?im)(?>.{1,2})"),
        (r"\u00e9\u{1F600}[\u{e9}\]]{1}+", r"\x{00e9}\x{1F600}(?>[\x{e9}\]]{1})"),
        (r"[^\r\n\p{L}\p{N}]?+\p{L}++", r"[^\r\n\p{L}\p{N}]?+\p{L}++"),
        (r")[", r")["),
    ],
)
def test_rewritten(pattern: str, rewritten: str) -> None:
    assert to_oniguruma(pattern) == rewritten


@pytest.mark.parametrize("pattern", ["(?m)^a", "(?x: a )", "(?i-U)a"])
def test_flags_without_a_counterpart(pattern: str) -> None:
    with pytest.raises(TokenizerError, match="write it without them"):
        to_oniguruma(pattern)
