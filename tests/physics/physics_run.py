"""Worlds stepped from their initial state, for the tests of physics."""

from __future__ import annotations

import numpy as np

import simengine as sim


def worlds(templates) -> sim.ModelBuilder:
    """A builder that holds one world for each template; each keeps the gravity that was set on it."""
    builder = sim.ModelBuilder(up_axis=templates[0].up_axis)
    for template in templates:
        builder.add_builder(template)
    return builder


class Run:
    """A model on the CPU and its state, advanced in place.

    As float64 copies: ``q``, ``qd`` of the joints, ``poses`` and ``velocities`` of the bodies, flat over worlds.
    """

    def __init__(
        self, builder: sim.ModelBuilder, dt: float, precision: str = "float64", contacts: bool = False, **options
    ):
        self.model = builder.finalize(device="cpu", precision=precision)
        self.solver = sim.solvers.Featherstone(self.model, **options)
        self.state, self._next = self.model.state(), self.model.state()
        self.control = self.model.control()
        self.contacts = self.model.contacts() if contacts else None
        self.dt = dt

    def step(self, count: int = 1) -> None:
        """Advance by ``count`` steps and raise where a world failed."""
        for _ in range(count):
            if self.contacts is not None:
                sim.collide(self.model, self.state, self.contacts)
            self.solver.step(self.state, self._next, self.control, self.contacts, self.dt)
            self.state, self._next = self._next, self.state
        self.solver.check(self.state)

    def record(self, count: int, read) -> np.ndarray:
        """``read(self)`` at the start and after each of ``count`` steps, as one array (count + 1, ...)."""
        values = [np.array(read(self))]
        for _ in range(count):
            self.step()
            values.append(np.array(read(self)))
        return np.array(values)

    @property
    def q(self) -> np.ndarray:
        return sim.to_numpy(self.state.joint_q).astype(float)

    @property
    def qd(self) -> np.ndarray:
        return sim.to_numpy(self.state.joint_qd).astype(float)

    @property
    def poses(self) -> np.ndarray:
        return sim.to_numpy(self.state.body_q).astype(float)

    @property
    def velocities(self) -> np.ndarray:
        return sim.to_numpy(self.state.body_qd).astype(float)

    # of bodies as rigid bodies: independent of the solver's own sums

    def spins(self) -> np.ndarray:
        """Angular velocities in the axes of the bodies (bodies, 3), rad/s."""
        return np.einsum("bji,bj->bi", rotations(self.poses), self.velocities[:, 3:])

    def body_energy(self) -> np.ndarray:
        """Kinetic energy of each body, J."""
        mass, inertia = self._masses()
        v, w = self.velocities[:, :3], self.spins()
        return 0.5 * mass * (v**2).sum(1) + 0.5 * np.einsum("bi,bij,bj->b", w, inertia, w)

    def body_momentum(self) -> tuple[np.ndarray, np.ndarray]:
        """Linear momentum (bodies, 3) and angular momentum about the world's origin (bodies, 3)."""
        mass, inertia = self._masses()
        turn, v = rotations(self.poses), self.velocities[:, :3]
        linear = mass[:, None] * v
        spin = np.einsum("bij,bjk,bk->bi", turn, inertia, self.spins())
        return linear, np.cross(self.centres(), linear) + spin

    def centres(self) -> np.ndarray:
        """Centres of mass in the world (bodies, 3), m."""
        com = sim.to_numpy(self.model.body_com).astype(float)
        return self.poses[:, :3] + np.einsum("bij,bj->bi", rotations(self.poses), com)

    def _masses(self) -> tuple[np.ndarray, np.ndarray]:
        return sim.to_numpy(self.model.body_mass).astype(float), sim.to_numpy(self.model.body_inertia).astype(float)


def rotations(poses: np.ndarray) -> np.ndarray:
    """Rotation matrices (n, 3, 3) of poses (n, 7)."""
    x, y, z, w = (poses[:, 3:] / np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)).T
    return np.moveaxis(
        np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        ),
        2,
        0,
    )


def crossings(values: np.ndarray, dt: float) -> np.ndarray:
    """Times at which a series sampled every ``dt`` changes sign, by linear interpolation."""
    before = np.flatnonzero(values[:-1] * values[1:] < 0)
    return dt * (before + values[before] / (values[before] - values[before + 1]))
