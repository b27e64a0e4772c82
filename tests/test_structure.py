"""Every impossible number in the integer arrays of a model is refused, by the name of its row."""

import numpy as np
import pytest

from simengine import schema
from simengine.errors import ModelError
from simengine.model import PARAMETERS, Model
from tests import two_bodies

WORLDS = 2


def refused(arrays, tables):
    with pytest.raises(ModelError) as found:
        Model(arrays, two_bodies.labels(WORLDS), [tables], device="cpu")
    return str(found.value)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("world_body_start", 1, 5, "model.world_body_start must rise from 0 to 4"),
        ("world_dof_start", 0, 1, "model.world_dof_start must rise from 0 to 14"),
        ("world_shape_start", 2, 6, "model.world_shape_start must rise from 0 to at most 5"),
        ("world_site_start", 1, 1, "model.world_site_start must rise from 0 to 0"),
        ("world_equality_start", 2, -1, "model.world_equality_start must rise from 0 to 0"),
        ("joint_q_start", 1, -1, "model.joint_q_start must rise from 0 to 16"),
        ("joint_parent", 1, 4, "model.joint_parent[1] is 4; it must be from -1 to 3"),
        ("joint_child", 0, -1, "model.joint_child[0] is -1; it must be from 0 to 3"),
        ("shape_body", 2, 99, "model.shape_body[2] is 99; it must be from -1 to 3"),
        ("shape_mesh", 2, 0, "model.shape_mesh[2] is 0; it must be from -1 to -1"),
        ("body_world", 3, 2, "model.body_world[3] is 2; it must be from 0 to 1"),
        ("joint_type", 0, 17, "model.joint_type[0] is 17, which is no JointType"),
        ("shape_type", 4, -1, "model.shape_type[4] is -1, which is no ShapeType"),
        ("world_group", 1, 1, "world_group must be 0 for the worlds of batch group 0"),
    ],
)
def test_a_wrong_number_of_the_model_is_named(name, place, value, message):
    arrays = two_bodies.arrays(WORLDS)
    arrays[name][place] = value
    assert message in refused(arrays, two_bodies.topology(WORLDS))


@pytest.mark.parametrize("kind", ["site", "equality"])
def test_worlds_of_a_group_have_equally_many_sites_and_equalities(kind):
    arrays = two_bodies.arrays(WORLDS)
    for row in schema.rows("model"):
        if row.name.startswith(f"{kind}_"):
            arrays[row.name] = np.zeros((1, *row.shape[1:]), arrays[row.name].dtype)
    arrays[f"world_{kind}_start"][1:] = 1
    with pytest.raises(ModelError, match=f"1 entries by world_{kind}_start; world 1 differs"):
        Model(arrays, two_bodies.labels(WORLDS) | {kind: ["one"]}, [two_bodies.topology(WORLDS)], device="cpu")


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("group_world", 1, 0, "each of the 2 worlds once"),
        ("link_parent", 0, 0, "link 0 must be the world"),
        ("link_parent", 1, 2, "the parent of a link must come before it"),
        ("link_parent", 2, 0, "link_depth[2] is 2; it must be 1"),
        ("link_body", 2, 0, "link_body must be -1 for link 0 and name each of 2 once"),
        ("link_joint", 0, 0, "link_joint must be -1 for link 0"),
        ("link_dof_start", 2, 5, "link_dof_start[2] is 5; it must be 6"),
        ("link_dof_count", 2, 2, "the links have 8 degrees of freedom, the tables 7"),
        ("link_root", 2, 2, "link_root[2] is 2; it must be 1"),
        ("dof_link", 6, 1, "dof_link[6] is 1; it must be 2"),
        ("dof_kind", 6, 9, "dof_kind[6] is 9, which is no DofKind"),
        ("dof_kind", 5, 1, "the ball that begins before dof 5 is not complete"),
        ("dof_kind", 3, 1, "dof 4 is BALL_Y but does not follow the one before it"),
        ("dof_coord", 4, 4, "dof 4 is BALL_Y but does not follow the one before it"),
        ("dof_coord", 6, 8, "world_coord_start"),
        ("dof_coord", 0, -1, "dof_coord[0] is -1; it must be from 0 to 7"),
        ("dof_user", 0, 1, "dof_user must name each of 7 degrees of freedom once"),
        ("dof_parent", 6, 4, "dof_parent[6] is 4; it must be 5"),
        ("dof_mask", 2, 5, "dof_mask does not say what dof_parent says"),
        ("dof_depth", 6, 5, "dof_depth[6] is 5; it must be 6"),
        ("dof_tree_start", 6, 6, "dof_tree_start[6] is 6; it must be 0"),
        ("dof_tree_end", 0, 1, "dof_tree_end[0] is 1; it must be 7"),
        ("shape_link", 0, 3, "shape_link[0] is 3; it must be from 0 to 2"),
        ("pair_shape0", 0, 3, "pair_shape0[0] is 3; it must be from 0 to 2"),
        ("pair_routine", 1, 77, "topology.pair_routine[1] is 77, which is no PairRoutine"),
        ("pair_slot", 1, 0, "pair_slot[1] is 0; it must be 1"),
    ],
)
def test_a_wrong_number_of_the_topology_is_named(name, place, value, message):
    tables = two_bodies.topology(WORLDS)
    tables[name][place] = value
    assert message in refused(two_bodies.arrays(WORLDS), tables)


@pytest.mark.parametrize("name", [row.name for row in schema.rows("topology") if row.name != "link_flags"])
def test_no_table_of_the_topology_may_be_of_another_length(name):
    tables = two_bodies.topology(WORLDS)
    tables[name] = np.append(tables[name], tables[name][-1:])
    assert refused(two_bodies.arrays(WORLDS), tables)


@pytest.mark.parametrize("seed", range(3))
def test_random_numbers_in_the_structure_do_not_pass(seed):
    random = np.random.default_rng(seed)
    checked = [row.name for row in schema.rows("model") if row.dtype == "int32" and row.name not in PARAMETERS]
    free = {
        "body_flags",
        "shape_flags",
        "shape_group",
        "shape_contype",
        "shape_conaffinity",
    }  # bits and group numbers: any number is possible
    for name in checked:
        arrays = two_bodies.arrays(WORLDS)
        if name in free or not arrays[name].size or name.startswith(("mesh_", "world_group")):
            continue
        arrays[name].reshape(-1)[random.integers(arrays[name].size)] = random.integers(1000, 2**31)
        assert name in refused(arrays, two_bodies.topology(WORLDS))


def contact_pairs(parameters) -> dict[str, np.ndarray]:
    """Rows of a contact pair in each world, and ``explicit_parameter``."""
    counts = {row.name: (WORLDS, *row.shape[1:]) for row in schema.rows("model") if row.over == "contact_pairs"}
    counts["world_contact_pair_start"] = (WORLDS + 1,)
    rows = {name: np.zeros(shape, np.int32) for name, shape in counts.items()}
    rows["world_contact_pair_start"][:] = np.arange(WORLDS + 1)
    return rows | {"explicit_parameter": np.clip(np.array(parameters, np.int32), 0, WORLDS - 1)}


def test_explicit_pairs_name_contact_pairs_of_their_world():
    arrays = two_bodies.arrays(WORLDS)
    arrays["shape_flags"][:] = 1
    arrays |= {f"explicit_shape{i}": np.array([i], np.int32) for i in (0, 1)} | contact_pairs([1])
    assert "explicit_parameter must name contact pairs of the world" in refused(arrays, two_bodies.topology(WORLDS))


def test_pairs_name_contact_pairs_of_their_world():
    tables = two_bodies.topology(WORLDS)
    for parameter in (0, -2):
        tables["pair_parameter"][1] = parameter
        assert f"pair_parameter[1] is {parameter}" in refused(two_bodies.arrays(WORLDS), tables)


@pytest.mark.parametrize(
    ("filtered", "explicit", "message"),
    [
        ([(1, 0)], [], "pairs in ascending order"),
        ([(0, 1), (0, 1)], [], "pairs in ascending order"),
        ([(0, 99)], [], "filtered_shape1"),
        ([], [(0, 2)], "two shapes of one world"),
        ([], [(0, 4)], "two shapes of one world"),
        ([], [(2, 3), (0, 1)], "in order of worlds"),
        ([], [(1, 0)], "types that no routine collides"),
        ([], [(0, 0)], "types that no routine collides"),
        ([], [(-1, 1)], "explicit_shape0"),
        ([], [(0, 1), (0, 1)], "in ascending order"),
    ],
)
def test_pairs_that_a_search_cannot_work_with_are_refused(filtered, explicit, message):
    arrays = two_bodies.arrays(WORLDS)
    arrays["shape_flags"][:] = 1
    for name, pairs in (("filtered", filtered), ("explicit", explicit)):
        table = np.array(pairs, np.int32).reshape(-1, 2)
        arrays |= {f"{name}_shape{i}": np.ascontiguousarray(table[:, i]) for i in (0, 1)}
    arrays |= contact_pairs(arrays["explicit_shape0"] // 2)
    assert message in refused(arrays, two_bodies.topology(WORLDS))


def test_explicit_pairs_are_of_shapes_that_collide():
    arrays = two_bodies.arrays(WORLDS)
    arrays |= {f"explicit_shape{i}": np.array([i], np.int32) for i in (0, 1)} | contact_pairs([0])
    assert "must be shapes that collide" in refused(arrays, two_bodies.topology(WORLDS))
