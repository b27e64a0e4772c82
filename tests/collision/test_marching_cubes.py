"""The cases of marching cubes: every crossed edge once in a loop, neighbouring cells agree."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from simengine.collision import marching_cubes

CORNERS = np.array([[c & 1, c >> 1 & 1, c >> 2] for c in range(8)])


def ends(edge: int) -> tuple[int, int]:
    """The two corners of an edge."""
    axis, number = divmod(edge, 4)
    start = [corner for corner in range(8) if not corner >> axis & 1][number]
    return start, start | 1 << axis


def on_a_face(a: int, b: int) -> bool:
    return any(set(ends(a)) | set(ends(b)) <= set(face) for face in marching_cubes.FACES)


def triangles(inside: int) -> np.ndarray:
    row = marching_cubes.table()[inside]
    return row[1 : 1 + 3 * row[0]].reshape(-1, 3)


@pytest.mark.parametrize("inside", range(256))
def test_the_surface_of_a_case_crosses_exactly_the_edges_that_change_sides(inside):
    crossed = {edge for edge in range(12) if (inside >> ends(edge)[0] & 1) != (inside >> ends(edge)[1] & 1)}
    found = triangles(inside)
    assert set(found.ravel().tolist()) == crossed
    assert len(found) <= 5 and all(len(set(triangle)) == 3 for triangle in found.tolist())
    # what lies on a face of the cell is a side of one triangle; every other side meets its reverse
    sides = Counter((int(t[k]), int(t[(k + 1) % 3])) for t in found for k in range(3))
    for (a, b), times in sides.items():
        assert times == 1
        if (b, a) not in sides:
            assert on_a_face(a, b)
        else:
            assert not on_a_face(a, b)


@pytest.mark.parametrize("corner", range(8))
def test_triangles_face_away_from_the_inside(corner):
    points = np.array([CORNERS[list(ends(edge))].mean(axis=0) for edge in triangles(1 << corner)[0]])
    normal = np.cross(points[1] - points[0], points[2] - points[0])
    assert normal @ (points[0] - CORNERS[corner]) > 0
