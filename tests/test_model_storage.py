"""Saved models: every bit comes back; files that would lead a kernel astray are refused."""

import io
import json
import zipfile

import numpy as np
import pytest

from simengine import schema
from simengine.builder.builder import ModelBuilder
from simengine.errors import AssetError
from simengine.model import Model
from simengine.state import State
from tests import two_bodies


@pytest.fixture
def saved(precision, tmp_path):
    model = two_bodies.model(3, precision=precision)
    model.save(tmp_path / "model.npz")
    return model, tmp_path / "model.npz"


def edit(path, name, change) -> None:
    """Rewrite one member; ``change`` gets its array and returns another."""
    with zipfile.ZipFile(path) as archive:
        contents = {info.filename: archive.read(info) for info in archive.infolist()}
    stream = io.BytesIO()
    np.save(stream, change(np.load(io.BytesIO(contents[f"{name}.npy"])).copy()))
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in (contents | {f"{name}.npy": stream.getvalue()}).items():
            archive.writestr(member, data)


def edit_header(path, change) -> None:
    def rewrite(text):
        header = json.loads(text.tobytes())
        change(header)
        return np.frombuffer(json.dumps(header).encode(), np.uint8)

    edit(path, "header", rewrite)


def test_every_bit_comes_back(saved):
    model, path = saved
    loaded = Model.load(path, "cpu")
    assert loaded.precision == model.precision and loaded.labels() == model.labels()
    for name, array in model.arrays().items():
        assert getattr(loaded, name).tobytes() == array.tobytes(), name
    assert loaded.structure_hashes() == model.structure_hashes()


def test_a_built_model_comes_back_whole(tmp_path, precision):
    template, builder = ModelBuilder(up_axis="Y"), ModelBuilder(up_axis="Y")
    body = template.add_body(label="ball")
    template.add_shape_sphere(body, radius=0.1)
    template.add_shape_plane(body)
    template.add_shape_sphere(template.add_body(label="other"), radius=0.1)
    builder.replicate(template, 4, spacing=2.0)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision=precision)
    model.save(tmp_path / "model.npz")
    loaded = Model.load(tmp_path / "model.npz", "cpu")
    assert (loaded.up_axis, loaded.unsupported_pairs) == ("Y", model.unsupported_pairs) and model.unsupported_pairs
    np.testing.assert_array_equal(loaded.world_offset, model.world_offset)
    np.testing.assert_array_equal(loaded.find_bodies("ball"), model.find_bodies("ball"))
    assert loaded.structure_hashes() == model.structure_hashes()
    np.testing.assert_array_equal(loaded.contacts().world_start, model.contacts().world_start)


def test_a_state_of_the_saved_model_fits_the_loaded_one(saved, tmp_path):
    model, path = saved
    state = model.state()
    state.joint_qd[:] = np.arange(21)
    state.save(tmp_path / "state.npz")
    loaded = State.load(Model.load(path, "cpu"), tmp_path / "state.npz")
    np.testing.assert_array_equal(loaded.joint_qd, state.joint_qd)


def test_a_state_is_no_model_and_a_model_no_state(saved, tmp_path):
    model, path = saved
    with pytest.raises(AssetError, match='is no simengine state: its header does not say "simengine state"'):
        State.load(model, path)
    model.state().save(tmp_path / "state.npz")
    with pytest.raises(AssetError, match="is no simengine model"):
        Model.load(tmp_path / "state.npz", "cpu")


@pytest.mark.parametrize(
    "name",
    [
        *(f"model.{row.name}" for row in schema.rows("model") if row.name.endswith("_start")),
        "model.joint_parent",
        "model.joint_child",
        "model.shape_body",
        "group0.link_parent",
        "group0.dof_coord",
        "group0.pair_shape0",
        "group0.group_world",
    ],
)
def test_indices_that_lead_outside_are_refused(saved, name):
    def change(array):
        array[-1] = 2**30
        return array

    edit(saved[1], name, change)
    with pytest.raises(AssetError, match=r"model\.npz: "):
        Model.load(saved[1], "cpu")


def test_not_a_number_is_refused_by_name(saved):
    def change(array):
        array[1] = np.nan
        return array

    edit(saved[1], "model.body_mass", change)
    with pytest.raises(AssetError, match=r"array model\.body_mass holds NaN at 1"):
        Model.load(saved[1], "cpu")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header["counts"].update(bodies=-1), "header counts -1 bodies"),
        (lambda header: header["counts"].update(bodies=2**40), "header counts 1099511627776 bodies"),
        (lambda header: header["counts"].update(bodies=True), "header counts True bodies"),
        (lambda header: header["counts"].update(bodies=2**30), r"array model\.body_mass is .* where .* is expected"),
        (lambda header: header["counts"].pop("dofs"), "header must count worlds, bodies"),
        (lambda header: header["groups"].append({}), "header must count links"),
        (lambda header: header["groups"].clear(), "has unknown group0"),
        (lambda header: header["labels"].update(body=[1, 2]), "labels of kind body are no list of strings"),
        (lambda header: header["labels"].update(body=["one"]), "1 labels of kind body for 6"),
        (lambda header: header["labels"].update(cat=["one"]), "labels of cat"),
        (lambda header: header.update(unsupported_pairs=[["cone", 3]]), "unsupported_pairs are no list"),
        (lambda header: header.update(up_axis="W"), "up_axis must be"),
        (lambda header: header.update(precision="float16"), "precision is 'float16'"),
        (lambda header: header.update(version=99), "has version 99"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(saved, change, message):
    edit_header(saved[1], change)
    with pytest.raises(AssetError, match=message):
        Model.load(saved[1], "cpu")


def test_random_damage_is_refused_or_harmless(saved):
    model, path = saved
    original, random = path.read_bytes(), np.random.default_rng(2)
    for _ in range(100):
        data = bytearray(original)
        for place in random.integers(0, len(data), 3):
            data[place] = random.integers(0, 256)
        path.write_bytes(bytes(data))
        try:
            loaded = Model.load(path, "cpu")
        except AssetError:
            continue
        for name, array in model.arrays().items():
            assert getattr(loaded, name).tobytes() == array.tobytes()
