"""Options that all importers share."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from simengine.builder.importers.xml_reader import XmlLimits
from simengine.builder.meshes.files import MeshLimits
from simengine.builder.values import pose
from simengine.errors import ModelError, did_you_mean, with_article
from simengine.values import flag, number


@dataclass(frozen=True)
class ChildLimits:
    """Caps on the process that reads an untrusted file: wall-clock time (s), its memory and its answer (bytes)."""

    seconds: float = 30.0
    memory_bytes: int = 2 << 30
    answer_bytes: int = 1 << 30


def check_kind(name: str, value, kind: type) -> None:
    """Raise ModelError for an option, by its name, that is neither None nor of its class."""
    if not isinstance(value, kind | None):
        raise ModelError(f"is {value!r}; it must be {with_article(kind.__name__)}", element=f"import, {name}")


@dataclass(frozen=True)
class ImportOptions:
    """Options of all ``ModelBuilder.add_*`` that read a file.

    Parameters
    ----------
    xform: pose (7 numbers) in the world of what the file holds; its up axis is then turned to the builder's. Gravity is
        the world's, and is turned by the up axis alone.
    collapse_fixed_joints: merge bodies on fixed joints into the body that carries them.
    self_collision: shapes of this file may touch each other (never those of a body and its parent).
    filter_overlapping: of those, pairs of one robot that overlap in its zero pose do not touch; the report lists them.
        The zero pose is the one that the file draws: in URDF where all coordinates are zero, whatever the limits.
    drive_stiffness, drive_damping: of the drives of all joints whose axes are fixed in number, hinges and sliders
        (N m/rad or N/m; N m s/rad or N s/m); default None: what the file says.
    drive_frequency: instead of these, in Hz: with w = 2 pi frequency, stiffness w^2 M_ii and damping 2 w M_ii of each
        degree of freedom i, M the mass matrix at the initial coordinates. Efforts stay within the file's limits.
        M_ii leaves out what a leg carries: a heavy robot that is to stand needs 10 Hz or more.
    velocity_limits: hold the file's velocity limits; else they are read and off.
    unsupported: "warn" (noted in the report) or "raise" for what is read and kept but cannot be simulated yet.
    strict: refuse whatever would be ignored.
    package_roots: folders that hold the packages of ``package://`` names. The folders above the file are looked at too.
    allow_paths: True, or folders: where files that this one names may lie besides its own folder or ROS package.
    label_prefix: stands before all labels with a "/", so that a file can be added twice to one world.
    untrusted: read the file in a process of its own, with limits on time and memory; a crash there is an AssetError.
    untrusted_limits: caps on that process; default ChildLimits().
    xml_limits, mesh_limits: caps on the sizes of the files; default XmlLimits(), MeshLimits().
    """

    xform: tuple | None = None
    collapse_fixed_joints: bool = False
    self_collision: bool = True
    filter_overlapping: bool = True
    drive_stiffness: float | None = None
    drive_damping: float | None = None
    drive_frequency: float | None = None
    velocity_limits: bool = False
    unsupported: str = "warn"
    strict: bool = False
    package_roots: list = field(default_factory=list)
    allow_paths: bool | list = False
    label_prefix: str | None = None
    untrusted: bool = False
    untrusted_limits: ChildLimits | None = None
    xml_limits: XmlLimits | None = None
    mesh_limits: MeshLimits | None = None

    def __post_init__(self):
        for option in fields(self):
            if option.type == "bool":
                flag(getattr(self, option.name), f"import, {option.name}")
        pose(self.xform, "import, xform")
        for name in ("drive_stiffness", "drive_damping"):
            if getattr(self, name) is not None:
                number(getattr(self, name), f"import, {name}", lowest=0.0)
        if self.drive_frequency is not None:
            number(self.drive_frequency, "import, drive_frequency", positive=True)
            if self.drive_stiffness is not None or self.drive_damping is not None:
                raise ModelError(
                    "is given together with drive_stiffness or drive_damping, which it sets; leave out one of them",
                    element="import, drive_frequency",
                )
        check_kind("untrusted_limits", self.untrusted_limits, ChildLimits)
        check_kind("xml_limits", self.xml_limits, XmlLimits)
        check_kind("mesh_limits", self.mesh_limits, MeshLimits)
        if self.untrusted_limits is not None and not self.untrusted:
            raise ModelError("acts only with untrusted=True", element="import, untrusted_limits")
        if not isinstance(self.label_prefix, str | None):
            raise ModelError(f"is {self.label_prefix!r}; it must be a str", element="import, label_prefix")
        if self.unsupported not in ("warn", "raise"):
            raise ModelError(f'is {self.unsupported!r}; it must be "warn" or "raise"', element="import, unsupported")

    @classmethod
    def of(cls, given: dict, caller: str):
        """The options given by name; ModelError for one that there is not."""
        known = [option.name for option in fields(cls)]
        for name in given:
            if name not in known:
                raise ModelError(f"has no option {name!r}{did_you_mean(name, known)}", element=caller)
        return cls(**given)
