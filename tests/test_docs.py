"""Pages name files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
NAMED = re.compile(r"`((?:tests|scripts|examples|benchmarks|src|docs)/[\w/.-]+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    linked = [target for target in LINK.findall(text) if not (page.parent / target).exists()]
    named = [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    assert linked + named == []


def test_there_are_pages() -> None:
    assert len(PAGES) > 10
