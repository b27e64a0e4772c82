"""``<mujoco>``: what MuJoCo's users write into a URDF for its compiler; other elements MuJoCo itself passes over."""

from __future__ import annotations

from simengine.builder.importers.report import Notes
from simengine.builder.importers.urdf.attributes import TABLE
from simengine.builder.importers.urdf.document import MujocoSettings, Robot
from simengine.builder.importers.urdf.quantities import quantities, quantity
from simengine.builder.importers.xml_reader import Element

NUMBERS = {"timestep": "dt", "impratio": "impratio", "tolerance": "tolerance", "density": "density",
           "viscosity": "viscosity"}  # fmt: skip
VECTORS = ("wind", "magnetic")
WORDS = {"integrator": ("Euler", "RK4", "implicit", "implicitfast"), "cone": ("pyramidal", "elliptic")}


def parse_mujoco(root: Element, robot: Robot, notes: Notes) -> None:
    """Set ``robot.mujoco`` from the block, where there is one.

    Raises:
        AssetError: two blocks, or a value that is not what it must be.
    """
    block = root.one("mujoco")
    if block is None:
        return
    result = robot.mujoco = MujocoSettings(element=block)
    for child in block.children:
        if child.tag in ("compiler", "option"):
            # children of <option> are flags of MuJoCo's solver
            TABLE.check(notes, child, (), f"{child.tag} of MuJoCo")
        else:
            notes.ignore(f"<{child.tag}> of <mujoco>", child, "MuJoCo takes nothing of a URDF from it but memory sizes")
            notes.count_subtree(child, "ignored")
    compiler, option = block.one("compiler"), block.one("option")
    if compiler is not None:
        _compiler(compiler, result)
    if option is not None:
        _option(option, result)


def _compiler(element: Element, result: MujocoSettings) -> None:
    folder = element.attributes.get("meshdir", element.attributes.get("assetdir", ""))
    result.mesh_folder = folder.strip()
    result.strip_path = _flag(element, "strippath", True)
    result.balance_inertia = _flag(element, "balanceinertia", False)
    result.fused = _flag(element, "fusestatic", True)
    result.ignore_inertial = _word(element, "inertiafromgeom", ("true", "false", "auto"), "auto") == "true"
    result.least_mass = _not_negative(element, "boundmass")
    result.least_inertia = _not_negative(element, "boundinertia")
    total = quantity(element, "settotalmass", -1.0)
    result.total_mass = total if total > 0.0 else None  # MuJoCo takes others as unset


def _option(element: Element, result: MujocoSettings) -> None:
    for name, field in NUMBERS.items():
        if name in element.attributes:
            result.options[field] = _not_negative(element, name)
    for name in VECTORS:
        if name in element.attributes:
            result.options[name] = quantities(element, name, 3)
    for name, words in WORDS.items():
        if name in element.attributes:
            result.options[name] = _word(element, name, words, "").lower()
    if "iterations" in element.attributes:
        result.options["iterations"] = int(_not_negative(element, "iterations"))
    if "gravity" in element.attributes:
        result.gravity = quantities(element, "gravity", 3)


def _not_negative(element: Element, name: str) -> float:
    value = quantity(element, name, 0.0)
    if value < 0.0:
        raise element.error(f"attribute '{name}' is {value:g}: it must be zero or more")
    return value


def _flag(element: Element, name: str, default: bool) -> bool:
    return _word(element, name, ("true", "false"), str(default).lower()) == "true"


def _word(element: Element, name: str, words: tuple[str, ...], default: str) -> str:
    word = element.string(name, default)
    if word not in words:
        raise element.error(f"attribute '{name}' is '{word}': it is one of {', '.join(words)}")
    return word
