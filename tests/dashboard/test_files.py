"""The files of the page: small, and packed for those who can unpack them."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.dashboard import files as module
from fairlead.dashboard.files import files, is_built
from tests.api.conftest import Api

MOST = 100_000  # bytes over the wire
SCRIPT = b"let answer = 42;\n" * 100


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A page with one script."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "index-1.js").write_bytes(SCRIPT)
    (tmp_path / "index.html").write_bytes(b"<!doctype html>")
    monkeypatch.setattr(module, "STATIC", tmp_path)
    files.cache_clear()
    yield
    files.cache_clear()


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("gzip", True), ("br, gzip;q=0.5", True), ("identity", False), ("gzip;q=0", False), ("", False)],
)
@pytest.mark.usefixtures("built")
async def test_a_file_is_packed_where_that_is_understood(api: Api, accepted: str, packed: bool) -> None:
    path, headers = "/dashboard/assets/index-1.js", {"Accept-Encoding": accepted}
    async with api.http.stream("GET", path, headers=headers) as answer:
        body = b"".join([part async for part in answer.aiter_raw()])
    assert (answer.headers.get("content-encoding") == "gzip") is packed
    assert answer.headers["vary"] == "Accept-Encoding"
    assert (gzip.decompress(body) if packed else body) == SCRIPT


@pytest.mark.usefixtures("built")
def test_what_packing_does_not_shorten_is_sent_as_it_is() -> None:
    assert files()["index.html"].packed is None


def test_the_page_loads_little() -> None:
    if not is_built():
        pytest.skip("DASHBOARD NOT TESTED: it is not built; make dashboard")
    sizes = {name: len(file.packed or file.body) for name, file in files().items()}
    assert sum(sizes.values()) < MOST, sizes
