"""The generated pages of docs/ say what the code says."""

from pathlib import Path

from fairlead.core.jobs.states import MEANINGS, MOVES, PLANNED, State
from scripts import generate_docs


def test_pages_on_disk_are_up_to_date() -> None:
    assert generate_docs.stale_pages() == [], "run `make docs`"
    assert generate_docs.main(["--check"]) == 0


def test_a_missing_or_edited_page_is_stale_until_written(tmp_path: Path) -> None:
    assert generate_docs.stale_pages(tmp_path) == list(generate_docs.PAGES)
    assert generate_docs.write_pages(tmp_path) == list(generate_docs.PAGES)
    assert generate_docs.stale_pages(tmp_path) == []

    (tmp_path / "docs/states.md").write_text("edited by hand", encoding="utf-8")
    assert generate_docs.stale_pages(tmp_path) == ["docs/states.md"]


def test_the_diagram_shows_every_move_between_states_that_are_reached() -> None:
    page = generate_docs.states_page()
    for source, targets in MOVES.items():
        for target in targets:
            drawn = f"    {source} --> {target}\n" in page
            assert drawn == ({source, target} & PLANNED == set())


def test_the_table_explains_every_state() -> None:
    page = generate_docs.states_page()
    assert set(MEANINGS) == set(State)
    for state in State:
        assert f"| `{state}` | {MEANINGS[state]}{' (not reached yet)' if state in PLANNED else ''} |" in page
