"""Convex decomposition: parts that are convex and fill the mesh, cached; arguments that make sense."""

import sys
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest

from simengine.builder.mesh_data import Mesh
from simengine.builder.meshes.decompose import decompose
from simengine.errors import MissingExtraError, ModelError

# an L of unit thickness: volume 3, its hull 3.5
OUTLINE = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float)
FAN = [[3, 0, 1], [3, 1, 2], [3, 5, 0], [3, 4, 5]]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))


def l_shape() -> Mesh:
    vertices = np.concatenate([np.hstack([OUTLINE, np.full((6, 1), z)]) for z in (0.0, 1.0)])
    caps = [t[::-1] for t in FAN] + [[i + 6 for i in t] for t in FAN]
    sides = [t for i in range(6) for j in [(i + 1) % 6] for t in ([i, j, j + 6], [i, j + 6, i + 6])]
    return Mesh(vertices, caps + sides, "angle")


def test_the_sample_is_closed():
    assert l_shape().solid_problem == ""
    assert l_shape().moments[0] == pytest.approx(3)


def test_an_angle_is_two_boxes_and_is_found_again(monkeypatch):
    parts = decompose(l_shape())
    assert len(parts) == 2
    assert sum(part.moments[0] for part in parts) == pytest.approx(3, rel=0.02)
    for part in parts:
        corners = part.vertices[part.triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        heights = np.einsum("ni,nmi->nm", normals, part.vertices[None] - corners[:, :1])
        assert part.solid_problem == "" and heights.max() < 1e-9
    monkeypatch.setattr("simengine.builder.meshes.decompose._make", lambda *_: pytest.fail("made again"))
    assert decompose(l_shape()) == parts
    assert [part.label for part in parts] == ["angle, part 0", "angle, part 1"]


def test_one_part_is_the_hull():
    (hull,) = decompose(l_shape(), max_parts=1)
    assert hull.moments[0] == pytest.approx(3.5, rel=0.02)


@pytest.mark.parametrize("options, message", [
    ({"threshold": 0.0}, "threshold"), ({"threshold": 2.0}, "threshold"), ({"threshold": float("nan")}, "threshold"),
    ({"max_parts": 0}, "max_parts"),
])  # fmt: skip
def test_arguments_outside_their_range_are_refused(options, message):
    with pytest.raises(ModelError, match=f"angle: {message}"):
        decompose(l_shape(), **options)


def test_without_coacd_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(MissingExtraError, match=r"coacd.*simengine\[meshes\]"):
        decompose(l_shape())

    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("simengine.builder.meshes.cache.version", absent)
    with pytest.raises(MissingExtraError, match=r"coacd.*simengine\[meshes\]"):
        decompose(l_shape())
