"""One mesh from the pieces that the nodes of a scene place."""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.errors import AssetError

OBJECTS = 20_000  # nodes, and pieces
PLACED_VERTICES = 1_000_000  # by nodes that share pieces; more where the file itself has more


class SceneMesh:
    """Collects the pieces of a scene, moved by their nodes."""

    def __init__(self, name: str, limits: MeshLimits):
        self.name, self.limits = name, limits
        self.vertex_count = self.triangle_count = 0
        self._points, self._triangles = [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)]

    def add(self, points: np.ndarray, triangles: np.ndarray, transform: np.ndarray, vertices_of_file: int) -> None:
        """Add points (n, 3) and triangles (m, 3) moved by a transform (4, 4).

        A mirror image is wound to look outwards again. ``vertices_of_file``: how many vertices the file has, however
        often they are placed.

        Raises:
            AssetError: more triangles than the cap, or nodes that multiply a small file.
        """
        if np.linalg.det(transform[:3, :3]) < 0:
            triangles = triangles[:, ::-1]
        self._triangles.append(triangles + self.vertex_count)
        self._points.append(points @ transform[:3, :3].T + transform[:3, 3])
        self.vertex_count += len(points)
        self.triangle_count += len(triangles)
        self.limits.check(self.triangle_count, "triangles", self.name)
        if self.vertex_count > max(PLACED_VERTICES, vertices_of_file):
            message = f"its nodes place more than {PLACED_VERTICES} vertices: write the meshes out"
            raise AssetError(message, file=self.name)

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """All vertices (n, 3) and triangles (m, 3)."""
        return np.concatenate(self._points), np.concatenate(self._triangles)


def strip_triangles(corners: np.ndarray) -> np.ndarray:
    """The triangles (n - 2, 3) of a strip of n corners; each second one is wound the other way."""
    count = max(len(corners) - 2, 0)
    first, second, third = corners[:count], corners[1 : count + 1], corners[2 : count + 2]
    odd = np.arange(count) % 2 == 1
    return np.stack([first, np.where(odd, third, second), np.where(odd, second, third)], axis=1)


def fan_triangles(corners: np.ndarray) -> np.ndarray:
    """The triangles (n - 2, 3) of a fan of n corners about the first."""
    count = max(len(corners) - 2, 0)
    return np.stack([np.repeat(corners[:1], count), corners[1 : count + 1], corners[2 : count + 2]], axis=1)
