"""The tables of the search by all boxes: every two shapes are compared once, in the order of contacts."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.builder.finalize import DENSE_TESTS, choose_search
from simengine.collision import broad_dense
from simengine.collision.broad_dense import BOX_LANES, CHUNK, DenseTables
from simengine.containers import to_numpy
from simengine.enums import ShapeFlag


def model_of(counts, shared: int) -> sim.Model:
    """Worlds of so many shapes of several kinds, one of which does not collide, and shared ones."""
    builder = sim.ModelBuilder()
    for count in counts:
        world = sim.ModelBuilder()
        for i in range(count):
            body = world.add_body(xform=sim.transform((i, 0, 0)), mass=1.0, inertia=(1, 1, 1))
            if i % 3:
                world.add_shape_box(body, 0.1, 0.1, 0.1, collides=i != 4, density=0)
            else:
                world.add_shape_sphere(body, 0.1, density=0)
        builder.add_builder(world)
    for i in range(shared):
        builder.add_shape_sphere(-1, 0.1, xform=sim.transform((0, i, 0)))
    return builder.finalize(device="cpu", broad_phase="dense")


def pairs_in_order(tables: DenseTables, world: int) -> list[tuple[int, int]]:
    """What the cells of a world compare, by the numbers of their counts, then by places of the chunk."""
    found = []
    for _, first, rows, chunk, count, stride in tables.cell[tables.cell_start[world] : tables.cell_start[world + 1]]:
        begin, end = tables.chunk_start[chunk : chunk + 2]
        steps = (end - begin) // BOX_LANES
        for r in range(rows):
            shape = tables.row[first + r]
            for k in range(end - begin):
                other = tables.member[begin + BOX_LANES * (k % steps) + k // steps]
                if other >= 0 and tables.rank[other] > tables.rank[shape]:
                    found.append((count + r * stride, k, shape, other))
    return [(int(shape), int(other)) for _, _, shape, other in sorted(found)]


@pytest.mark.parametrize(("counts", "shared"), [([37, 5, 0, 1], 6), ([CHUNK + 9], 0), ([2], CHUNK + 2)])
def test_every_two_shapes_are_compared_once_and_in_the_order_of_contacts(counts, shared):
    model = model_of(counts, shared)
    tables = DenseTables(model)
    types, owner = to_numpy(model.shape_type), to_numpy(model.shape_world)
    collides = (to_numpy(model.shape_flags) & ShapeFlag.COLLIDES) != 0
    for world in range(model.world_count):
        own = [int(i) for i in np.flatnonzero(collides & ((owner == world) | (owner < 0)))]
        wanted = [
            (a, b) for a in own for b in own if (types[a], a) < (types[b], b) and not (owner[a] < 0 and owner[b] < 0)
        ]
        found = [(a, b) for a, b in pairs_in_order(tables, world) if not (owner[a] < 0 and owner[b] < 0)]
        assert found == sorted(wanted)
    numbers = np.concatenate([c[4] + c[5] * np.arange(c[2]) for c in tables.cell] or [np.zeros(0)])
    assert np.array_equal(np.sort(numbers), np.arange(tables.counts))


@pytest.mark.parametrize("shuffled", [False, True])
def test_neighbours_of_a_long_row_are_found_in_whatever_order_they_are_numbered(shuffled):
    """Numbered along the row most chunks are far from most rows and passed over; shuffled none is."""
    count = 2 * CHUNK + 50
    at = np.random.default_rng(4).permutation(count) if shuffled else np.arange(count)
    builder = sim.ModelBuilder()
    for place in at:
        builder.add_shape_sphere(builder.add_body(xform=sim.transform((0.15 * place, 0, 0))), 0.1)
    model = builder.finalize(device="cpu", broad_phase="dense")
    contacts = model.contacts()
    sim.collide(model, model.state(), contacts)
    shape_at = np.argsort(at)
    expected = np.sort(np.stack([shape_at[:-1], shape_at[1:]], 1), axis=1)
    found = np.stack([to_numpy(contacts.shape0), to_numpy(contacts.shape1)], 1)[: int(contacts.count[0])]
    assert found.tolist() == expected[np.lexsort(expected.T[::-1])].tolist()


def test_worlds_of_too_many_shapes_are_searched_in_trees():
    def arrays(worlds: int, shapes: int, shared: int) -> dict:
        flags = np.full(worlds * shapes + shared, int(ShapeFlag.COLLIDES))
        return {"shape_flags": flags, "world_shape_start": shapes * np.arange(worlds + 1)}

    for is_cuda, most in ((False, DENSE_TESTS["cpu"]), (True, DENSE_TESTS["cuda"])):
        fits = int(np.sqrt(2 * most))
        assert choose_search(arrays(1, fits, 0), is_cuda) == "dense"
        assert choose_search(arrays(1, fits + 2, 0), is_cuda) == "bvh"
        assert choose_search(arrays(4, fits // 2 - 1, 0), is_cuda) == "dense"
        assert choose_search(arrays(4, fits // 2 + 2, 0), is_cuda) == "bvh"
        assert choose_search(arrays(1, fits // 2, fits), is_cuda) == "bvh"


def test_more_cells_than_memory_holds_are_refused_before_they_are_listed(monkeypatch):
    model = model_of([CHUNK + 9, 5], 3)
    assert len(DenseTables(model).cell) > 0
    monkeypatch.setattr(broad_dense, "MOST_CELLS", 40)
    with pytest.raises(sim.CapacityError, match='finalize with broad_phase="bvh"') as error:
        DenseTables(model)
    assert error.value.needed > error.value.had == 40
