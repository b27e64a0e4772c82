"""Checks the arguments of a kernel by name, and turns them into values that can be passed."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass

import numpy as np

from simengine.errors import LaunchError, callsite
from simengine.runtime.devices import CPU, Device, device_of
from simengine.runtime.source import SCALARS, Parameter

CHECKED = np.dtype([("data", np.uint64), ("size", np.int64), ("name", np.uint64)])
"""Array<T> of kernels_cuda/platform.h in debug builds."""


class real:
    """A scalar for a kernel that takes the precision of the arrays: ``sim.real(4.0)``."""

    def __init__(self, value: float):
        self.value = float(value)

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"sim.real({self.value})"


@dataclass
class Value:
    """One argument ready to be passed. ``bits``: its value; ``keep``: what it points to, kept alive."""

    parameter: Parameter
    bits: bytes
    keep: object
    written: tuple[tuple[str, object, object], ...] = ()  # name, array, container: written, with finite numbers


class Checker:
    """Checks the arguments of one launch of one kernel. ``sizes``: names that shape notes may use."""

    def __init__(self, kernel: str, device: Device, precision: str, sizes: dict[str, int], debug: bool):
        self.kernel, self.device, self.precision, self.sizes, self.debug = kernel, device, precision, sizes, debug

    def error(self, parameter: str | None, message: str) -> LaunchError:
        """A LaunchError that names kernel, parameter and the user's call."""
        return LaunchError(message, kernel=self.kernel, parameter=parameter, site=callsite())

    def value(self, parameter: Parameter, argument, size: int) -> Value:
        """The checked argument; ``size``: bytes that the compiled kernel expects of it."""
        if parameter.kind == "array":
            return self.array(parameter, argument)
        if parameter.kind == "scalar":
            return Value(parameter, self.scalar(parameter, argument).tobytes(), None)
        return self.struct(parameter, argument, size)

    def scalar(self, parameter: Parameter, argument) -> np.generic:
        """A number as the parameter's type; refused where it does not fit."""
        dtype = parameter.dtype(self.precision)
        if isinstance(argument, real):
            if dtype.kind != "f":
                raise self.error(parameter.name, f"is {parameter.type}, got {argument!r}")
            return dtype.type(argument.value)
        if isinstance(argument, np.ndarray) and argument.ndim == 0 and argument.dtype.fields is None:
            argument = argument[()]
        if not isinstance(argument, int | float | np.bool_ | np.integer | np.floating):
            raise self.error(parameter.name, f"is a number ({parameter.type}), got {describe(argument)}")
        if dtype.kind == "f":
            return dtype.type(argument)
        if isinstance(argument, float | np.floating):
            raise self.error(parameter.name, f"is {parameter.type}, got the float {argument!r}; write int(...)")
        if dtype.kind == "b":
            return np.bool_(argument)
        limits = np.iinfo(dtype)
        if not limits.min <= int(argument) <= limits.max:
            raise self.error(parameter.name, f"is {parameter.type} ({limits.min} to {limits.max}), got {argument}")
        return dtype.type(int(argument))

    def array(self, parameter: Parameter, argument) -> Value:
        """A pointer to an array of the right dtype, device, shape and layout."""
        name, dtype = parameter.name, parameter.dtype(self.precision)
        if argument is None:
            if not parameter.optional:
                raise self.error(name, f"is an array of {dtype} on {self.device}, got None (it is not marked optional)")
            return self.pointer(parameter, 0, 0, None)
        if not is_array(argument):
            raise self.error(name, f"is an array of {dtype} on {self.device}, got {describe(argument)}")
        if device_of(argument) != self.device:
            raise self.error(
                name, f"must live on {self.device} as the other arguments, got an array on {device_of(argument)}"
            )
        if argument.dtype != dtype:
            advice = f"convert it with .astype('{dtype}')"
            raise self.error(name, f"is an array of {dtype} ({parameter.type}), got {argument.dtype}; {advice}")
        if not argument.flags.c_contiguous:
            raise self.error(
                name, f"must be contiguous, got strides {argument.strides} at shape {argument.shape}; copy it first"
            )
        self.check_shape(parameter, argument)
        if isinstance(argument, np.ndarray):
            if not argument.flags.aligned:
                raise self.error(name, "is not aligned in memory: copy it first")
            if not parameter.read_only and not argument.flags.writeable:
                raise self.error(name, "is written by the kernel, but the array is read-only")
        return self.pointer(parameter, address_of(argument), argument.size, argument)

    def check_shape(self, parameter: Parameter, argument) -> None:
        """Compare the shape with the parameter's note, where it has one."""
        if parameter.shape is None:
            return
        wanted = tuple(self.dimension(parameter, text) for text in parameter.shape)
        if tuple(argument.shape) != wanted:
            note = f" ({', '.join(parameter.shape)})" if any(not text.isdecimal() for text in parameter.shape) else ""
            raise self.error(parameter.name, f"must have shape {wanted}{note}, got {tuple(argument.shape)}")

    def dimension(self, parameter: Parameter, text: str) -> int:
        """A dimension of a shape note: integers and names of integer parameters, joined by + and *."""
        total = 0
        for term in text.split("+"):
            product = 1
            for factor in (part.strip() for part in term.split("*")):
                if not factor.isdecimal() and factor not in self.sizes:
                    known = ", ".join(self.sizes) or "none"
                    raise self.error(
                        parameter.name, f"its shape note speaks of {factor!r}, no integer parameter (known: {known})"
                    )
                product *= int(factor) if factor.isdecimal() else self.sizes[factor]
            total += product
        return total

    def pointer(self, parameter: Parameter, address: int, size: int, array) -> Value:
        """An array as a pointer, or in debug as a checked pointer."""
        is_watched = not (parameter.read_only or parameter.nonfinite or array is None)
        written = ((parameter.name, array, None),) if is_watched else ()
        if not self.debug:
            return Value(parameter, address.to_bytes(8, "little"), array, written)
        checked, label = checked_pointer(address, size, parameter.name)
        return Value(parameter, checked.tobytes(), (array, label), written)

    def struct(self, parameter: Parameter, argument, size: int) -> Value:
        """A struct by value: a container of arrays, a structured NumPy scalar or a ctypes structure."""
        if argument is None:
            if not parameter.optional:
                raise self.error(parameter.name, f"is a {parameter.type}, got None (it is not marked optional)")
            return Value(parameter, bytes(size), None)
        if hasattr(argument, "struct") and hasattr(argument, "arrays"):
            value = self.container(parameter, argument)
        elif isinstance(argument, ctypes.Structure):
            value = Value(parameter, bytes(argument), argument)
        elif isinstance(argument, np.void | np.ndarray) and argument.ndim == 0 and argument.dtype.kind == "V":
            value = Value(parameter, argument.tobytes(), argument)
        else:
            raise self.error(parameter.name, f"is a {parameter.type} by value, got {describe(argument)}")
        if len(value.bits) != size:
            raise self.error(parameter.name, f"{parameter.type} has {size} bytes in the kernel, got {len(value.bits)}")
        return value

    def container(self, parameter: Parameter, container) -> Value:
        """Model, State and their like: pointers of all their arrays."""
        owner = container.owner.capitalize()
        if parameter.type not in (f"{owner}View", f"{owner}Arrays"):
            raise self.error(parameter.name, f"is a {parameter.type}, got a {type(container).__name__}")
        if container.device != self.device:
            raise self.error(
                parameter.name, f"must live on {self.device} as the other arguments, got {container.device}"
            )
        if container.precision != self.precision:
            raise self.error(
                parameter.name, f"must be {self.precision} as the other arguments, got {container.precision}"
            )
        arrays = container.arrays()
        written = (
            ()
            if parameter.read_only
            else tuple((f"{parameter.name}.{name}", a, container) for name, a in arrays.items())
        )
        if not self.debug:
            struct = container.struct()
            return Value(parameter, struct.tobytes(), container, written)
        struct = np.zeros((), container_dtype(parameter.type, True))
        for name, count in container.counts().items():
            struct[name] = count
        labels = []
        for name, array in arrays.items():
            struct[name], label = checked_pointer(address_of(array), array.size, f"{parameter.name}.{name}")
            labels.append(label)
        for name in struct.dtype.names:
            if name not in arrays and struct.dtype[name] == CHECKED:  # memory that this container does not carry
                struct[name], label = checked_pointer(0, 0, f"{parameter.name}.{name}")
                labels.append(label)
        return Value(parameter, struct.tobytes(), (container, labels), written)


def container_dtype(type_: str, debug: bool) -> np.dtype:
    """Layout of a generated struct such as ``ModelView``."""
    from simengine import structs

    return structs.struct_dtype(type_.removesuffix("View").removesuffix("Arrays").lower(), debug=debug)


def checked_pointer(address: int, size: int, name: str):
    """A value of type CHECKED, and the C string with the name that it points to."""
    label = ctypes.create_string_buffer(name.encode())
    return np.array((address, size, ctypes.addressof(label)), CHECKED)[()], label


def is_array(argument) -> bool:
    """Whether it is an array of NumPy or CuPy."""
    return isinstance(argument, np.ndarray) or (
        hasattr(argument, "__cuda_array_interface__") and hasattr(argument, "flags") and hasattr(argument, "device")
    )


def address_of(array) -> int:
    """Where the elements of an array are."""
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


def describe(argument) -> str:
    """What an argument is, for a message."""
    if is_array(argument):
        return f"an array of {argument.dtype} with shape {tuple(argument.shape)}"
    return f"{type(argument).__name__} ({argument!r})"[:80]


def infer(kernel: str, parameters, arguments, device: Device | None, precision: str | None) -> tuple[Device, str]:
    """The device and the precision of a launch, from its arguments where they are not given."""
    for parameter, argument in zip(parameters, arguments, strict=True):
        if hasattr(argument, "struct") and hasattr(argument, "arrays"):
            device = device or argument.device
            precision = precision or argument.precision
        elif is_array(argument):
            device = device or device_of(argument)
            if (
                parameter.kind == "array"
                and parameter.element == "real"
                and argument.dtype.name in ("float32", "float64")
            ):
                precision = precision or argument.dtype.name
    precision = precision or "float32"
    if precision not in ("float32", "float64"):
        raise LaunchError(
            f'precision must be "float32" or "float64", got {precision!r}', kernel=kernel, site=callsite()
        )
    return device or CPU, precision


def match(kernel: str, parameters, arguments, count: int | None) -> list:
    """Arguments in the order of the parameters, from a sequence or a dict by name.

    The first parameter, where it is an integer named ``n``, may be left out: it is the number of items. Parameters of
    type Scratch are never given. Raises LaunchError that names what is missing, unknown or too many.
    """
    given = [p for p in parameters if p.kind != "scratch"]
    counted = (
        bool(given)
        and given[0].name == "n"
        and given[0].kind == "scalar"
        and SCALARS[given[0].element] in (np.int32, np.int64)
    )
    if isinstance(arguments, dict):
        values = dict(arguments)
        if counted and count is not None:
            values.setdefault("n", count)
        missing = [p.name for p in given if p.name not in values]
        unknown = [name for name in values if name not in {p.name for p in given}]
        if missing or unknown:
            parts = [
                f"{word} {', '.join(names)}" for word, names in (("missing", missing), ("unknown", unknown)) if names
            ]
            raise LaunchError(
                f"arguments: {'; '.join(parts)} (it takes {_list(given)})", kernel=kernel, site=callsite()
            )
        return [values[p.name] for p in given]
    values = list(arguments)
    if counted and count is not None and len(values) == len(given) - 1:
        values.insert(0, count)
    if len(values) != len(given):
        without = ", of which n may be left out" if counted and count is not None else ""
        raise LaunchError(
            f"takes {len(given)} arguments ({_list(given)}{without}), got {len(values)}", kernel=kernel, site=callsite()
        )
    return values


def _list(parameters) -> str:
    return ", ".join(p.name for p in parameters)


def finite_problem(written) -> str | None:
    """The first NaN or infinity in written arrays: array, element and, where it can be told, world; or None."""
    for name, array, container in written:
        if array.dtype.kind != "f" or array.size == 0:
            continue
        module = np if isinstance(array, np.ndarray) else __import__("cupy")
        bad = ~module.isfinite(array)
        if not bool(bad.any()):
            continue
        flat = int(bad.ravel().argmax())
        index = tuple(int(i) for i in np.unravel_index(flat, array.shape))
        value = float(array.ravel()[flat])
        kind = "NaN" if math.isnan(value) else "infinite"
        world = ""
        if container is not None and hasattr(container, "world_of"):
            world = f", world {container.world_of(name.rpartition('.')[2], index[0])}"
        return f"{name}[{', '.join(map(str, index))}] is {kind}{world}"
    return None
