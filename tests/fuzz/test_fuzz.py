"""Whatever a file holds, the importers and mesh readers read it or refuse it by an error of ours: a short run.

``python -m tests.fuzz.run --minutes 30`` is the long one.
"""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simengine.builder.meshes.files import FORMATS
from simengine.builder.meshes.tetra_files import TETRA_FORMATS
from tests.fuzz import seeds
from tests.fuzz.grammar import generated
from tests.fuzz.mutate import damaged
from tests.fuzz.targets import METHODS, TARGETS, Finding, attempt, drawn, prepare

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
randoms = st.integers(0, 2**32 - 1).map(Random)


BEGINNINGS = [
    b"", b"solid", b"OFF\n", b"OFF 3 1 0\n", b"v 0 0 0\nf 1 1 1\n", b"ply\nformat ascii 1.0\nelement vertex 3\n",
    b"ply\nformat binary_big_endian 1.0\nelement face 9\nproperty list uchar int vertex_indices\nend_header\n",
    b"glTF\2\0\0\0", b"<COLLADA>", b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n",
    b"$MeshFormat\n4.1 1 8\n\1\0\0\0\n$EndMeshFormat\n$Nodes\n",
    b"$MeshFormat\n2.2 1 8\n\1\0\0\0\n$EndMeshFormat\n$Nodes\n3\n",
    b"# vtk DataFile Version 2.0\nt\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS 3 float\n",
    b"\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0",
]  # fmt: skip
"""First bytes by which readers of meshes choose what to do."""


@pytest.mark.parametrize("kind", TARGETS)
def test_the_seeds_are_read(kind, tmp_path):
    prepare(tmp_path)
    for name, data in seeds.of(kind):
        assert attempt(kind, name, data, tmp_path), (name, data[:200])


@pytest.mark.parametrize("kind", METHODS)
@quick
@given(random=randoms)
def test_random_files_of_a_format_are_read_or_refused(kind, tmp_path, random):
    prepare(tmp_path)
    attempt(kind, seeds.of(kind)[0][0], generated(random, kind), tmp_path)


@pytest.mark.parametrize("kind", TARGETS)
@quick
@given(random=randoms)
def test_damaged_files_are_read_or_refused(kind, tmp_path, random):
    prepare(tmp_path)
    known = seeds.of(kind)
    name, data = random.choice(known)
    attempt(kind, name, damaged(random, data, [content for _, content in known]), tmp_path)


@pytest.mark.parametrize("ending", sorted({*FORMATS, *TETRA_FORMATS}))
@settings(max_examples=80, deadline=None)
@given(beginning=st.sampled_from(BEGINNINGS), rest=st.binary(max_size=200))
def test_any_bytes_are_read_as_a_mesh_or_refused(ending, beginning, rest):
    attempt("mesh", f"a.{ending}", beginning + rest, None)


@pytest.mark.parametrize("kind", TARGETS)
def test_a_part_of_the_damaged_files_is_still_read(kind, tmp_path):
    """Damage that no reader gets past its first line would try nothing."""
    prepare(tmp_path)
    random, known = Random(0), seeds.of(kind)
    tried = [attempt(kind, *drawn(random, kind, known), tmp_path) for _ in range(80)]
    assert 2 <= sum(tried) < 80


@pytest.mark.slow
@pytest.mark.parametrize("kind", TARGETS)
def test_thousands_of_files_are_read_or_refused(kind, tmp_path):
    prepare(tmp_path)
    known = seeds.of(kind)
    for seed in range(1500):
        attempt(kind, *drawn(Random(seed), kind, known), tmp_path)


def test_an_error_that_is_none_of_ours_is_a_finding(tmp_path, monkeypatch):
    """The fuzzers can fail: an importer that raises what it may not, and one that leaves a half-built robot."""
    import simengine as sim

    def wrong(self, path, **options):
        raise KeyError("x")

    monkeypatch.setattr(sim.ModelBuilder, "add_urdf", wrong)
    with pytest.raises(Finding, match="KeyError"):
        attempt("urdf", "a.urdf", b"", tmp_path)

    def half(self, path, **options):
        self.add_body(mass=1, inertia=(1, 1, 1))
        raise sim.AssetError("no")

    monkeypatch.setattr(sim.ModelBuilder, "add_urdf", half)
    with pytest.raises(Finding, match="half built"):
        attempt("urdf", "a.urdf", b"", tmp_path)


def test_the_same_numbers_draw_the_same_files():
    for kind in TARGETS:
        known = seeds.of(kind)
        assert drawn(Random(7), kind, known) == drawn(Random(7), kind, known)
