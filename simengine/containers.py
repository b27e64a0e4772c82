"""What Model, State, Control and Contacts have in common: named arrays of one device that are never rebound."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np

from simengine import schema, structs
from simengine.errors import ModelError, did_you_mean
from simengine.runtime import modes
from simengine.runtime.devices import Device
from simengine.runtime.profiling import read_back


def to_numpy(array) -> np.ndarray:
    """A NumPy array with the values of ``array`` (NumPy, CuPy or a sequence); NumPy arrays are returned as they are."""
    on_gpu = hasattr(array, "get") and hasattr(array, "__cuda_array_interface__")
    return read_back(array) if on_gpu else np.asarray(array)


def dtype_of(row: schema.Array, precision: str) -> np.dtype:
    """NumPy dtype of a row at a precision, "float32" or "float64"."""
    return np.dtype(precision if row.dtype == "real" else row.dtype)


def shape_of(row: schema.Array, counts: Mapping[str, int]) -> tuple[int, ...]:
    """Shape of a row for given counts."""
    return tuple(
        size if isinstance(size, int) else counts[size.removesuffix("+1")] + size.endswith("+1") for size in row.shape
    )


def require_arrays(owner: str, arrays: Mapping, expected: Iterable[schema.Array]) -> None:
    """Raise ModelError unless ``arrays`` has exactly the expected rows."""
    names = {row.name for row in expected}
    missing, unknown = sorted(names - set(arrays)), sorted(set(arrays) - names)
    if missing or unknown:
        parts = [f"{word}: {', '.join(some)}" for word, some in (("missing", missing), ("unknown", unknown)) if some]
        raise ModelError(f"arrays of {owner} differ from the table in simengine/schema.py; " + "; ".join(parts))


def counts_of(owner: str, arrays: Mapping) -> dict[str, int]:
    """Counts from the lengths of an owner's arrays; ModelError where two rows disagree."""
    counts: dict[str, int] = {}
    for row in schema.rows(owner):
        shape, name = np.shape(arrays[row.name]), row.shape[0]
        counts.setdefault(name.removesuffix("+1"), shape[0] - name.endswith("+1") if shape else -1)
        wanted = shape_of(row, counts)
        if shape != wanted or counts[name.removesuffix("+1")] < 0:
            raise ModelError(f"{owner}.{row.name} has shape {shape}, the other rows say {wanted}")
    return counts


class Container:
    """Arrays of one owner of the table, as attributes.

    Assigning to an attribute copies into its array; shape, dtype and device must fit. Arrays are never rebound, so
    pointers to them may be kept for as long as the container lives.
    """

    owner = ""

    def __init__(self, device: Device, precision: str, counts: Mapping[str, int], solvers: Iterable[str] = ()):
        """Fields only; ``_fill`` makes the arrays. ``solvers``: whose memory the container carries."""
        self._set(
            device=device,
            precision=precision,
            solvers=frozenset(solvers),
            _counts={name: int(counts[name]) for name in schema.counts(self.owner)},
            _struct=None,
            _arrays={},
        )

    def _set(self, **fields) -> None:
        """Set plain fields, past the rule of ``__setattr__``."""
        self.__dict__.update(fields)

    def _fill(self, initial: Mapping[str, np.ndarray]) -> None:
        """Make all arrays: from ``initial`` (values of NumPy or of this device) where named there, else zero."""
        for row in self.rows():
            shape, dtype = shape_of(row, self._counts), dtype_of(row, self.precision)
            array = self.device.zeros(shape, dtype)
            if row.name in initial:
                self._copy_into(row.name, array, initial[row.name], casting="same_kind", from_host=True)
            self._arrays[row.name] = array
        self.__dict__.update(self._arrays)

    def rows(self) -> list[schema.Array]:
        """Rows of the table that this container has."""
        return [row for row in schema.rows(self.owner) if not row.solver or row.solver in self.solvers]

    def arrays(self) -> dict:
        """All arrays by name, in table order."""
        return dict(self._arrays)

    def counts(self) -> dict[str, int]:
        """Counts that the rows use."""
        return dict(self._counts)

    def struct(self) -> np.ndarray:
        """The struct ``<Owner>Arrays`` of this container: a 0-d structured array of counts and pointers.

        A row of a solver for which this container has no memory is a null pointer.
        """
        if self._struct is None:
            value = np.zeros((), structs.struct_dtype(self.owner))
            for name, count in self._counts.items():
                value[name] = count
            for name, array in self._arrays.items():
                value[name] = array.data.ptr if self.device.is_cuda else array.ctypes.data
            value.flags.writeable = False
            self._set(_struct=value)
        return self._struct

    @functools.cached_property
    def struct_address(self) -> int:
        """Where the struct lies in the host's memory; it stays there for as long as the container lives."""
        return self.struct().ctypes.data

    def _fixed_rows(self) -> frozenset[str]:
        """Names of arrays that may not be assigned to."""
        return frozenset()

    def _freeze_structure(self) -> None:
        """Let nothing be written to what may not be assigned to; a GPU's arrays know no such thing."""
        if not self.device.is_cuda:
            for name in self._fixed_rows():
                self._arrays[name].flags.writeable = False

    def __setattr__(self, name: str, value) -> None:
        array = self._arrays.get(name)
        if array is None:
            raise AttributeError(self._unknown(name, "cannot be assigned to" if hasattr(self, name) else "is unknown"))
        if value is array:  # the end of an in-place operation
            return
        if name in self._fixed_rows():
            raise ModelError(f"{self.owner}.{name} is part of the structure, fixed when the {self.owner} was made")
        self._copy_into(name, array, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self.owner}.{name} cannot be deleted: arrays stay for as long as the {self.owner}")

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        owners = [row.solver for row in schema.rows(self.owner) if row.name == name and row.solver]
        if owners:
            raise AttributeError(
                f"this {self.owner} carries no {name}: it was made before solvers.{owners[0]}; "
                f"make the {self.owner} after the solver"
            )
        raise AttributeError(self._unknown(name, "is unknown"))

    def _unknown(self, name: str, problem: str) -> str:
        known = [key for key in dir(self) if not key.startswith("_") and key != name]
        return f"{self.owner}.{name} {problem}{did_you_mean(name, known)}"

    def __dir__(self):
        return sorted({*super().__dir__(), *self._arrays})

    def __reduce__(self):
        raise TypeError(f"{type(self).__name__} is not pickled; use save(path) and load, or arrays() and assign")

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={count}" for name, count in self._counts.items() if count)
        return f"<{type(self).__name__} on {self.device.name}, {self.precision}: {counts}>"

    def _copy_into(self, name: str, array, value, casting: str = "safe", from_host: bool = False) -> None:
        """Copy ``value`` into ``array`` after checks of device, dtype and shape; a scalar fills it.

        ``from_host``: a NumPy array is welcome on a GPU too.
        """
        where = f"{self.owner}.{name}"
        modes.refuse_while_capturing(f"{where} was assigned to")
        if hasattr(value, "__cuda_array_interface__"):
            value = self._from_gpu(where, value)
        elif not isinstance(value, np.ndarray):
            value = _as_array(where, value, array.dtype)
        elif self.device.is_cuda and not from_host:
            raise ModelError(f"{where} lives on {self.device.name}, got a NumPy array; copy it there first")
        if not np.can_cast(value.dtype, array.dtype, casting):
            raise ModelError(
                f"{where} is {array.dtype}, got {value.dtype}, which does not fit without loss; "
                f"convert it with .astype('{array.dtype}')"
            )
        if value.shape not in (array.shape, ()):
            raise ModelError(f"{where} has shape {array.shape}, got {value.shape}")
        with self.device.context():
            array[...] = self.device.array_module.asarray(value)

    def _from_gpu(self, where: str, value):
        """A GPU array of any library as one of CuPy, on this container's device."""
        if not self.device.is_cuda:
            raise ModelError(f"{where} lives on {self.device.name}, got a GPU array; use sim.to_numpy(array)")
        value = self.device.array_module.asarray(value)
        if value.device.id != self.device.index:
            raise ModelError(f"{where} lives on {self.device.name}, got an array of cuda:{value.device.id}")
        return value


def _as_array(where: str, value, dtype: np.dtype) -> np.ndarray:
    """A Python number or sequence as an array of ``dtype``; refused where its kind does not fit (2.5 into integers)."""
    try:
        found = np.asarray(value)
        integers = found.dtype.kind in "iu" and dtype.kind in "iu"
        if found.size and not integers and not np.can_cast(found.dtype, dtype, "same_kind"):
            raise TypeError(f"got {found.dtype}")
        return np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{where} wants {dtype} values: {error}") from None
