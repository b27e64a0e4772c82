"""What a USD file is composed of, listed layer by layer and checked before a stage is composed.

Each layer is opened by itself, after its place, size, kind and nesting were found good; what it names is followed in
the same way. The opened layers are held, so what was checked is what the stage is composed of.
"""

from __future__ import annotations

import copy
import os
import posixpath
import re
import struct
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simengine.builder.importers.paths import MissingFile, PathRules, read_file
from simengine.builder.importers.usd.limits import UsdLimits
from simengine.builder.importers.usd.packages import read_package
from simengine.errors import AssetError

ENDINGS = (".usd", ".usda", ".usdc")
NO_WORDS = "USD's message about it is no text"
TEXT, CRATE = b"#usda ", b"PXR-USDC"


@dataclass
class Outline:
    """The prims of one layer (paths without variant selections, sorted) and what they are composed with.

    ``arcs``: (prim, identifier of the layer, target prim; "" for the default one).
    """

    prims: list[str] = field(default_factory=list)
    arcs: list[tuple[str, str, str]] = field(default_factory=list)
    default: str = ""


@dataclass
class Dependency:
    """A layer that was named: by its file, and by its name in the package where that is a .usdz."""

    path: Path
    inner: str = ""

    @property
    def identifier(self) -> str:
        """The name that USD gives the layer."""
        return f"{self.path}[{self.inner}]" if self.inner else str(self.path)


class LayerWalk:
    """All layers that a file is composed of.

    Attributes:
        layers: those that were opened, by identifier; outlines: their prims. missing: those that are allowed, but are
        not there, as (what is named, identifier of the layer that names it, path of the prim there, "/" of sublayers).
    """

    def __init__(self, root: Path, rules: PathRules, limits: UsdLimits):
        self.root = Path(os.path.abspath(root))
        self.rules, self.limits = rules, limits
        self.layers: dict[str, object] = {}
        self.outlines: dict[str, Outline] = {}
        self.missing: list[tuple[str, str, str]] = []
        self.packages: dict[Path, dict[str, bytes]] = {}
        self.bytes = 0

    def walk(self):
        """Check and open all; returns the root layer.

        Raises:
            AssetError: what is refused, and which layer names it.
        """
        first = Dependency(self.root)
        waiting = [(first, "")]
        while waiting:
            dependency, named_by = waiting.pop()
            if dependency.identifier in self.layers:
                continue
            if len(self.layers) >= self.limits.layers:
                raise AssetError(f"is composed of more than {self.limits.layers} layers", file=str(self.root))
            try:
                layer = self._open(dependency)
            except AssetError as error:
                raise (_named(error, named_by) if named_by else error) from None
            self.layers[dependency.identifier] = layer
            waiting += [(found, dependency.identifier) for found in self._dependencies(dependency, layer)]
        return self.layers[first.identifier]

    # one layer

    def _open(self, dependency: Dependency):
        from pxr import Sdf, Tf

        path, file = dependency.path, dependency.identifier
        if path.suffix.lower() == ".usdz":
            entries = self._package(path)
            name = dependency.inner or next(iter(entries))
            data = entries[name]
        else:
            name, data = path.name, read_file(path, self.limits.layer_bytes)
            self._count(len(data), file)
        check_content(data, name, file, self.limits)
        try:
            layer = Sdf.Layer.Find(dependency.identifier)
            if layer is None:
                layer = Sdf.Layer.FindOrOpen(dependency.identifier)
            elif not layer.dirty:  # held by someone in this process: as the file is now
                layer.Reload()
        except Tf.ErrorException as error:
            raise unreadable(error, file) from None
        if layer is None:
            raise AssetError("cannot be read as USD", file=file)
        return layer

    def _package(self, path: Path) -> dict[str, bytes]:
        if path not in self.packages:
            self.packages[path] = read_package(path, self.limits)
            self._count(sum(map(len, self.packages[path].values())), str(path))
        return self.packages[path]

    def _count(self, size: int, file: str) -> None:
        self.bytes += size
        if self.bytes > self.limits.total_bytes:
            raise AssetError(f"with it, layers have more than the cap of {self.limits.total_bytes} bytes", file=file)

    # what it names

    def _dependencies(self, dependency: Dependency, layer) -> list[Dependency]:
        outline = self.outlines[dependency.identifier] = Outline(default=layer.defaultPrim)
        found: dict[str, Dependency | None] = {}

        def resolve(asset: str, prim: str = "/") -> Dependency | None:
            if asset not in found:
                found[asset] = self._resolve(asset, dependency)
            if found[asset] is None:
                self.missing.append((asset, dependency.identifier, prim))
            return found[asset]

        for prim, targets, clips in _arcs(layer, dependency.identifier, self.limits):
            outline.prims.append(prim)
            for asset, target in targets:
                arc = resolve(asset, prim) if asset else dependency
                if arc is not None:
                    outline.arcs.append((prim, arc.identifier, target))
            for asset in clips:
                resolve(asset, prim)
        outline.prims.sort()
        sublayers = [resolve(asset) for asset in layer.subLayerPaths]
        outline.arcs += [("/", one.identifier, "/") for one in sublayers if one is not None]
        outline.arcs.sort()
        for asset in filter(None, layer.GetCompositionAssetDependencies()):
            if asset not in found:
                resolve(asset, "")
        return [one for one in found.values() if one is not None]

    def _resolve(self, asset: str, named_by: Dependency) -> Dependency | None:
        """The layer that an asset path means; None where there is no such file."""
        try:
            if asset.startswith("`"):
                raise AssetError(f"'{asset}': names with expressions are not read: write the path itself")
            if ":SDF_FORMAT_ARGS:" in asset:
                raise AssetError(f"'{asset}': arguments of a file format are not read")
            outer, _, inner = asset.partition("[")
            inner = inner.removesuffix("]")
            if named_by.path.suffix.lower() == ".usdz" and not inner:
                return self._resolve_inside(asset, named_by)
            return self._resolve_file(outer, inner, named_by)
        except MissingFile:
            return None
        except AssetError as error:
            raise _named(error, named_by.identifier) from None

    def _resolve_inside(self, asset: str, named_by: Dependency) -> Dependency:
        """A name in a package: beside the layer that names it, else from the package's top."""
        self.rules._check_text(asset)
        if "://" in asset or asset.startswith("/"):
            raise AssetError(f"'{asset}' leads out of the package")
        entries = self._package(named_by.path)
        here = posixpath.dirname(named_by.inner or next(iter(entries)))
        for folder in (here, ""):
            name = posixpath.normpath(posixpath.join(folder, asset))
            if name.startswith(".."):
                raise AssetError(f"'{asset}' leads out of the package")
            if name in entries:
                _check_ending(name, ENDINGS)
                return Dependency(named_by.path, name)
        raise MissingFile(f"'{asset}' is not in the package")

    def _resolve_file(self, asset: str, inner: str, named_by: Dependency) -> Dependency:
        """A file: beside the layer that names it; names without a leading dot also beside the root layer, as USD."""
        if "://" in asset:
            raise AssetError(f"'{asset}': only files are read, no addresses")
        rules = copy.copy(self.rules)
        folders = [named_by.path.parent] if asset.startswith(".") else [named_by.path.parent, self.root.parent]
        for folder in folders:
            rules.folder = folder
            try:
                rules.resolve(asset)
            except MissingFile:
                if folder is folders[-1]:
                    raise
                continue
            path = Path(os.path.normpath(folder / asset))
            _check_ending(path.name, (".usdz",) if inner else (*ENDINGS, ".usdz"))
            if inner and inner not in self._package(path):
                raise MissingFile(f"'{inner}' is not in the package {path.name}")
            return Dependency(path, inner)
        raise AssertionError("a folder is always tried")


def _arcs(layer, identifier: str, limits: UsdLimits):
    """For each prim of a layer, those in variants too: its path, (asset, prim) pairs of its arcs, assets of clips."""
    waiting = [(spec, 1) for spec in layer.rootPrims]
    count = 0
    while waiting:
        spec, depth = waiting.pop()
        count += 1
        if count > limits.prims:
            raise AssetError(f"has more prims than the cap of {limits.prims}", file=identifier)
        if depth > limits.nesting:
            raise AssetError(
                f"has prims nested deeper than {limits.nesting}", file=identifier, prim_path=str(spec.path)
            )
        waiting += [(child, depth + 1) for child in spec.nameChildren]
        for variants in spec.variantSets:
            waiting += [(variant.primSpec, depth + 1) for variant in variants.variants.values()]
        targets = [
            (item.assetPath, str(item.primPath))
            for arcs in (spec.referenceList, spec.payloadList)
            for item in arcs.GetAddedOrExplicitItems()
        ]
        internal = (spec.inheritPathList, spec.specializesList)
        targets += [("", str(path)) for arcs in internal for path in arcs.GetAddedOrExplicitItems()]
        yield str(spec.path.StripAllVariantSelections()), targets, _clip_assets(spec, identifier)


def _clip_assets(spec, identifier: str) -> list[str]:
    """The files of a prim's value clips."""
    if not spec.HasInfo("clips"):
        return []
    assets = []
    for name, clip_set in dict(spec.GetInfo("clips")).items():
        if "templateAssetPath" in clip_set:
            raise AssetError(
                f"value clips '{name}' are named by a template: list them one by one (assetPaths)",
                file=identifier,
                prim_path=str(spec.path),
            )
        assets += [asset.path for asset in clip_set.get("assetPaths", ())]
        if "manifestAssetPath" in clip_set:
            assets.append(clip_set["manifestAssetPath"].path)
    return [asset for asset in assets if asset]


def check_content(data: bytes, name: str, file: str, limits: UsdLimits) -> None:
    """That the bytes are what the ending says, a text without deep nesting, or a crate whose table is inside it.

    Raises:
        AssetError: they are not.
    """
    ending = os.path.splitext(name)[1].lower()
    _check_ending(name, ENDINGS, file)
    if not data:
        raise AssetError("is empty", file=file)
    is_text, is_crate = data.startswith(TEXT), data.startswith(CRATE)
    if not (is_text or is_crate) or ending == (".usdc" if is_text else ".usda"):
        raise AssetError(f"does not begin as a {ending} file does", file=file)
    if is_crate:
        offset = struct.unpack_from("<q", data, 16)[0] if len(data) >= 88 else -1
        if not 88 <= offset <= len(data) - 8:
            raise AssetError("is a crate file whose table of contents lies outside it (cut off?)", file=file)
        return
    _check_text(data, file)
    if (depth := nesting_depth(data)) > limits.nesting:
        raise AssetError(f"has brackets nested {depth} deep, more than {limits.nesting}", file=file)


def _check_text(data: bytes, file: str) -> None:
    """That a text is UTF-8 without NUL, at which USD's own parser would cut names off."""
    at, problem = data.find(0), "has a NUL byte"
    if at < 0:
        try:
            data.decode()
            return
        except UnicodeDecodeError as error:
            at, problem = error.start, f"is not UTF-8: byte {data[error.start]:#04x}"
    raise AssetError(problem, file=file, line=data.count(b"\n", 0, at) + 1)


def nesting_depth(data: bytes) -> int:
    """The most brackets that stand open at once; those in texts count too."""
    steps = np.zeros(256, np.int64)
    for opening, closing in (b"{}", b"[]", b"()"):
        steps[opening], steps[closing] = 1, -1
    depth, start = 0, 0
    for at in range(0, len(data), 1 << 24):
        course = start + np.cumsum(steps[np.frombuffer(data[at : at + (1 << 24)], np.uint8)])
        depth, start = max(depth, int(course.max())), int(course[-1])
    return depth


def check_size(walk: LayerWalk) -> None:
    """Refuse files that grow beyond the cap when they are composed: layers that refer to layers, many times over.

    Counts the prims of each layer below what is referred to, and those of what these refer to; a prim that two layers
    describe counts twice, a variant whether chosen or not.

    Raises:
        AssetError: more than ten times the cap of prims, or references nested too deep.
    """
    known: dict[tuple[str, str], int] = {}
    limits, file = walk.limits, str(walk.root)

    def size(layer: str, prim: str, above: tuple) -> int:
        outline = walk.outlines.get(layer)
        if outline is None or (layer, prim) in above:  # a circle, which USD itself reports
            return 0
        if (layer, prim) not in known:
            if len(above) > limits.nesting:
                raise AssetError(f"has references nested deeper than {limits.nesting}", file=file)
            total = len(_below(outline.prims, prim))
            for _, target_layer, target in _below(outline.arcs, prim):
                found = walk.outlines.get(target_layer)
                target = target or (f"/{found.default}" if found else "")
                total += size(target_layer, target, (*above, (layer, prim)))
            if total > 10 * limits.prims:
                raise AssetError(f"grows to more than {limits.prims} prims when it is composed", file=file)
            known[layer, prim] = total
        return known[layer, prim]

    size(str(walk.root), "/", ())


def _below(entries: list, prim: str) -> list:
    """Those of sorted paths, or tuples that begin with one, that are at a prim or below it: "0" follows "/"."""

    def key(entry) -> str:
        return entry if isinstance(entry, str) else entry[0]

    if prim == "/":
        return entries
    own = entries[bisect_left(entries, prim, key=key) : bisect_right(entries, prim, key=key)]
    return own + entries[bisect_left(entries, f"{prim}/", key=key) : bisect_left(entries, f"{prim}0", key=key)]


def message_of(diagnostic) -> str:
    """What USD says, on one line; binary files can bring bytes into it that are no text."""
    try:
        return " ".join(diagnostic.commentary.split())
    except UnicodeDecodeError:
        return NO_WORDS


def unreadable(error, file: str) -> AssetError:
    """An error of USD as ours: its first message, without the places in USD's own source; the line of a text file."""
    message = next(filter(None, map(message_of, error.args)), "") or NO_WORDS
    at = re.search(r":(\d+):\d+: ", message)
    if at:
        rest = message[at.end() :]
        rest = "parse error" if "pxrInternal" in rest else rest
        return AssetError(f"cannot be read: {rest[:300]}", file=file, line=int(at[1]))
    return AssetError(f"cannot be read: {message[:300]}", file=file)


def _check_ending(name: str, endings: tuple[str, ...], file: str | None = None) -> None:
    if not name.lower().endswith(endings):
        raise AssetError(f"'{name}' is no USD file: it must end in {', '.join(endings)}", file=file)


def _named(error: AssetError, named_by: str) -> AssetError:
    return error if error.file == named_by else AssetError(str(error), file=named_by)
