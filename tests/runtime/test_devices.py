"""Devices: names, the default, and what is said where a GPU is missing."""

import numpy as np
import pytest

import simengine as sim
from simengine.errors import DeviceError, ModelError
from simengine.runtime import devices


def test_the_cpu_is_always_there_and_is_one_object():
    assert sim.get_device("cpu") is sim.devices()[0]
    assert sim.get_device(sim.get_device("cpu")) is sim.get_device("cpu")
    assert sim.get_device("cpu").name == "cpu"
    assert not sim.get_device("cpu").is_cuda


def test_the_default_is_the_first_gpu_where_there_is_one_else_the_cpu():
    assert sim.get_device().name == ("cuda:0" if devices.gpu_count() else "cpu")


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cuda:-1", "", "cpu:0", 3])
def test_a_name_that_no_device_has_is_refused(name):
    with pytest.raises(DeviceError, match="device"):
        sim.get_device(name)


@pytest.mark.skipif(devices.gpu_count() > 0, reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_says_what_is_missing():
    with pytest.raises(DeviceError, match=r"device 'cuda:0' cannot be used: .*(pip install|driver|visible)"):
        sim.get_device("cuda:0")


@pytest.mark.gpu
def test_a_gpu_beyond_the_last_says_how_many_there_are():
    with pytest.raises(DeviceError, match="this machine has"):
        sim.get_device("cuda:99")


def test_arrays_are_made_on_the_device(device):
    for array in (device.zeros((2, 3), np.float64), device.asarray([[1, 2, 3]] * 2, np.float64)):
        assert array.shape == (2, 3)
        assert array.dtype == np.float64
        assert devices.device_of(array) == device
    assert not sim.to_numpy(device.zeros(3, np.int32)).any()
    device.synchronize()
    sim.synchronize()


def test_what_is_no_array_has_no_device():
    with pytest.raises(ModelError, match="expected an array of NumPy or CuPy, got list"):
        devices.device_of([1, 2])
