"""Checks of what functions over a model are given: containers and arrays that fit it."""

from __future__ import annotations

import math

import numpy as np

from simengine.errors import ModelError, with_article
from simengine.values import plain_float, written


def require_model(what: str, model) -> None:
    """Raise ModelError unless ``model`` is a Model. ``what``: who was given it."""
    if getattr(model, "owner", None) != "model":
        raise ModelError(f"{what} wants a Model (builder.finalize()), got {type(model).__name__}")


def require_container(what: str, parameter: str, value, owner: str, model) -> None:
    """Raise ModelError unless ``value`` is a container of kind ``owner`` ("state", ...) of this model, on its device.

    ``what``: the function that was called; ``parameter``: its name of the value.
    """
    if getattr(value, "owner", None) == owner and value.model is model and value.device is model.device:
        return
    require_model(what, model)
    if getattr(value, "owner", None) != owner:
        maker = f"give a {owner.capitalize()} made by model.{owner}()"
        raise ModelError(f"{what}: got {with_article(type(value).__name__)} as the {parameter}; {maker}")
    belong, be, it = ("belong", "are", "them") if owner == "contacts" else ("belongs", "is", "it")
    if value.model is not model:
        raise ModelError(f"{what}: the {parameter} {belong} to another model; make {it} with model.{owner}()")
    if value.device != model.device:
        here = f"the {parameter} {be} on {value.device}, the model on {model.device}"
        raise ModelError(f'{what}: {here}; copy {it} with .to("{model.device}")')


def checked_seconds(what: str, value) -> float:
    """``value`` as a float; ModelError unless it is a finite, positive number. ``what``: function and parameter."""
    try:
        seconds = plain_float(value)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {written(value)}; give a number of seconds") from None
    if isinstance(value, bool) or not (math.isfinite(seconds) and seconds > 0):
        raise ModelError(f"{what} is {value!r}; give a finite, positive number of seconds")
    return seconds


def checked_array(what: str, array, shape: tuple[int, ...], dtype, device):
    """``array`` as one of NumPy or CuPy, without a copy; ModelError unless it is on the device and of shape and dtype.

    On a GPU arrays of other libraries (``__cuda_array_interface__``) are welcome. ``what``: function and parameter.
    """
    dtype = np.dtype(dtype)
    on_gpu = hasattr(array, "__cuda_array_interface__")
    if not (on_gpu or isinstance(array, np.ndarray)):
        raise ModelError(f"{what} must be an array of {dtype} on {device}, got {with_article(type(array).__name__)}")
    if on_gpu and device.is_cuda:
        array = device.array_module.asarray(array)
    if on_gpu != device.is_cuda or (on_gpu and array.device.id != device.index):
        place = f"cuda:{array.device.id}" if on_gpu and device.is_cuda else "a GPU" if on_gpu else "cpu"
        raise ModelError(f"{what} is on {place}, the model on {device}")
    if tuple(array.shape) != shape or array.dtype != dtype:
        found = f"{tuple(array.shape)} and {array.dtype}"
        raise ModelError(f"{what} must have shape {shape} and dtype {dtype}, got {found}")
    return array


def checked_mask(what: str, model, mask):
    """``mask`` (worlds,) bool on the model's device, or None."""
    if mask is None:
        return None
    return checked_array(f"{what}, world_mask", mask, (model.world_count,), bool, model.device)
