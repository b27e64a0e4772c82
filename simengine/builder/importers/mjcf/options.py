"""<compiler> and <option>: how a file is to be understood, and what it asks of a simulation."""

from __future__ import annotations

from simengine.builder.importers.flags import OFF_BY_DEFAULT, OLDER
from simengine.builder.importers.mjcf.attributes import TABLE
from simengine.builder.importers.mjcf.document import Compiler, Document
from simengine.builder.importers.mjcf.values import Values
from simengine.builder.importers.report import Notes
from simengine.builder.importers.xml_reader import Element

INTEGRATORS = {"Euler": "euler", "RK4": "rk4", "implicit": "implicit", "implicitfast": "implicitfast"}
INTEGRATORS["discrete"] = "discrete"


def read_compiler(element: Element, compiler: Compiler) -> None:
    """Take in a <compiler>; a file may have several, of which the later count."""
    values = Values(element, compiler)
    if values.choice("coordinate", ("local", "global"), "local") == "global":
        raise element.error("coordinate='global' was removed from MJCF: save the file with MuJoCo 2.3.3 first")
    compiler.degrees = (
        values.choice("angle", ("radian", "degree"), "degree" if compiler.degrees else "radian") == "degree"
    )
    sequence = values.text("eulerseq", compiler.euler_sequence)
    if len(sequence) != 3 or any(letter not in "xyzXYZ" for letter in sequence):
        raise element.error(f"eulerseq is '{sequence}': it is three letters of x, y, z, X, Y, Z")
    compiler.euler_sequence = sequence
    if values.has("assetdir"):
        compiler.mesh_folder = values.given["assetdir"][0].strip()
    if values.has("meshdir"):
        compiler.mesh_folder = values.given["meshdir"][0].strip()
    compiler.strip_path = values.flag("strippath", compiler.strip_path)
    compiler.auto_limits = values.flag("autolimits", compiler.auto_limits)
    _read_inertia(values, compiler)
    compiler.fit_box = values.flag("fitaabb", compiler.fit_box)
    compiler.fuse_static = values.flag("fusestatic", compiler.fuse_static)
    compiler.discard_visual = values.flag("discardvisual", compiler.discard_visual)
    compiler.align_free = values.flag("alignfree", compiler.align_free)


def _read_inertia(values: Values, compiler: Compiler) -> None:
    words = ("false", "true", "auto")
    compiler.exact_inertia = values.flag("exactmeshinertia", compiler.exact_inertia)  # of older files
    compiler.inertia_from_geom = values.choice("inertiafromgeom", words, compiler.inertia_from_geom)
    compiler.inertia_groups = tuple(map(int, values.numbers("inertiagrouprange", 2, compiler.inertia_groups)))
    compiler.bound_mass = values.number("boundmass", compiler.bound_mass, lowest=0.0)
    compiler.bound_inertia = values.number("boundinertia", compiler.bound_inertia, lowest=0.0)
    compiler.balance_inertia = values.flag("balanceinertia", compiler.balance_inertia)
    compiler.total_mass = values.number("settotalmass", compiler.total_mass)


def read_option(element: Element, document: Document, notes: Notes) -> None:
    """Take in an <option> and its <flag>."""
    TABLE.check(notes, element, ("flag",))
    values, options = Values(element, document.compiler), document.options
    if values.has("gravity"):
        document.gravity, document.gravity_element = values.numbers("gravity", 3), element
    integrator = values.choice("integrator", tuple(INTEGRATORS), "")
    given = {
        "dt": values.number("timestep", lowest=1e-12) if values.has("timestep") else None,
        "integrator": INTEGRATORS.get(integrator),
        "cone": values.choice("cone", ("pyramidal", "elliptic"), "") or None,
        "impratio": values.number("impratio", lowest=0.0) if values.has("impratio") else None,
        "iterations": values.whole("iterations", lowest=0) if values.has("iterations") else None,
        "tolerance": values.number("tolerance", lowest=0.0) if values.has("tolerance") else None,
        "density": values.number("density", lowest=0.0) if values.has("density") else None,
        "viscosity": values.number("viscosity", lowest=0.0) if values.has("viscosity") else None,
        "wind": values.numbers("wind", 3) if values.has("wind") else None,
        "magnetic": values.numbers("magnetic", 3) if values.has("magnetic") else None,
    }
    options.update({name: value for name, value in given.items() if value is not None})
    for name, row in TABLE.rows.items():
        if name[0] == "option" and row.target == "options.other" and values.has(name[1]):
            document.other.append((name[1], values.text(name[1])))
    flag = element.one("flag")
    if flag is not None:
        _read_flags(flag, document, notes)


def _read_flags(element: Element, document: Document, notes: Notes) -> None:
    TABLE.check(notes, element, ())
    values = Values(element, document.compiler)
    for name in TABLE.names("flag"):
        if values.has(name) and TABLE.rows["flag", name].fate != "ignored":
            off_by_default = name in OFF_BY_DEFAULT
            flags = document.enabled if off_by_default else document.disabled
            word = values.choice(name, ("disable", "enable"), "")
            for now in OLDER.get(name, (name,)):
                flags.pop(now, None)
                if (word == "enable") == off_by_default:
                    flags[now] = element
