from pathlib import Path

import pytest

from tito_audit.whole_file import whole_file, write_whole


def test_a_file_appears_whole(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", "text\n")
    assert (tmp_path / "a").read_text() == "text\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_nothing_appears_where_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    with pytest.raises(RuntimeError), whole_file(target) as unfinished:  # noqa: PT012 - the file has to be begun
        unfinished.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
