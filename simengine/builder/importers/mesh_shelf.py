"""Meshes of one import: each file is read once, and each (file, scale) is one mesh."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from simengine.builder.importers.paths import PathRules, read_file
from simengine.builder.importers.report import Notes, Place
from simengine.builder.mesh_data import WOUND_INWARDS, Mesh
from simengine.builder.meshes.files import MeshFile, MeshLimits, load_mesh, size_problem
from simengine.errors import AssetError


class UnreadableMesh(AssetError):
    """A mesh file that was found but holds no mesh that can be read."""


class MeshShelf:
    """Reads meshes by the names that a file gives them. ``as_mujoco``: as MuJoCo's compiler does (``load_mesh``)."""

    def __init__(self, rules: PathRules, limits: MeshLimits, notes: Notes, as_mujoco: bool = False):
        self.rules = rules
        self.limits = limits
        self.notes = notes
        self.as_mujoco = as_mujoco
        self.files: dict[Path, MeshFile] = {}
        self.named: dict[str, MeshFile] = {}
        self.meshes: dict[tuple, Mesh] = {}

    def file(self, filename: str, place: Place) -> MeshFile:
        """The file as read, in its own unit.

        Raises:
            MissingFile: there is no such file. UnreadableMesh: its content is refused.
            AssetError: its path is refused. MissingExtraError: as ``load_mesh``.
            They do not say where it is named.
        """
        if filename in self.named:
            return self.named[filename]
        path = self.rules.resolve(filename)
        if path not in self.files:
            data = read_file(path, self.limits.file_bytes)
            try:
                file = load_mesh(data, path.name, self.limits, as_mujoco=self.as_mujoco)
            except AssetError as error:
                raise UnreadableMesh(str(error)) from None
            for repair in file.repairs:
                self.notes.note("repaired", f"mesh '{filename}'", place, repair)
            self.files[path] = file
        self.named[filename] = self.files[path]
        return self.named[filename]

    def get(self, filename: str, scale, place: Place) -> Mesh:
        """The mesh times ``scale`` (3,), mirrored ones with their winding turned so that it still looks outwards, as
        closed ones that are wound inwards are.

        Raises as ``file`` does.
        """
        file = self.file(filename, place)
        factors = tuple(float(factor) for factor in scale)
        key = (id(file), factors)
        if key not in self.meshes:
            mirrored = math.prod(factors) < 0.0
            triangles = file.triangles[:, ::-1] if mirrored else file.triangles
            mesh = Mesh(file.vertices * np.array(factors), triangles, label=filename)
            if reason := size_problem(mesh.vertices):
                self.notes.note("warned", f"mesh '{filename}'", place, reason)
            if mesh.is_wound_inwards:
                self.notes.note("repaired", f"mesh '{filename}'", place, WOUND_INWARDS)
            self.meshes[key] = mesh.outward
        return self.meshes[key]
