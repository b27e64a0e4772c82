"""Model: counts, labels, views by world, what may be written and what not."""

import numpy as np
import pytest

from simengine import schema
from simengine.builder.builder import ModelBuilder
from simengine.errors import ModelError
from simengine.model import Model
from tests import two_bodies

WORLDS = 3


@pytest.fixture
def model():
    return two_bodies.model(WORLDS)


def test_counts(model):
    assert (model.world_count, model.body_count, model.joint_count) == (3, 6, 6)
    assert (model.joint_coord_count, model.joint_dof_count) == (24, 21)
    assert (model.shape_count, model.site_count, model.particle_count) == (7, 0, 0)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_arrays_have_the_precision_and_the_values(precision):
    model = two_bodies.model(2, precision=precision)
    assert model.body_mass.dtype == precision
    assert model.shape_color.dtype == np.float32
    assert model.random_key.dtype == np.uint64
    np.testing.assert_array_equal(model.body_mass, [2, 1, 2, 1])


def test_find_by_glob_gives_indices_of_all_worlds(model):
    np.testing.assert_array_equal(model.find_bodies("*/box"), [1, 3, 5])
    np.testing.assert_array_equal(model.find_joints("world_1/*"), [2, 3])
    np.testing.assert_array_equal(model.find_shapes("ground"), [6])


def test_a_label_with_glob_characters_is_found_by_its_own_name():
    labels = two_bodies.labels(1) | {"body": ["arm[0]", "arm0"]}
    model = Model(two_bodies.arrays(1), labels, [two_bodies.topology(1)], device="cpu")
    np.testing.assert_array_equal(model.find_bodies("arm[0]"), [0, 1])


def test_find_names_near_labels(model):
    with pytest.raises(ModelError, match=r"no body label matches 'world_1/bax'.*world_1/box"):
        model.find_bodies("world_1/bax")


def test_by_world_is_a_view(model):
    q = model.by_world(model.joint_q)
    assert q.shape == (3, 8) and np.shares_memory(q, model.joint_q)
    q[1, 7] = 9.0
    assert model.joint_q[15] == 9.0
    assert model.by_world(model.body_inertia).shape == (3, 2, 3, 3)
    assert model.by_world(np.zeros(21)).shape == (3, 7)
    assert model.by_world(model.gravity).shape == (3, 1, 3)


def test_by_world_leaves_out_shared_static_shapes(model):
    types = model.by_world(model.shape_type)
    assert types.shape == (3, 2) and np.shares_memory(types, model.shape_type)
    np.testing.assert_array_equal(types, [[2, 6]] * 3)


def test_by_world_refuses_what_has_no_such_view(model):
    with pytest.raises(ModelError, match="length 5 fits nothing"):
        model.by_world(np.zeros(5))
    with pytest.raises(ModelError, match="not contiguous"):
        model.by_world(np.zeros((42, 2))[::2])
    with pytest.raises(ModelError, match="8 long, the model has 24 coords"):
        model.by_world(np.zeros(8), over="coords")
    with pytest.raises(ModelError, match="over='links' is not one of"):
        model.by_world(np.zeros(8), over="links")


def test_by_world_asks_where_the_length_may_mean_two_things():
    # one world: 3 shapes with the static one, which a view over shapes leaves out; make 3 sites too
    arrays = two_bodies.arrays(1)
    arrays |= {"site_body": np.zeros(3, np.int32), "site_xform": np.zeros((3, 7))}
    arrays["world_site_start"][1] = 3
    model = Model(arrays, two_bodies.labels(1) | {"site": list("abc")}, [two_bodies.topology(1)], device="cpu")
    with pytest.raises(ModelError, match="length 3 may be shapes or sites"):
        model.by_world(np.zeros(3))
    assert model.by_world(np.zeros(3), over="sites").shape == (1, 3)
    assert model.by_world(model.shape_size).shape == (1, 2, 3)


def test_by_world_names_the_world_that_differs():
    one, two, builder = ModelBuilder(), ModelBuilder(), ModelBuilder()
    for template, count in ((one, 1), (two, 3)):
        for _ in range(count):
            template.add_shape_sphere(template.add_body(), radius=0.1)
        builder.add_builder(template)
    model = builder.finalize(device="cpu")
    with pytest.raises(ModelError, match="world 0 has 1 shapes, world 1 has 3"):
        model.by_world(model.shape_type)


def worlds_with_sites(*counts: int) -> Model:
    """One world for each entry: a body with so many sites and one equality with the world; the last has more shapes."""
    builder = ModelBuilder()
    for world, count in enumerate(counts):
        template = ModelBuilder()
        body = template.add_body(mass=1, inertia=(1, 1, 1))
        for i in range(count):
            template.add_site(body, label=f"site_{i}")
        template.add_equality_connect(body, -1, label="pin")
        for _ in range(1 + (world == len(counts) - 1)):
            template.add_shape_sphere(body, radius=0.1)
        builder.add_builder(template)
    return builder.finalize(device="cpu")


def test_sites_and_equalities_have_a_world():
    model = worlds_with_sites(2, 0, 3)
    np.testing.assert_array_equal(model.world_site_start, [0, 2, 2, 5])
    np.testing.assert_array_equal(model.world_equality_start, [0, 1, 2, 3])
    assert [model.world_of("site_body", i) for i in range(5)] == [0, 0, 2, 2, 2]
    assert [model.world_of("equality_type", i) for i in range(3)] == [0, 1, 2]
    with pytest.raises(ModelError, match="world 0 has 2 sites, world 1 has 0"):
        model.by_world(model.site_xform)


def test_by_world_is_for_groups_of_equal_counts_too():
    model = worlds_with_sites(2, 2, 2)
    assert len(model.groups) == 2
    view = model.by_world(model.site_xform)
    assert view.shape == (3, 2, 7) and np.shares_memory(view, model.site_xform)
    assert model.by_world(model.equality_data).shape == (3, 1, 8)
    with pytest.raises(ModelError, match="world 0 has 1 shapes, world 2 has 2"):
        model.by_world(model.shape_size)


def test_parameters_are_copied_into(model):
    mass = model.body_mass
    model.body_mass = [1, 2, 3, 4, 5, 6]
    assert model.body_mass is mass
    np.testing.assert_array_equal(mass, [1, 2, 3, 4, 5, 6])
    model.shape_friction = 0.5
    np.testing.assert_array_equal(model.shape_friction, np.full(7, 0.5))


def test_structure_is_fixed(model):
    with pytest.raises(ModelError, match=r"model\.joint_parent is part of the structure"):
        model.joint_parent = np.zeros(6, np.int32)
    with pytest.raises(ValueError, match="read-only"):
        model.joint_parent[0] = 5
    with pytest.raises(ModelError, match=r"topology\.link_parent is part of the structure"):
        model.groups[0].link_parent = 0


def test_unknown_names_are_refused_with_a_suggestion(model):
    with pytest.raises(AttributeError, match=r"model.body_masses is unknown; did you mean 'body_mass'\?"):
        model.body_masses = 1.0
    with pytest.raises(AttributeError, match=r"model\.body_masses is unknown"):
        _ = model.body_masses
    with pytest.raises(AttributeError, match=r"model\.body_count cannot be assigned"):
        model.body_count = 3
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del model.body_mass


def test_missing_and_unknown_arrays_are_named():
    arrays = two_bodies.arrays(1)
    arrays["body_colour"] = arrays.pop("body_mass")
    with pytest.raises(ModelError, match="missing: body_mass; unknown: body_colour"):
        Model(arrays, two_bodies.labels(1), [two_bodies.topology(1)], device="cpu")


def test_arrays_of_disagreeing_sizes_are_named():
    arrays = two_bodies.arrays(2)
    arrays["body_com"] = arrays["body_com"][:3]
    with pytest.raises(ModelError, match=r"model.body_com has shape \(3, 3\), the other rows say \(4, 3\)"):
        Model(arrays, two_bodies.labels(2), [two_bodies.topology(2)], device="cpu")


def test_batch_groups_must_hold_each_world_once():
    with pytest.raises(ModelError, match="each of the 2 worlds once"):
        Model(two_bodies.arrays(2), two_bodies.labels(2), [two_bodies.topology(1)], device="cpu")


def test_labels_must_be_as_many_as_things():
    with pytest.raises(ModelError, match="2 labels of kind body for 4"):
        Model(two_bodies.arrays(2), two_bodies.labels(1), [two_bodies.topology(2)], device="cpu")


def test_unknown_precision_is_refused():
    with pytest.raises(ModelError, match="precision must be"):
        two_bodies.model(1, precision="float16")


def test_solver_rows_must_be_in_the_table(model):
    with pytest.raises(ModelError, match="no rows of solver 'Verlet'; it has: Featherstone"):
        model.add_solver_rows("Verlet")


def test_structs_hold_counts_and_pointers(model):
    struct = model.struct()
    assert struct["worlds"] == 3 and struct["dofs"] == 21
    for row in schema.rows("model"):
        assert struct[row.name] == getattr(model, row.name).ctypes.data
    topology = model.groups[0].struct()
    assert topology["links"] == 3 and topology["pair_slots"] == 5 and topology["link_coords"] == 8
    assert topology["dof_mask"] == model.groups[0].dof_mask.ctypes.data
    assert model.struct() is struct
