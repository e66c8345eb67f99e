import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tito_audit as tito
from tiny import bpe
from tito_audit.loading import hub
from tito_audit.loading.hub import is_id

COMMITS = {"main": "a" * 40, "v1": "b" * 40}
PROGRAM = """
import json, sys
import tito_audit as tito
answers = []
for source, revision in json.loads(sys.argv[1]):
    try:
        tok = tito.load_tokenizer(source, revision=revision)
        answers.append([tok.source, tok.vocab_size, sorted(tok.control.eos)])
    except tito.TokenizerError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A cache of the hub as its own library lays it out, with one repository in two revisions."""
    repository = tmp_path / "hub" / "models--org--tiny.model-1"
    for size, (revision, commit) in enumerate(COMMITS.items(), 1):
        snapshot = repository / "snapshots" / commit
        snapshot.mkdir(parents=True)
        bpe(["a", "b", "c"][:size], special=["<e>"]).save(str(snapshot / "tokenizer.json"))
        (snapshot / "generation_config.json").write_text(json.dumps({"eos_token_id": size}))
        (repository / "refs").mkdir(exist_ok=True)
        (repository / "refs" / revision).write_text(commit)
    return tmp_path


def ask(home: Path, *questions: tuple[str, str | None], **settings: str) -> list[object]:
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", **settings}
    environment.pop("HF_HUB_CACHE", None)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(questions)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=home,
    )
    answers: list[object] = json.loads(run.stdout)
    return answers


def test_from_the_cache_without_network(home: Path) -> None:
    first, tagged, exact, missing, revision, path = ask(
        home,
        ("org/tiny.model-1", None),
        ("org/tiny.model-1", "v1"),
        ("org/tiny.model-1", "b" * 40),
        ("org/other", None),
        ("org/tiny.model-1", "v2"),
        ("qwen3", None),
    )
    assert first == ["org/tiny.model-1@aaaaaaaaaaaa", 2, [1]]
    assert tagged == exact == ["org/tiny.model-1@bbbbbbbbbbbb", 3, [2]]
    for answer, asked in ((missing, "org/other"), (revision, "org/tiny.model-1 at revision v2"), (path, "qwen3")):
        assert str(answer).startswith(f"{asked}: no such file or folder, and as an id of the hub")
        assert "not in the local cache and the hub cannot be reached" in str(answer)
        assert "download it once where there is network, or pass the path of a tokenizer.json" in str(answer)


def test_a_path_wins(home: Path) -> None:
    bpe(["x"]).save(str(home / "org"))
    assert ask(home, ("org", None)) == [["org", 1, []]]


def test_the_package_that_asks_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        tito.TokenizerError, match=r"org/name: no such file or folder, and .*pip install huggingface_hub"
    ):
        tito.load_tokenizer("org/name")


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("RepositoryNotFoundError", "no such repository or revision"),
        ("RevisionNotFoundError", "no such repository or revision"),
        ("GatedRepoError", "it is gated"),
        ("EntryNotFoundError", "has no tokenizer.json"),
        ("LocalEntryNotFoundError", "cannot be reached"),
        ("OfflineModeIsEnabled", "cannot be reached"),
        ("HFValidationError", "no such repository or revision"),
        (None, r"failed (OSError: \x1b[31m)"),
    ],
)
def test_what_the_hub_says(monkeypatch: pytest.MonkeyPatch, raised: str | None, said: str) -> None:
    import huggingface_hub  # noqa: PLC0415
    from huggingface_hub import errors  # noqa: PLC0415

    def refuse(*_: object, **__: object) -> None:
        if raised is None:
            raise OSError("\x1b[31m")
        kind = getattr(errors, raised)
        raise kind.__new__(kind)  # whatever its constructor asks for

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", refuse)
    with pytest.raises(tito.TokenizerError) as caught:
        tito.load_tokenizer("org/name", revision="main")
    assert str(caught.value).startswith("org/name at revision main: no such file or folder, and ")
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def error_named(name: str, base: type[Exception] = OSError) -> type[Exception]:
    return type(name, (base,), {})


@pytest.mark.parametrize(
    ("answers", "asked", "cached"),
    [
        ([None], 1, False),
        ([error_named("ConnectError")] * 2, 2, True),
        ([error_named("ConnectionError")] * 2, 2, True),
        ([error_named("SSLError", ConnectionError)] * 2, 2, True),
        ([error_named("ConnectError"), None], 2, False),  # a name server that stumbled
        ([error_named("ConnectTimeout")] * 2, 2, True),
        ([error_named("ReadTimeout")], 1, False),  # slow is not gone
        ([error_named("RepositoryNotFoundError")], 1, False),
    ],
)
def test_only_what_refuses_a_connection_is_not_reachable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answers: list[type[Exception] | None], asked: int, *, cached: bool
) -> None:
    import huggingface_hub  # noqa: PLC0415

    bpe(["a"]).save(str(tmp_path / "tokenizer.json"))
    waiting = list(answers)
    downloads: list[bool] = []

    def metadata(url: str) -> None:
        assert "org/name/resolve/v1/tokenizer.json" in url
        if (error := waiting.pop(0)) is not None:
            raise error

    def download(_: str, name: str, *, revision: str, local_files_only: bool) -> str:
        del revision
        downloads.append(local_files_only)
        return str(tmp_path / name)

    monkeypatch.setattr(hub, "_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", metadata)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert tito.load_tokenizer("org/name", revision="v1").vocab_size == 1
    assert len(answers) - len(waiting) == asked
    assert set(downloads) == {cached}


def test_without_a_network_it_takes_no_half_minute_and_the_cache_works(home: Path) -> None:
    environment = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"}  # where nobody listens
    started = time.monotonic()
    found, missing = ask(home, ("org/tiny.model-1", None), ("models/polcy", None), **environment)
    assert time.monotonic() - started < 15
    assert found == ["org/tiny.model-1@aaaaaaaaaaaa", 2, [1]]
    assert "the hub cannot be reached" in str(missing)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "gpt2", "meta-llama/Llama-3.1-8B", "a_b/c.d"])
def test_ids(name: str) -> None:
    assert is_id(name)


@pytest.mark.parametrize(
    "name",
    ["", "/a", "a/", "./a", "../a", "a/b/c", "a b", "x.json", "org/x.model", "x.tiktoken", "~/a", "a" * 97, "é/a"],
)
def test_paths(name: str) -> None:
    assert not is_id(name)


def test_a_folder_of_that_name_is_looked_for_where_the_path_is_taken_from(tmp_path: Path) -> None:
    (tmp_path / "org").mkdir()
    assert is_id("org/name")
    assert not is_id("org/name", tmp_path)
    assert is_id("name", tmp_path)
