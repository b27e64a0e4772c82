"""Hulls and decompositions in the cache: found again, made anew where damaged, and never trusted."""

import logging
import zipfile

import numpy as np
import pytest

from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.builder.meshes.cache import cached_pieces
from simengine.builder.meshes.hull import CACHED
from simengine.errors import MissingExtraError
from simengine.runtime import cache


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


PIECES = [(np.eye(3), np.array([[0, 1, 2]])), (np.ones((4, 3)), np.array([[0, 1, 2], [1, 2, 3]]))]


class Maker:
    """Counts how often pieces are made."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return PIECES


def ask(maker, table=None, settings="pieces", package="numpy"):
    return cached_pieces(settings, package, [np.arange(3.0) if table is None else table], maker)


def same(pieces):
    return all(
        np.array_equal(a, b) for one, other in zip(pieces, PIECES, strict=True) for a, b in zip(one, other, strict=True)
    )


def test_pieces_are_made_once():
    maker = Maker()
    assert same(ask(maker)) and same(ask(maker))
    assert maker.calls == 1
    assert [array.dtype for array in ask(maker)[0]] == [np.float64, np.int32]


def test_other_content_parameters_or_libraries_are_other_pieces():
    maker = Maker()
    ask(maker)
    ask(maker, np.arange(4.0))
    ask(maker, np.arange(3.0).reshape(3, 1))
    ask(maker, np.arange(3.0).astype(np.float32))
    ask(maker, settings="others")
    ask(maker, package="pytest")
    assert maker.calls == 6


def test_an_absent_library_is_an_absent_extra():
    with pytest.raises(MissingExtraError, match=r"no-such-library.*simengine\[meshes\]"):
        ask(Maker(), package="no-such-library")


@pytest.mark.parametrize("position", [0, 5, 30, 100, 200, 400, 700, -30, -1])
def test_a_damaged_entry_is_made_again(own_cache, caplog, position):
    maker = Maker()
    ask(maker)
    (entry,) = own_cache.glob("*.npz")
    data = bytearray(entry.read_bytes())
    data[position] ^= 0xFF
    entry.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        assert same(ask(maker))
    if maker.calls == 2:
        assert "damaged" in caplog.text
    else:
        assert maker.calls == 1  # a byte that means nothing, such as a date
    assert same(ask(maker))


@pytest.mark.parametrize("size", [0, 10, 300])
def test_an_entry_that_was_cut_off_is_made_again(own_cache, size):
    maker = Maker()
    ask(maker)
    (entry,) = own_cache.glob("*.npz")
    entry.write_bytes(entry.read_bytes()[:size])
    assert same(ask(maker))
    assert maker.calls == 2


@pytest.mark.parametrize(
    "old, new", [(b'"sizes": [', b'"sizes": 7 '), (b"[\n   3,", b"[\n  -3,"), (b"[\n   3,", b"[\n   2,")]
)
def test_a_header_that_does_not_fit_is_refused(own_cache, old, new, monkeypatch):
    """Counts that a stranger wrote are compared with the arrays before anything is allocated."""
    maker = Maker()
    ask(maker)
    (entry,) = own_cache.glob("*.npz")
    with zipfile.ZipFile(entry) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert old in members["header.npy"]
    members["header.npy"] = members["header.npy"].replace(old, new, 1)
    with zipfile.ZipFile(entry, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    assert same(ask(maker))
    assert maker.calls == 2


def test_indices_that_lead_nowhere_are_refused(own_cache, monkeypatch):
    broken = [(np.eye(3), np.array([[0, 1, 3]]))]
    cached_pieces("pieces", "numpy", [np.arange(3.0)], lambda: broken)
    maker = Maker()
    assert same(ask(maker))
    assert maker.calls == 1


def test_a_cache_that_cannot_be_written_does_no_harm(own_cache, monkeypatch):
    monkeypatch.setattr("simengine.files.write_beside", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    maker = Maker()
    assert same(ask(maker))
    assert list(own_cache.glob("*.npz")) == []


def test_clearing_the_cache_removes_meshes(own_cache):
    ask(Maker())
    assert cache.clear() == 0
    assert list(own_cache.glob("*.npz")) == []


def test_hulls_of_many_points_are_cached_and_equal(own_cache, monkeypatch):
    few, many = (np.random.default_rng(0).normal(size=(count, 3)) for count in (CACHED - 1, CACHED))
    convex_hull(few)
    assert list(own_cache.glob("*.npz")) == []
    first = convex_hull(many)
    assert len(list(own_cache.glob("*.npz"))) == 1
    monkeypatch.setattr("simengine.builder.meshes.hull._make", lambda *_: pytest.fail("made again"))
    second = convex_hull(many)
    assert first == second and isinstance(second, Mesh) and second.solid_problem == ""
