"""A stage as the importer reads it: nothing is instanced, payloads are loaded, and values are those of one time."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path

from simengine.builder.importers.front import Import
from simengine.builder.importers.usd.layers import LayerWalk, check_size, message_of, unreadable
from simengine.builder.importers.usd.limits import UsdLimits
from simengine.builder.importers.usd.reading import PrimPlace
from simengine.builder.importers.usd.units import Units
from simengine.builder.values import AXES
from simengine.errors import AssetError, MissingExtraError

LARGEST = 1e12  # metres or kilograms in one unit
METRICS = ("upAxis", "metersPerUnit", "kilogramsPerUnit")
PHYSICAL = ("physics", "drive", "limit", "state", "newton", "mjc")
"""Namespaces of attributes of physics, besides those that begin with "physx"."""


def require_usd() -> None:
    """Raise MissingExtraError without usd-core 26.5 or newer: parsers of older ones crash on bodies of many shapes."""
    try:
        from pxr import UsdPhysics

        known = hasattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange")
    except ImportError:
        known = False
    if not known:
        raise MissingExtraError("usd-core>=26.5", "usd", "reading and writing USD")


def is_stage(source) -> bool:
    """Whether it is a Usd.Stage; False without the package usd-core."""
    try:
        from pxr import Usd
    except ImportError:
        return False
    return isinstance(source, Usd.Stage)


@contextmanager
def usd_messages(file: str):
    """Collects what USD prints as warnings; its errors, and words in binary files that are none, become AssetError."""
    from pxr import Tf, UsdUtils

    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    messages: list[str] = []
    try:
        yield messages
    except Tf.ErrorException as error:
        raise unreadable(error, file) from None
    except UnicodeDecodeError as error:
        raise AssetError(f"holds a name or text that is not UTF-8 ({error.reason})", file=file) from None
    finally:
        messages += map(message_of, delegate.TakeUncoalescedDiagnostics())


def open_stage(job: Import, source, options):
    """The stage of a file, checked, or a view of the user's own stage, which stays as it is.

    ``options``: a UsdOptions.

    Raises:
        AssetError: a layer is refused (see ``layers``) or not there, or the stage grows beyond the caps.
    """
    from pxr import Sdf, Usd

    file, limits = str(job.path), options.usd_limits or UsdLimits()
    session = Sdf.Layer.CreateAnonymous("view.usda")
    with usd_messages(file) as messages:
        if is_stage(source):
            session.subLayerPaths.append(source.GetSessionLayer().identifier)
            root, walk = source.GetRootLayer(), None
            stage = Usd.Stage.Open(root, session, source.GetPathResolverContext(), Usd.Stage.LoadNone)
            stage.MuteAndUnmuteLayers(source.GetMutedLayers(), [])
            stage.SetPopulationMask(source.GetPopulationMask())
            stage.SetLoadRules(source.GetLoadRules())
        else:
            walk = LayerWalk(Path(source), job.paths, limits)
            root = walk.walk()
            check_size(walk)
            stage = Usd.Stage.Open(root, session, Usd.Stage.LoadAll)
    if walk is not None:
        _check_missing(stage, walk, job, options.allow_missing)
        _check_used(stage, walk, file)
    for message in messages:
        if not (walk and any(asset.rpartition("/")[2] in message for asset, *_ in walk.missing)):
            _tell(job, message)
    stage.SetEditTarget(session)
    _make_real(stage, session, limits, file)
    _take_values(stage, job, options.time)
    _compare_metrics(stage, job)
    return stage


def _tell(job: Import, message: str) -> None:
    """A note of what USD says of the composition, with its prim and without what concerns USD alone."""
    message = message.rpartition(" (instantiating stage on stage ")[0] or message
    message = re.sub(r",@anon:[^@]*@", "", message)
    prim = re.match(r"In <(.+?)>: ", message)
    what, text = "composition", message[prim.end() :] if prim else message
    if "Cycle detected" in text or "has cycles" in text:
        what, text = "circle of files or prims", f"what closes it is left out, as USD does: {text}"
    job.notes.note("warned", what, PrimPlace(str(job.path), prim[1] if prim else "/"), text)


def _check_missing(stage, walk: LayerWalk, job: Import, allowed: bool) -> None:
    """Refuse layers that are not there where the stage needs them; those of variants not chosen are told of."""
    errors = [str(error) for error in stage.GetCompositionErrors()]
    arcs = re.compile(r"introduced by @(.+)@<(.+)>")
    needed = {(found[1], re.sub(r"\{.*?\}", "", found[2])) for found in map(arcs.search, errors) if found}
    needed |= {(found[1], "/") for found in map(re.compile(r"of layer @(.+)@; skipping").search, errors) if found}
    for asset, layer, prim in walk.missing:
        place = PrimPlace(layer, prim or "/")
        if allowed or (layer, prim) not in needed:
            job.notes.ignore(f"layer '{asset}'", place, "it was not found")
        else:
            raise place.error(f"layer '{asset}' was not found; allow_missing=True leaves such layers out")


def _compare_metrics(stage, job: Import) -> None:
    """Tell of layers in other units or with another up axis than the stage's: USD takes their numbers as they are."""
    from pxr import UsdGeom, UsdPhysics

    stated = (
        UsdGeom.GetStageUpAxis(stage),
        UsdGeom.GetStageMetersPerUnit(stage),
        UsdPhysics.GetStageKilogramsPerUnit(stage),
    )
    own = dict(zip(METRICS, stated, strict=True))
    for layer in stage.GetUsedLayers():
        if layer == stage.GetRootLayer() or layer == stage.GetSessionLayer():
            continue
        for name, value in own.items():
            if layer.pseudoRoot.HasInfo(name) and layer.pseudoRoot.GetInfo(name) != value:
                reason = f"it is {layer.pseudoRoot.GetInfo(name)}, that of the stage {value}, which counts for all"
                job.notes.note("warned", name, PrimPlace(str(job.path), layer.identifier), reason)


def _check_used(stage, walk: LayerWalk, file: str) -> None:
    """That no layer came in that was not checked: a search path or a plugin of the environment could bring one."""
    known = {layer.identifier for layer in walk.layers.values()}
    for layer in stage.GetUsedLayers(True):
        name = layer.identifier
        if not layer.anonymous and name not in known and name.partition("[")[0] not in known:
            raise AssetError(f"is composed of {name}, which was not found beside it: name it by its path", file=file)


def _make_real(stage, session, limits: UsdLimits, file: str) -> None:
    """Turn instances into plain prims, outer ones first: opinions in ``session`` reach all of them then."""
    from pxr import Sdf, Usd

    while True:
        instances = []
        for count, prim in enumerate(Usd.PrimRange(stage.GetPseudoRoot())):
            if count > limits.prims:
                raise AssetError(f"has more prims than the cap of {limits.prims}", file=file)
            if prim.IsInstance():
                instances.append(prim.GetPath())
        if not instances:
            return
        with Sdf.ChangeBlock():
            for path in instances:
                Sdf.CreatePrimInLayer(session, path).SetInfo("instanceable", False)


def _take_values(stage, job: Import, time: float | None) -> None:
    """Make the values at ``time`` the default ones; without it, tell of values of physics that change with time.

    Values that are there at times alone are told of whatever they are.
    """
    from pxr import Usd

    code = Usd.TimeCode.Default() if time is None else Usd.TimeCode(time)
    sources = (Usd.ResolveInfoSourceNone, Usd.ResolveInfoSourceFallback)
    for prim in Usd.PrimRange(stage.GetPseudoRoot()):
        for attribute in prim.GetAuthoredAttributes():
            if not attribute.GetNumTimeSamples():
                continue
            if time is not None:
                value = attribute.Get(code)
                if value is not None:
                    attribute.Set(value)
            elif attribute.GetResolveInfo(code).GetSource() in sources:
                place = PrimPlace(str(job.path), prim.GetPath(), attribute.GetName())
                job.notes.note("warned", "values at times alone", place, "not read: give time=, a time code")
            elif _is_physical(attribute.GetName()):
                place = PrimPlace(str(job.path), prim.GetPath(), attribute.GetName())
                reason = "the default value is read: give time=, a time code, for another"
                job.notes.note("warned", "values at times", place, reason)


def _is_physical(name: str) -> bool:
    namespace = name.partition(":")[0]
    return namespace in PHYSICAL or namespace.startswith("physx")


def stage_units(stage, file: str) -> Units:
    """metersPerUnit and kilogramsPerUnit; without them 0.01 and 1, USD's defaults.

    Raises AssetError for what is not positive, and for what no unit is: beyond LARGEST, or under 1 / LARGEST.
    """
    from pxr import UsdGeom, UsdPhysics

    metre, kilogram = UsdGeom.GetStageMetersPerUnit(stage), UsdPhysics.GetStageKilogramsPerUnit(stage)
    for name, value in (("metersPerUnit", metre), ("kilogramsPerUnit", kilogram)):
        if not 1.0 / LARGEST <= value <= LARGEST:
            raise AssetError(
                f"{name} is {value}; it must be positive, and from {1.0 / LARGEST:g} to {LARGEST:g}", file=file
            )
    return Units(metre, kilogram)


def stage_up_axis(stage, job: Import) -> str:
    """The stage's up axis: Y where it does not say, or says what is none."""
    given = stage.GetMetadata("upAxis") if stage.HasAuthoredMetadata("upAxis") else "Y"
    if given in AXES:
        return str(given)
    job.notes.note("warned", "upAxis", PrimPlace(str(job.path), "/"), f"{str(given)!r} is no axis: taken as Y")
    return "Y"
