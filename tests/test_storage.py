"""Saved states: every bit comes back, other models are refused by name, damaged files never get far."""

import io
import json
import struct
import zipfile

import numpy as np
import pytest

from simengine.errors import AssetError, ModelError
from simengine.model import Model
from simengine.state import State
from tests import two_bodies


@pytest.fixture
def model():
    model = two_bodies.model(3, precision="float32")
    model.add_solver_rows("Featherstone")
    return model


@pytest.fixture
def saved(model, tmp_path):
    """A state of random bits and the file that it was saved to."""
    state, random = model.state(), np.random.default_rng(1)
    for array in state.arrays().values():
        array.reshape(-1).view(np.uint8)[:] = random.integers(0, 256, array.nbytes)
    path = tmp_path / "state.npz"
    state.save(path)
    return state, path


def members(path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def rewrite(path, contents: dict[str, bytes], compression=zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


def npy(array) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=True)
    return stream.getvalue()


def edit_header(path, **fields) -> None:
    contents = members(path)
    header = json.loads(np.load(io.BytesIO(contents["header.npy"])).tobytes()) | fields
    contents["header.npy"] = npy(np.frombuffer(json.dumps(header).encode(), np.uint8))
    rewrite(path, contents)


def test_every_bit_comes_back(model, saved):
    state, path = saved
    loaded = State.load(model, path)
    assert loaded.arrays().keys() == state.arrays().keys()
    for name, array in state.arrays().items():
        assert getattr(loaded, name).tobytes() == array.tobytes(), name


def test_the_file_is_a_plain_npz(saved):
    state, path = saved
    with np.load(path, allow_pickle=False) as archive:
        assert archive["joint_qd"].tobytes() == state.joint_qd.tobytes()


def test_saving_replaces_whole_files_and_leaves_nothing_else(model, saved, monkeypatch):
    path = saved[1]
    before = path.read_bytes()

    def fail(*arguments, **options):
        raise OSError("disk full")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(AssetError, match=f"{path}: cannot be written: disk full"):
        model.state().save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_named(model, tmp_path):
    for path, reason in ((tmp_path / "no" / "x.npz", f"there is no folder {tmp_path / 'no'}"), (tmp_path, "Is a dir")):
        with pytest.raises(AssetError, match=f"{path}: cannot be written: {reason}") as caught:
            model.state().save(path)
        assert caught.value.file == path
        with pytest.raises(AssetError, match=f"{path}: cannot be written: {reason}"):
            model.save(path)
    assert list(tmp_path.iterdir()) == []


def test_a_state_of_another_size_is_refused_by_name(saved):
    other = two_bodies.model(2, precision="float32")
    with pytest.raises(ModelError, match="another model: worlds 3 in the file, 2 here; bodies 6 in the file, 4 here"):
        State.load(other, saved[1])


def test_a_state_of_another_structure_is_refused_by_name(saved):
    arrays = two_bodies.arrays(3)
    arrays["joint_type"][1::2] = 1
    other = Model(arrays, two_bodies.labels(3), [two_bodies.topology(3)], device="cpu", precision="float32")
    with pytest.raises(ModelError, match=r"another model; these differ: joint_type$"):
        State.load(other, saved[1])


def test_a_state_of_another_topology_is_refused_by_name(saved):
    tables = two_bodies.topology(3)
    tables["pair_routine"][0] = 2
    other = Model(two_bodies.arrays(3), two_bodies.labels(3), [tables], device="cpu", precision="float32")
    with pytest.raises(ModelError, match=r"these differ: group 0 pair_routine$"):
        State.load(other, saved[1])


def test_another_precision_is_refused(saved):
    with pytest.raises(ModelError, match="is a state in float32, the model is in float64"):
        State.load(two_bodies.model(3, precision="float64"), saved[1])


def test_memory_of_solvers_must_agree(model, saved, tmp_path):
    bare = two_bodies.model(3, precision="float32")
    with pytest.raises(ModelError, match="carries the memory of Featherstone: make that solver before"):
        State.load(bare, saved[1])
    bare.state().save(tmp_path / "bare.npz")
    with pytest.raises(ModelError, match="lacks the memory of Featherstone, a solver of this model"):
        State.load(model, tmp_path / "bare.npz")


def test_values_of_parameters_do_not_matter(model, saved):
    model.body_mass = 5.0
    State.load(model, saved[1])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_refused(model, saved, share):
    data = saved[1].read_bytes()
    saved[1].write_bytes(data[: int(len(data) * share)])
    with pytest.raises(AssetError, match=r"state\.npz: is no simengine state, or was cut short"):
        State.load(model, saved[1])


def test_a_flipped_bit_is_found(model, saved):
    data = bytearray(saved[1].read_bytes())
    place = data.find(saved[0].body_q.tobytes())
    data[place + 40] ^= 1
    saved[1].write_bytes(bytes(data))
    with pytest.raises(AssetError, match="array body_q is damaged: Bad CRC-32"):
        State.load(model, saved[1])


def test_random_damage_is_refused_or_harmless(model, saved):
    state, path = saved
    original, random = path.read_bytes(), np.random.default_rng(2)
    for _ in range(300):
        data = bytearray(original)
        for place in random.integers(0, len(data), 3):
            data[place] = random.integers(0, 256)
        path.write_bytes(bytes(data))
        try:
            loaded = State.load(model, path)
        except (AssetError, ModelError):
            continue
        for name, array in state.arrays().items():
            assert getattr(loaded, name).tobytes() == array.tobytes()


def test_missing_and_directory_paths_are_refused(model, tmp_path):
    with pytest.raises(AssetError, match=r"nothing\.npz: does not exist"):
        State.load(model, tmp_path / "nothing.npz")
    with pytest.raises(AssetError, match="is no file"):
        State.load(model, tmp_path)


def test_missing_unknown_and_doubled_arrays_are_named(model, saved):
    contents = members(saved[1])
    rewrite(saved[1], {name: data for name, data in contents.items() if name != "time.npy"})
    with pytest.raises(AssetError, match="lacks time"):
        State.load(model, saved[1])
    rewrite(saved[1], contents | {"extra.npy": npy(np.zeros(1))})
    with pytest.raises(AssetError, match="has unknown extra"):
        State.load(model, saved[1])
    rewrite(saved[1], contents)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(saved[1], "a") as archive:
        archive.writestr("time.npy", contents["time.npy"])
    with pytest.raises(AssetError, match="has two arrays of one name"):
        State.load(model, saved[1])


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(20, np.float32),
        np.zeros(21, np.float64),
        np.zeros((21, 1), np.float32),
        np.zeros(21, ">f4"),
        np.array([1, "a", None], object),
    ],
    ids=["short", "wide", "deep", "big-endian", "objects"],
)
def test_an_array_of_another_shape_or_dtype_is_refused(model, saved, array):
    rewrite(saved[1], members(saved[1]) | {"joint_qd.npy": npy(array)})
    with pytest.raises(AssetError, match=r"array joint_qd is .* where float32 \(21,\) is expected"):
        State.load(model, saved[1])


def test_more_data_than_the_shape_holds_is_refused(model, saved):
    contents = members(saved[1])
    rewrite(saved[1], contents | {"time.npy": contents["time.npy"] + b"\0" * 8})
    with pytest.raises(AssetError, match="array time holds 32 bytes where 24 are expected"):
        State.load(model, saved[1])
    rewrite(saved[1], contents | {"time.npy": contents["time.npy"] + b"\0" * 100000})
    with pytest.raises(AssetError, match="array time holds 100024 bytes where 24 are expected"):
        State.load(model, saved[1])


def test_a_zip_bomb_is_refused_before_it_is_opened(model, saved):
    rewrite(saved[1], members(saved[1]) | {"time.npy": b"\0" * 10**7}, zipfile.ZIP_DEFLATED)
    with pytest.raises(AssetError, match="is compressed or encrypted"):
        State.load(model, saved[1])


def test_a_claimed_size_beyond_the_file_is_refused(model, saved):
    data = bytearray(saved[1].read_bytes())
    place = data.rfind(b"PK\x01\x02", 0, data.rfind(b"status.npy"))
    struct.pack_into("<II", data, place + 20, 0xFFFFFFF0, 0xFFFFFFF0)
    saved[1].write_bytes(bytes(data))
    with pytest.raises(AssetError, match="array status claims 4294967280 bytes, more than the file has"):
        State.load(model, saved[1])


def test_other_formats_and_versions_are_named(model, saved):
    edit_header(saved[1], version=2)
    with pytest.raises(AssetError, match="has version 2; this simengine reads version 1"):
        State.load(model, saved[1])
    edit_header(saved[1], format="something")
    with pytest.raises(AssetError, match="is no simengine state: its header does not say"):
        State.load(model, saved[1])
    edit_header(saved[1], format="simengine state", version=1, counts=[1])
    with pytest.raises(AssetError, match="header lacks counts"):
        State.load(model, saved[1])


def test_an_npz_of_someone_else_is_refused(model, tmp_path):
    np.savez(tmp_path / "other.npz", joint_q=np.zeros(24))
    with pytest.raises(AssetError, match="has no array header: it is no simengine state"):
        State.load(model, tmp_path / "other.npz")


@pytest.mark.parametrize("text", [b"{", b"[" * 100000, b"\xff\xfe", b"[1]"])
def test_a_broken_header_is_refused(model, saved, text):
    rewrite(saved[1], members(saved[1]) | {"header.npy": npy(np.frombuffer(text, np.uint8))})
    with pytest.raises(AssetError, match="header"):
        State.load(model, saved[1])
