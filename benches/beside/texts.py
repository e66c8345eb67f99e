"""Texts that any machine with the environment has: its own Python sources, their documentation and translations.

Every function yields distinct documents in an order that depends on the seed alone. What is here depends on the
packages that are installed, which is why two machines may time different text (the tables say how much it was).
"""

import ast
import json
import os
import random
import re
import sysconfig
import uuid
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

SEED = 20_26
DOCUMENT = 12_000  # characters: three to four thousand tokens
PROSE_DOCUMENT = 8_000

_SENTENCE = re.compile(r"[^.!?\n]{20,160}[.!?]")
_MESSAGE = re.compile(r'^msgstr(?:\[\d\])? ((?:"[^\n]*"\n)+)', re.MULTILINE)
_CITIES = ("Lisbon", "Osaka", "Nairobi", "Montréal", "São Paulo", "Kraków", "Busan", "Wellington", "Hyderabad", "Quito")
_TABLES = ("orders", "customers", "shipments", "invoices", "sessions", "page_views", "refunds", "employees")
_UNITS = ("celsius", "fahrenheit", "kelvin")
_HOSTS = ("api.example.com", "status.example.org", "data.example.net/v2", "internal.example.com/graphql")


def code() -> Iterator[str]:
    """Python source of the standard library and the installed packages, cut at line ends."""
    seen: set[str] = set()
    for path in _files((".py",)):
        for document in _cut(_read(path), DOCUMENT):
            if len(document) > 1_000 and document not in seen:
                seen.add(document)
                yield document


def lines() -> Iterator[str]:
    """Distinct short lines of the same sources."""
    return _distinct(line for document in code() for line in document.splitlines() if 3 < len(line) <= 48)


def prose() -> Iterator[str]:
    """English out of READMEs, licences, documentation files and docstrings: paragraphs that are sentences."""
    document: list[str] = []
    size = 0
    for paragraph in paragraphs():
        document.append(paragraph)
        size += len(paragraph)
        if size >= PROSE_DOCUMENT:
            yield "\n\n".join(document)
            document, size = [], 0


def paragraphs() -> Iterator[str]:
    """Distinct paragraphs of English."""
    return _distinct(filter(_is_prose, _all_paragraphs()))


def tool_calls() -> Iterator[str]:
    """Generated JSON tool calls and their results; paths and free text in them are real."""
    rng = random.Random(SEED)
    sentences = [found for text in islice(paragraphs(), 4_000) for found in _SENTENCE.findall(text)]
    names = [path.name for path in _files((".py",))]
    while True:
        document: list[str] = []
        indent = rng.choice((None, None, None, 2))
        separators = rng.choice(((", ", ": "), (",", ":"))) if indent is None else (",", ": ")
        ascii_only = rng.random() < 0.5
        while sum(map(len, document)) < DOCUMENT:
            call = _call(rng, sentences, names)
            result = _result(rng, sentences, names)
            document += (
                json.dumps(entry, indent=indent, separators=separators, ensure_ascii=ascii_only)
                for entry in (call, result)
            )
        yield "\n".join(document)


def translations() -> Iterator[str]:
    """Translated messages out of the gettext catalogues of installed packages, one language a document."""
    seen: set[str] = set()
    for path in _files((".po",)):
        if re.search(r"/locale/en", path.as_posix()):
            continue
        document: list[str] = []
        for message in _MESSAGE.findall(_read(path)):
            text = "".join(map(ast.literal_eval, message.splitlines()))
            if len(text) > 8 and text not in seen:
                seen.add(text)
                document.append(text)
        yield from filter(None, _cut("\n".join(document), PROSE_DOCUMENT))


@cache
def _files(suffixes: tuple[str, ...]) -> list[Path]:
    """All files with one of these endings in the standard library and the installed packages, shuffled."""
    paths = sysconfig.get_paths()
    found: dict[str, Path] = {}
    for root in (paths["stdlib"], paths["purelib"], paths["platlib"]):
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in {"__pycache__", "site-packages", "dist-packages"}]
            for name in names:
                if name.endswith(suffixes):
                    path = Path(folder, name)
                    found.setdefault(path.relative_to(root).as_posix(), path)
    ordered = [found[name] for name in sorted(found)]
    random.Random(SEED).shuffle(ordered)
    return ordered


def _read(path: Path) -> str:
    """The text of a file; nothing of one that is not UTF-8 (the standard library's tests have some)."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def _cut(text: str, size: int) -> Iterator[str]:
    """Cut at line ends into documents of about that many characters."""
    start = 0
    while start < len(text):
        stop = len(text) if len(text) - start <= size else text.rfind("\n", start, start + size) + 1 or start + size
        stop = max(stop, start + 1)
        yield text[start:stop]
        start = stop


def _distinct(texts: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text


def _all_paragraphs() -> Iterator[str]:
    for path in _files((".rst", ".md", ".txt", "METADATA")):
        yield from re.split(r"\n\s*\n", _read(path))
    for path in _files((".py",)):
        for docstring in _docstrings(_read(path)):
            yield from re.split(r"\n\s*\n", docstring)


def _docstrings(source: str) -> Iterator[str]:
    if '"""' not in source:
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # some are tests of the parser
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def _is_prose(text: str) -> bool:
    """Say whether a paragraph is sentences rather than a table, a listing or a session."""
    if not 100 <= len(text) <= 4_000 or ">>>" in text or "=" in text:
        return False
    plain = sum(char.isalpha() or char in " ,.'" for char in text)
    return plain + text.count("\n") >= 0.93 * len(text) and " the " in text


def _call(rng: random.Random, sentences: list[str], names: list[str]) -> dict[str, Any]:
    text = rng.choice(sentences)
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("get_weather", {"location": rng.choice(_CITIES), "unit": rng.choice(_UNITS), "days": rng.randint(1, 14)}),
        ("web_search", {"query": text[:60].strip(), "top_k": rng.choice((3, 5, 10)), "safe": rng.random() < 0.5}),
        ("read_file", {"path": f"src/{rng.choice(names)}", "start_line": rng.randint(1, 900), "end_line": None}),
        ("execute_sql", {"query": _sql(rng), "timeout_ms": 500 * rng.randint(1, 20)}),
        ("send_email", {"to": [f"user{rng.randint(1, 999)}@example.com"], "subject": text[:40], "body": text}),
        ("http_request", {"method": "POST", "url": f"https://{rng.choice(_HOSTS)}", "json": {"id": _uuid(rng)}}),
        ("run_python", {"code": f"import math\nprint(math.sqrt({rng.randint(2, 10**6)}))\n", "stdin": ""}),
        ("edit_file", {"path": f"lib/{rng.choice(names)}", "old": text[:50], "new": rng.choice(sentences)[:70]}),
    )
    name, arguments = rng.choice(calls)
    style = rng.randrange(3)
    if style == 0:
        return {"name": name, "arguments": arguments}
    if style == 1:  # arguments as a string, as chat APIs send them
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"id": f"call_{rng.getrandbits(96):024x}", "type": "function", "function": function}
    return {"tool": name, "args": arguments, "thought": rng.choice(sentences)}


def _result(rng: random.Random, sentences: list[str], names: list[str]) -> dict[str, Any]:
    kind = rng.randrange(4)
    if kind == 0:
        day = f"2025-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:00:00Z"
        rows = [{"id": rng.randint(1, 99_999), "total": round(rng.uniform(1, 5_000), 2)} for _ in range(4)]
        return {"status": "ok", "at": day, "rows": rows}
    if kind == 1:
        hits = [{"title": rng.choice(names), "score": rng.random(), "snippet": rng.choice(sentences)} for _ in range(3)]
        return {"results": hits, "next": None}
    if kind == 2:
        return {"error": {"code": rng.choice((400, 403, 404, 429, 500)), "message": rng.choice(sentences)}}
    return {"stdout": "\n".join(rng.choices(sentences, k=2)), "stderr": "", "exit_code": 0}


def _sql(rng: random.Random) -> str:
    table = rng.choice(_TABLES)
    number = rng.randint(1, 10**6)
    return f"SELECT * FROM {table} WHERE id = {number} ORDER BY created_at LIMIT 20"  # noqa: S608 - runs nowhere


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128)))
