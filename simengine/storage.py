"""Saved states and models. What a file may hold and how it is checked: ``npz.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simengine import schema
from simengine.containers import dtype_of, shape_of, to_numpy
from simengine.errors import ModelError, shortened
from simengine.npz import NpzReader, write_npz

if TYPE_CHECKING:
    from simengine.model import Model
    from simengine.state import State

STATE, MODEL = "simengine state", "simengine model"
VERSION = 1


def save_state(state: State, path) -> None:
    """Write ``state`` to ``path``."""
    header = {
        "format": STATE,
        "version": VERSION,
        "precision": state.precision,
        "solvers": sorted(state.solvers),
        "counts": state.counts(),
        "structure": state.model.structure_hashes(),
    }
    write_npz(path, header, {name: to_numpy(array) for name, array in state.arrays().items()})


def load_state(model: Model, path) -> State:
    """A new state of ``model`` from ``path``; AssetError for a damaged file, ModelError for one of another model."""
    with NpzReader(path, STATE, VERSION) as file:
        header = file.header({"precision": str, "solvers": list, "counts": dict, "structure": dict})
        _check_model(path, header, model)
        state = model.state()
        arrays = state.arrays()
        file.check_names(set(arrays))
        values = {name: file.array(name, array.shape, array.dtype) for name, array in arrays.items()}
    for name, value in values.items():
        setattr(state, name, state.device.asarray(value))
    return state


def _check_model(path, header: dict, model: Model) -> None:
    """Raise ModelError, naming what differs, unless the file was saved from a state of such a model."""
    if header["precision"] != model.precision:
        raise ModelError(f"{path} is a state in {header['precision']}, the model is in {model.precision}")
    differing = [
        f"{name} {header['counts'][name]} in the file, {count} here"
        for name, count in model.counts().items()
        if header["counts"].get(name, count) != count
    ]
    if differing:
        raise ModelError(f"{path} is a state of another model: {'; '.join(differing)}")
    differing = differing_names(model.structure_hashes(), header["structure"])
    if differing:
        raise ModelError(f"{path} is a state of another model; these differ: {shortened(differing, 8)}")
    saved, made = set(map(str, header["solvers"])), set(model.solvers)
    if saved - made:
        raise ModelError(f"{path} carries the memory of {', '.join(saved - made)}: make that solver before loading")
    if made - saved:
        raise ModelError(f"{path} lacks the memory of {', '.join(made - saved)}, a solver of this model")


def differing_names(here: dict, there: dict) -> list[str]:
    """Names of what differs, or is missing, between two ``structure_hashes`` of models."""
    return sorted(name for name in {*here, *there} if here.get(name) != there.get(name))


def save_model(model: Model, path) -> None:
    """Write all arrays, topologies and labels of ``model`` to ``path``."""
    header = {
        "format": MODEL,
        "version": VERSION,
        "precision": model.precision,
        "counts": model.counts(),
        "groups": [group.counts() for group in model.groups],
        "labels": {kind: list(names) for kind, names in model.labels().items()},
        "up_axis": model.up_axis,
        "broad_phase": model.broad_phase,
        "unsupported_pairs": [[*types, count] for types, count in model.unsupported_pairs.items()],
    }
    arrays = {f"model.{name}": to_numpy(array) for name, array in model.arrays().items()}
    for i, group in enumerate(model.groups):
        arrays |= {f"group{i}.{name}": table for name, table in group.tables.items()}
    write_npz(path, header, {**arrays, "world_offset": model.world_offset})


HEADER_OF_A_MODEL = {
    "precision": str,
    "counts": dict,
    "groups": list,
    "labels": dict,
    "up_axis": str,
    "broad_phase": str,
    "unsupported_pairs": list,
}


def load_model(path, device) -> Model:
    """A model from ``path`` on ``device``; AssetError for a damaged file or arrays that do not fit one another."""
    from simengine.model import Model

    with NpzReader(path, MODEL, VERSION) as file:
        header = file.header(HEADER_OF_A_MODEL)
        if header["precision"] not in ("float32", "float64"):
            raise file.error(f"precision is {header['precision']!r}")
        arrays = _model_arrays(file, header)
        topologies = [_part(arrays, f"group{i}.") for i in range(len(header["groups"]))]
        labels, pairs = _labels(file, header["labels"]), _pairs(file, header["unsupported_pairs"])
        settings = {name: header[name] for name in ("precision", "up_axis", "broad_phase")}
        settings["world_offset"] = arrays["world_offset"]
        try:
            return Model(_part(arrays, "model."), labels, topologies, device, unsupported_pairs=pairs, **settings)
        except ModelError as error:
            raise file.error(str(error)) from error


def _model_arrays(file: NpzReader, header: dict) -> dict[str, np.ndarray]:
    """All arrays of a saved model by their names in the file, none of them with a NaN."""
    counts = _counts(file, header["counts"], "model")
    expected = {f"model.{row.name}": (row, counts) for row in schema.rows("model")}
    for i, of_group in enumerate(header["groups"]):
        counts_of_group = _counts(file, of_group, "topology")
        expected |= {f"group{i}.{row.name}": (row, counts_of_group) for row in schema.rows("topology")}
    file.check_names({*expected, "world_offset"})
    arrays = {
        name: file.array(name, shape_of(row, sizes), dtype_of(row, header["precision"]))
        for name, (row, sizes) in expected.items()
    }
    arrays["world_offset"] = file.array("world_offset", (counts["worlds"], 3), np.dtype(float))
    for name, array in arrays.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise file.error(f"array {name} holds NaN at {int(np.isnan(array).argmax())}")
    return arrays


def _part(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _counts(file: NpzReader, counts, owner: str) -> dict[str, int]:
    """The counts of an owner, which are whole numbers of a sensible size."""
    names = schema.counts(owner)
    if not isinstance(counts, dict) or set(counts) != set(names):
        raise file.error(f"header must count {', '.join(names)}")
    for name, count in counts.items():
        if type(count) is not int or not 0 <= count < 2**31:
            raise file.error(f"header counts {count!r} {name}")
    return counts


def _labels(file: NpzReader, labels: dict) -> dict[str, list[str]]:
    for kind, names in labels.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise file.error(f"labels of kind {kind} are no list of strings")
    return labels


def _pairs(file: NpzReader, pairs: list) -> dict[tuple[str, str], int]:
    for pair in pairs:
        if not isinstance(pair, list) or [type(part) for part in pair] != [str, str, int]:
            raise file.error("unsupported_pairs are no list of two types and a count")
    return {(one, other): count for one, other, count in pairs}
