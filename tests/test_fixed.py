"""Fixed: what a constructor was given stays, and setting it says so instead of doing nothing."""

import numpy as np
import pytest

import simengine as sim
from simengine.fixed import Fixed

CORNERS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
FACES = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
STAYS = "options are given to the constructor and stay"


class Dial(Fixed):
    """An example: ``reading`` may be set, ``limit`` and ``numbers`` not."""

    _free = ("reading", "doubled")

    def __init__(self, limit):
        self._set(limit=limit, reading=0, numbers=np.zeros(3))
        self._turns = 0

    def turn(self):
        self._turns += 1

    @property
    def doubled(self):
        return 2 * self.reading

    @doubled.setter
    def doubled(self, value):
        self.reading = value / 2


def ball():
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(label="ball"), 0.1)
    builder.add_ground_plane()
    return builder.finalize(device="cpu")


def simulation():
    model = ball()
    made = sim.Simulation(model, sim.solvers.Featherstone(model), 0.01, contacts=model.contacts())
    made.step(3)
    return made


def contact_sensor():
    model = ball()
    sensor, contacts = sim.sensors.ContactSensor(model, "ball", other=-1, threshold=1.0), model.contacts()
    sensor.read(contacts)
    return sensor


def ray_caster(kind=sim.sensors.RayCaster, given=([1, 0, 0],), **options):
    model = ball()
    caster = kind(model, *given, body="ball", max_distance=5.0, **options)
    caster.cast(model.state())
    return caster


def hash_grid():
    grid = sim.collision.HashGrid(0.5, period=(2, 2, 2))
    grid.build(CORNERS)
    return grid


def graph():
    with sim.capture("cpu") as captured:
        pass
    return captured


def recorder(folder):
    return sim.viewers.UsdRecorder(folder / "ball.usda", ball())


MADE = {
    "Simulation": lambda folder: simulation(),
    "Featherstone": lambda folder: sim.solvers.Featherstone(ball()),
    "ContactSensor": lambda folder: contact_sensor(),
    "RayCaster": lambda folder: ray_caster(),
    "Camera": lambda folder: ray_caster(sim.sensors.Camera, (4, 3, 1.0)),
    "UsdRecorder": recorder,
    "HashGrid": lambda folder: hash_grid(),
    "Bvh": lambda folder: sim.collision.Bvh(CORNERS, CORNERS + 1),
    "Mesh": lambda folder: sim.collision.Mesh(CORNERS, FACES),
    "SDF": lambda folder: sim.collision.SDF.sphere(1.0).to_grid(0.25, device="cpu"),
    "Primitive": lambda folder: sim.collision.SDF.sphere(1.0),
    "Kernel": lambda folder: sim.Kernel("hash_grid.cu", "grid_query"),
    "CpuGraph": lambda folder: graph(),
    "Mesh of a builder": lambda folder: sim.builder.Mesh(CORNERS, FACES),
}

NAMES = {
    "Simulation": "dt substeps solver contacts model frame_count time",
    "Featherstone": "model integrator max_iterations tolerance supports",
    "ContactSensor": "threshold bodies others readings",
    "RayCaster": "max_distance hits",
    "Camera": "max_distance hits width height",
    "UsdRecorder": "path worlds frames_per_second frame_count",
    "HashGrid": "cell_size period device",
    "Bvh": "device group_count",
    "Mesh": "faces center vertices is_closed",
    "SDF": "origin voxel blocks band",
    "Primitive": "size lower upper",
    "Kernel": "defines headers name",
    "CpuGraph": "device",
    "Mesh of a builder": "vertices triangles digest",
}


@pytest.mark.parametrize("kind", MADE)
def test_what_is_set_later_is_refused_with_the_way_out_and_stays(kind, tmp_path):
    """Of all public attributes but the free ones, and of properties: those listed are among them."""
    if kind == "UsdRecorder":
        pytest.importorskip("pxr")
    made = MADE[kind](tmp_path)
    fields = {name for name in vars(made) if not name.startswith("_")} - {*made._free}
    for name in {*fields, *NAMES[kind].split()}:
        before = getattr(made, name)
        with pytest.raises(AttributeError, match=rf"{type(made).__name__}\.{name} cannot be set; {STAYS}"):
            setattr(made, name, object())
        if name in fields:
            assert getattr(made, name) is before
    with pytest.raises(AttributeError, match=f"is unknown.*{STAYS}"):
        made.no_such_option = 1


def test_a_misspelt_name_is_told():
    with pytest.raises(AttributeError, match=r"HashGrid.cel_size is unknown; did you mean 'cell_size'\?; options are"):
        hash_grid().cel_size = 1.0


def test_a_grid_that_holds_no_points_yet_has_its_options_all_the_same():
    grid = sim.collision.HashGrid(0.5)
    with pytest.raises(AttributeError, match="HashGrid.cell_size cannot be set"):
        grid.cell_size = 5.0
    grid.build(CORNERS)
    assert sim.to_numpy(grid.count(CORNERS)).tolist() == [1, 1, 1, 1]


def test_free_and_private_names_and_properties_with_a_setter_are_set():
    dial = Dial(10)
    dial.reading = 4
    assert dial.doubled == 8
    dial.doubled = 3
    assert dial.reading == 1.5
    dial.turn()
    assert dial._turns == 1
    with pytest.raises(AttributeError, match="Dial.limit cannot be set"):
        dial.limit = 11
    with pytest.raises(AttributeError, match="Dial.turn cannot be set"):
        dial.turn = None
    assert dial.limit == 10


def test_arrays_are_written_in_place():
    dial = Dial(10)
    numbers = dial.numbers
    dial.numbers += 2
    dial.numbers[0] = 5
    assert dial.numbers is numbers and numbers.tolist() == [5, 2, 2]
    with pytest.raises(AttributeError, match="Dial.numbers cannot be set"):
        dial.numbers = np.ones(3)


def test_a_users_own_subclass_has_attributes_of_its_own():
    class Walker(sim.ModelBuilder):
        def __init__(self):
            super().__init__()
            self.legs = []

    walker = Walker()
    walker.legs = [1]
    assert walker.legs == [1]
    with pytest.raises(AttributeError, match="up_axis cannot be set"):
        walker.up_axis = "Y"
