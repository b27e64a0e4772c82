"""What the materials of two shapes become in their contact."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.enums import CombineMode
from simengine.runtime.kernel import Kernel

MIX = Kernel(
    """
    #include "contact.h"
    extern "C" __global__ void mix(const ModelView model, const int* shapes, real* values, int* dimension) {
        for_each(i, 1) {
            const ContactMaterial m = mix_materials(model, shapes[0], shapes[1]);
            const real all[] = {m.friction, m.static_friction, m.torsional_friction, m.rolling_friction, m.restitution,
                                m.reference[0], m.reference[1], m.impedance[0], m.impedance[1], m.impedance[2],
                                m.impedance[3], m.impedance[4], m.stiffness, m.dissipation};
            for (int k = 0; k < 14; ++k) values[k] = all[k];
            dimension[0] = m.dimension;
        }
    }
    """,
    "mix",
)
NAMES = ("friction", "static_friction", "torsional_friction", "rolling_friction", "restitution")


def two_balls(first: dict, second: dict):
    """A model of two spheres whose shape rows (without the prefix ``shape_``) are set from the dicts."""
    builder = sim.ModelBuilder()
    for _ in range(2):
        builder.add_shape_sphere(builder.add_body(), radius=0.1)
    model = builder.finalize(device="cpu", precision="float64")
    for shape, values in enumerate((first, second)):
        for name, value in values.items():
            getattr(model, f"shape_{name}")[shape] = value
    return model


def mix(first: dict, second: dict, swap: bool = False) -> dict:
    values, dimension = np.zeros(14), np.zeros(1, np.int32)
    MIX.launch(1, [two_balls(first, second), np.array([1, 0] if swap else [0, 1], np.int32), values, dimension])
    named = dict(zip(NAMES, values[:5], strict=True)) | dict(reference=values[5:7], impedance=values[7:12])
    return named | dict(stiffness=values[12], dissipation=values[13], dimension=dimension[0])


A = dict(zip(NAMES, (0.4, 0.5, 0.01, 0.002, 0.3), strict=True))
A |= dict(contact_dim=3, reference=[0.02, 1.0], impedance=[0.9, 0.95, 0.001, 0.5, 2])
B = dict(zip(NAMES, (0.8, 0.9, 0.03, 0.001, 0.1), strict=True))
B |= dict(contact_dim=4, reference=[0.06, 0.6], impedance=[0.7, 0.85, 0.003, 0.3, 4])

RULES = {
    CombineMode.AVERAGE: lambda a, b: (a + b) / 2,
    CombineMode.MINIMUM: min,
    CombineMode.MULTIPLY: lambda a, b: a * b,
    CombineMode.MAXIMUM: max,
    CombineMode.MJCF: max,
}


@pytest.mark.parametrize("mode", CombineMode, ids=lambda m: m.name.lower())
@pytest.mark.parametrize("swap", [False, True])
def test_friction_and_restitution_combine_by_the_mode(mode, swap):
    mixed = mix(A | dict(combine=mode), B | dict(combine=mode), swap)
    for name in NAMES:
        assert np.isclose(mixed[name], RULES[mode](A[name], B[name]), rtol=1e-15)


@pytest.mark.parametrize("first", CombineMode, ids=lambda m: m.name.lower())
@pytest.mark.parametrize("second", CombineMode, ids=lambda m: m.name.lower())
def test_of_two_modes_the_later_in_the_list_wins(first, second):
    mixed = mix(A | dict(combine=first), B | dict(combine=second))
    assert np.isclose(mixed["friction"], RULES[max(first, second)](0.4, 0.8), rtol=1e-15)


def test_impedance_forms_average_and_dimensions_take_the_larger():
    mixed = mix(A, B)
    assert np.allclose(mixed["reference"], [0.04, 0.8]) and np.allclose(mixed["impedance"], [0.8, 0.9, 0.002, 0.4, 3])
    assert mixed["dimension"] == 4 and mixed["stiffness"] == 0


def test_stiffnesses_combine_in_series_and_dampers_carry_the_force_of_their_springs():
    """Two springs in series with dissipation d_i (force k x (1 + d v)): each takes the share k_other / (k_0 + k_1) of
    the deformation and of its rate, so 1/k = 1/k_0 + 1/k_1 and d = share_0 d_0 + share_1 d_1."""
    for swap in (False, True):
        mixed = mix(A | dict(stiffness=1e4, dissipation=0.5), B | dict(stiffness=3e4, dissipation=2.0), swap)
        assert np.isclose(mixed["stiffness"], 1 / (1 / 1e4 + 1 / 3e4), rtol=1e-14)
        assert np.isclose(mixed["dissipation"], 0.75 * 0.5 + 0.25 * 2.0, rtol=1e-14)


@pytest.mark.parametrize("swap", [False, True])
def test_a_mixed_pair_uses_the_stiffness(swap):
    mixed = mix(A | dict(stiffness=1e4, dissipation=0.5), B, swap)
    assert mixed["stiffness"] == 1e4 and mixed["dissipation"] == 0.5


@pytest.mark.parametrize("swap", [False, True])
def test_in_mjcf_mode_the_higher_priority_gives_all_values(swap):
    mixed = mix(A | dict(combine=CombineMode.MJCF, priority=1), B | dict(combine=CombineMode.MJCF, priority=0), swap)
    assert [mixed[name] for name in NAMES] == [A[name] for name in NAMES]
    assert mixed["dimension"] == 3 and np.array_equal(mixed["reference"], A["reference"])


def test_priority_means_nothing_outside_mjcf_mode():
    mixed = mix(A | dict(priority=1), B)
    assert np.isclose(mixed["friction"], 0.6)
