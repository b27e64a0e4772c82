"""Forces that bodies feel at their contacts, summed by body and by pair of bodies."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simengine.checks import require_container, require_model
from simengine.containers import to_numpy
from simengine.errors import ModelError
from simengine.fixed import Fixed
from simengine.runtime.kernel import Kernel
from simengine.values import is_whole, number


@dataclass
class ContactReadings:
    """What a ContactSensor has summed, as arrays on the model's device that the next ``read`` writes anew.

    force: (worlds, sensors, 3) in N, world axes, on each body.
    torque: (worlds, sensors, 3) in N m, world axes, of these forces about the body's centre of mass (of the world's own
        sensor: about the origin); zero where ``read`` was given no state.
    count: (worlds, sensors) int32, contacts that press with more than the sensor's threshold.
    in_contact: (worlds, sensors) bool, whether there is one.
    greatest: (worlds, sensors) in N, the largest normal force of one contact; 0 where nothing presses.
    pairs: (worlds, sensors, others, 3) in N, world axes, on each body from each of the sensor's others; None where the
        sensor was given none.
    """

    force: object
    torque: object
    count: object
    in_contact: object
    greatest: object
    pairs: object


class ContactSensor(Fixed):
    """Sums the forces of contacts on bodies, in every world; ``read(contacts)`` after a step that was given contacts.

    All arrays are made here: ``read`` allocates nothing, waits for nothing and can be captured. Sums run in the order
    of the contacts, so bits depend on nothing else. A contact within the gap of its shapes, which exerts nothing, adds
    nothing. Bodies that a fixed joint holds to the sensor's are bodies of their own: name them too.

    Parameters
    ----------
    model: the Model.
    body: the bodies that feel, one sensor each: a label or glob ("*_foot" makes one for each foot), a body's number
        within its world, -1 for the world itself with all that is fixed to it, or a list of such.
    other: the bodies whose forces count, likewise; each is a column of ``readings.pairs``. None: all count, and there
        is no such matrix.
    threshold: N, the normal force above which a contact counts as one; the sums leave none out.

    ``bodies`` (worlds, sensors) and ``others`` (worlds, columns, or None): indices of the bodies, -1 the world. All of
    this stays: for another threshold make another sensor. To set an attribute raises AttributeError.

    Raises ModelError for a body that a world does not have, a label that does not match equally many in each world, and
    a body that is named twice.
    """

    def __init__(self, model, body, other=None, *, threshold: float = 0.0):
        require_model("ContactSensor", model)
        self._set(
            model=model,
            threshold=number(threshold, "ContactSensor, threshold", lowest=0.0),
            bodies=_bodies(model, body, "body"),
            others=None if other is None else _bodies(model, other, "other"),
        )
        worlds, sensors = self.bodies.shape
        columns = 0 if other is None else self.others.shape[1]
        device, real = model.device, np.dtype(model.precision)
        readings = ContactReadings(
            force=device.zeros((worlds, sensors, 3), real),
            torque=device.zeros((worlds, sensors, 3), real),
            count=device.zeros((worlds, sensors), np.int32),
            in_contact=device.zeros((worlds, sensors), bool),
            greatest=device.zeros((worlds, sensors), real),
            pairs=None if other is None else device.zeros((worlds, sensors, columns, 3), real),
        )
        self._set(readings=readings)
        self._launch = None
        self._arguments = {
            "model": model,
            "sensor_body": device.asarray(self.bodies.ravel().astype(np.int32)),
            "column_of": device.asarray(self._columns()),
            "sensors": sensors,
            "columns": columns,
            "threshold": self.threshold,
        }
        for name, values in vars(readings).items():
            self._arguments[name] = None if values is None else values.reshape(worlds * sensors, *values.shape[2:])

    def read(self, contacts, state=None) -> ContactReadings:
        """Sum ``contacts.force``; returns ``self.readings``, written anew.

        ``contacts``: those that the last step was given, or ``sim.collide`` filled, whose forces are zero. ``state``:
        where the bodies stood when the contacts were found, the ``state_in`` of that step, for the torques; None: they
        stay zero.
        """
        if contacts is None:
            raise ModelError(
                "ContactSensor.read: got no contacts; forces are kept in a Contacts that the step is given: make one "
                "by model.contacts() and give it to sim.collide and solver.step, or to Simulation(contacts=contacts)"
            )
        require_container("ContactSensor.read", "contacts", contacts, "contacts", self.model)
        if state is not None:
            require_container("ContactSensor.read", "state", state, "state", self.model)
        given = {"contacts": contacts, "body_q": None if state is None else state.body_q}
        if self._launch is None:
            self._launch = _kernel().prepare(self._arguments | given, items=self.bodies.size)
        for name, argument in given.items():
            self._launch.exchange(name, argument)
        self._launch()
        return self.readings

    def _columns(self) -> np.ndarray:
        """The column of each body, and of the world (bodies + 1,); -1: left out."""
        if self.others is None:
            return np.zeros(self.model.body_count + 1, np.int32)
        column = np.full(self.model.body_count + 1, -1, np.int32)  # -1, the world, is the last
        column[self.others] = np.arange(self.others.shape[1])
        return column


@functools.cache
def _kernel() -> Kernel:
    return Kernel("contact_sensor.cu", "sum_contacts")


def _bodies(model, names, parameter: str) -> np.ndarray:
    """The bodies that a user means (worlds, n), -1 the world."""
    several = isinstance(names, Sequence) and not isinstance(names, str)
    several = several or (isinstance(names, np.ndarray) and names.ndim == 1)
    parts = [_named(model, name, parameter) for name in (names if several else [names])]
    if not parts:
        raise ModelError(f"ContactSensor, {parameter}: is empty; name a body")
    bodies = np.concatenate(parts, axis=1)
    ordered = np.sort(bodies, axis=1)
    twice = ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]]
    if len(twice):
        label = "the world" if twice[0] < 0 else repr(model.body_label[twice[0]])
        raise ModelError(f"ContactSensor, {parameter}: names {label} twice; name it once")
    return bodies


def _named(model, name, parameter: str) -> np.ndarray:
    """The bodies of one label, glob or number (worlds, n)."""
    starts = to_numpy(model.world_body_start).astype(int)
    if isinstance(name, str):
        found = np.asarray(model.find_bodies(name), int)
        counts = np.bincount(to_numpy(model.body_world)[found], minlength=model.world_count)
        if (counts != counts[0]).any():
            odd = int(np.argmax(counts != counts[0]))
            raise ModelError(
                f"ContactSensor, {parameter}: {name!r} matches {counts[0]} bodies in world 0 and {counts[odd]} in "
                f"world {odd}; it must match equally many in each world"
            )
        return found.reshape(model.world_count, -1)  # ascending, so world by world
    if not is_whole(name) or not -1 <= name < int(np.diff(starts).min()):
        raise ModelError(
            f"ContactSensor, {parameter}: got {name!r}; give a label, a number that every world has a body of, or -1 "
            "for the world"
        )
    return np.full((model.world_count, 1), -1) if int(name) < 0 else starts[:-1, None] + int(name)
