"""<dcmotor>: an electrical motor; its data sheet as the parameters that MuJoCo makes of it."""

from __future__ import annotations

import math

from simengine.builder.importers.mjcf.values import Values


def _list(values: Values, name: str, before: tuple[float, ...]) -> list[float]:
    return list(values.numbers(name, len(before), before, least=1))


def set_dc_motor(fields, values: Values) -> None:
    """Set gain, bias and dynamics ``dcmotor``.

    gain: resistance, motor constant, temperature coefficient and reference, kp, ki, kd, largest voltage. bias: cogging
    amplitude, periodicity, phase; Coulomb and static friction, Stribeck speed. dynamics: electrical time constant,
    largest current slope, thermal resistance and capacity, ambient temperature, LuGre stiffness and damping, largest
    slew and integral.
    """
    gain, bias, dynamics = fields.gain_parameters, fields.bias_parameters, fields.dynamics_parameters
    if fields.gain != "dcmotor":  # nothing inherited
        gain[:], bias[:], dynamics[:] = [0.0] * 10, [0.0] * 10, [0.0] * 10
        fields.inputs = ("voltage",)
    nominal = _list(values, "nominal", (0.0, 0.0, 0.0))
    resistance = values.number("resistance", gain[0], lowest=0.0)
    torque, back = _list(values, "motorconst", (gain[1], 0.0))
    constant, resistance = _constant(torque, back, resistance, nominal, fields.damping)
    if constant <= 0.0 or resistance <= 0.0:
        raise values.element.error(
            "the motor constant and the resistance must be positive: give motorconst, resistance"
        )
    gain[0], gain[1] = resistance, constant
    states = _control(fields, values) + _electrical(fields, values, constant) + _thermal(fields, values)
    bias[:3] = _list(values, "cogging", tuple(bias[:3]))
    lugre = _list(values, "lugre", (dynamics[5], dynamics[6], *bias[3:6]))
    if lugre[0] > 0.0:
        dynamics[5:7], bias[3:6] = lugre[:2], lugre[2:]
        states += 1
    fields.gain, fields.bias, fields.dynamics = "dcmotor", "dcmotor", "dcmotor"
    fields.activations, fields.early, fields.limited["act"] = states, True, "false"


def _constant(torque: float, back: float, resistance: float, nominal, damping: float) -> tuple[float, float]:
    """Motor constant and resistance, from the nominal voltage, stall torque and no-load speed where these are given.

    No-load speed: w0 = V K / (K^2 + R B); stall torque: K V / R.
    """
    voltage, stall, speed = nominal
    if voltage > 0.0 and back <= 0.0 and speed > 0.0:
        back = voltage / speed
        if damping > 0.0 and resistance > 0.0:
            square = voltage * voltage - 4.0 * resistance * damping * speed * speed
            back = (voltage + math.sqrt(square)) / (2.0 * speed) if square > 0.0 else back
        elif damping > 0.0 and stall > 0.0:
            exact = back - voltage * damping / stall
            back = exact if exact > 0.0 else back
    constant = math.sqrt(torque * back) if torque > 0.0 and back > 0.0 else max(torque, back)
    if resistance == 0.0 and voltage > 0.0 and stall > 0.0 and constant > 0.0:
        resistance = constant * voltage / stall
    return constant, resistance


def _control(fields, values: Values) -> int:
    """The controller; how many activations it has."""
    gain, dynamics = fields.gain_parameters, fields.dynamics_parameters
    before = (gain[4], gain[5], gain[6], dynamics[7], dynamics[8], gain[7])
    proportional, integral, derivative, slew, bound, voltage = _list(values, "controller", before)
    gain[4:7] = proportional, integral, derivative
    dynamics[7:9] = slew, bound
    if voltage > 0.0:
        gain[7] = voltage
    if values.has("input"):
        fields.inputs = tuple(values.given["input"][0].split())
    return (slew > 0.0) + (integral > 0.0)


def _electrical(fields, values: Values, constant: float) -> int:
    """Saturation and inductance; how many activations they have."""
    dynamics = fields.dynamics_parameters
    torque, current, slope = _list(values, "saturation", (0.0, 0.0, dynamics[1]))
    if torque > 0.0 or current > 0.0:
        largest = torque or constant * current
        fields.force, fields.limited["force"] = (-largest, largest), "true"
    if slope > 0.0:
        dynamics[1] = slope
    inductance, time = values.numbers("inductance", 2, (0.0, dynamics[0]), least=1, lowest=0.0)
    dynamics[0] = inductance / fields.gain_parameters[0] if inductance > 0.0 else time
    return int(dynamics[0] > 0.0)


def _thermal(fields, values: Values) -> int:
    """Heating; how many activations it has. Of thermal resistance, capacity and time constant two are enough."""
    gain, dynamics = fields.gain_parameters, fields.dynamics_parameters
    before = (dynamics[2], dynamics[3], 0.0, gain[2], gain[3], dynamics[4])
    resistance, capacity, time, coefficient, reference, ambient = _list(values, "thermal", before)
    if max(resistance, capacity, time) <= 0.0:
        return 0
    if time > 0.0 and resistance > 0.0 and capacity == 0.0:
        capacity = time / resistance
    elif time > 0.0 and capacity > 0.0 and resistance == 0.0:
        resistance = time / capacity
    if resistance <= 0.0 or capacity <= 0.0:
        raise values.element.error("thermal: give two of resistance, capacity and time constant, positive")
    dynamics[2], dynamics[3], dynamics[4] = resistance, capacity, ambient
    gain[2], gain[3] = coefficient, reference
    return 1
