"""The manifest of a checkpoint: what it is of, and which file holds what.

A checkpoint is a folder with manifest.json and a safetensors file of each
server. The manifest is written last: where there is one, the checkpoint is
whole. The format is that of common/checkpoint/manifest.h.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing

NAME = "manifest.json"
FORMAT = "paceline-checkpoint"
VERSION = 1
BYTES_MAX = 512 << 20
_NAME_MAX = 1024  # Bytes.
_ELEMENTS_MAX = 1 << 38  # A terabyte of fp32.
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,187}\.safetensors\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class DamagedManifest(ValueError):
    """A manifest that says what cannot be."""


class NewerManifest(ValueError):
    """A newer paceline has written it."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """Of the model, in forward order."""

    name: str
    shape: typing.Tuple[int, ...]
    statistic: bool  # Averaged (batch norm), not optimized.

    @property
    def size(self) -> int:
        """In elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size


@dataclasses.dataclass(frozen=True)
class Block:
    """A run of one tensor's elements, and which file holds it."""

    id: int
    tensor: int  # Index.
    offset: int  # First element, within the tensor.
    size: int  # In elements.
    file: int  # Index.


@dataclasses.dataclass(frozen=True)
class File:
    name: str
    bytes: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Manifest:
    tensors: typing.Tuple[Tensor, ...]
    blocks: typing.Tuple[Block, ...]
    files: typing.Tuple[File, ...]


def weights_entry(tensor: str, offset: int) -> str:
    """Where a block's weights lie in its file."""
    return f"{tensor}/{offset}"


def parse_manifest(text: bytes) -> Manifest:
    """Raises DamagedManifest, naming the field, and NewerManifest."""
    try:
        document = json.loads(text.decode())
    except (ValueError, RecursionError):
        raise DamagedManifest("it is not JSON: damaged or cut off") from None
    fields = _Fields(document, "")
    if fields.text("format") != FORMAT:
        raise DamagedManifest(f'format is not "{FORMAT}"')
    version = fields.number("format_version")
    if version > VERSION:
        raise NewerManifest(
            f"the checkpoint has format version {version}; this package knows "
            f"{VERSION}: use a newer paceline")
    if version < 1:
        raise DamagedManifest("format_version is not above 0")
    manifest = Manifest(
        tuple(Tensor(f.text("name"), f.shape("shape"), f.truth("statistic"))
              for f in fields.objects("tensors")),
        tuple(Block(f.number("id"), f.number("tensor"), f.number("offset"),
                    f.number("size"), f.number("file"))
              for f in fields.objects("blocks")),
        tuple(File(f.text("name"), f.number("bytes"), f.text("sha256"))
              for f in fields.objects("files")))
    check_manifest(manifest)
    return manifest


def check_manifest(manifest: Manifest) -> None:
    """Raises DamagedManifest unless names are plain and used once, digests
    are digests, and the blocks cover every tensor exactly."""
    _check_tensors(manifest.tensors)
    _check_files(manifest.files)
    _check_blocks(manifest)
    _check_coverage(manifest)


class _Fields:
    """The typed fields of one JSON object."""

    def __init__(self, value: typing.Any, path: str) -> None:
        if not isinstance(value, dict):
            raise DamagedManifest(f"{path or 'it '}is not an object")
        self._object = value
        self._path = path

    def text(self, key: str) -> str:
        value = self._get(key)
        if not isinstance(value, str):
            raise self._wrong(key, "is not a text")
        return value

    def truth(self, key: str) -> bool:
        value = self._get(key)
        if not isinstance(value, bool):
            raise self._wrong(key, "is neither true nor false")
        return value

    def number(self, key: str) -> int:
        return self._number(self._get(key), key)

    def shape(self, key: str) -> typing.Tuple[int, ...]:
        return tuple(self._number(value, key) for value in self._list(key))

    def objects(self, key: str) -> typing.Iterator["_Fields"]:
        for i, value in enumerate(self._list(key)):
            yield _Fields(value, f"{self._path}{key}[{i}].")

    def _list(self, key: str) -> typing.List[typing.Any]:
        value = self._get(key)
        if not isinstance(value, list):
            raise self._wrong(key, "is not an array")
        return value

    def _number(self, value: typing.Any, key: str) -> int:
        if (not isinstance(value, int) or isinstance(value, bool) or
                not 0 <= value < 2**63):
            raise self._wrong(key, "is not a whole number in range")
        return value

    def _get(self, key: str) -> typing.Any:
        if key not in self._object:
            raise self._wrong(key, "is missing")
        return self._object[key]

    def _wrong(self, key: str, why: str) -> DamagedManifest:
        return DamagedManifest(f"{self._path}{key} {why}")


def _check_tensors(tensors: typing.Sequence[Tensor]) -> None:
    seen = set()
    for i, tensor in enumerate(tensors):
        if not 1 <= len(tensor.name.encode(errors="replace")) <= _NAME_MAX:
            raise DamagedManifest(
                f"tensors[{i}].name has not 1 to {_NAME_MAX} characters")
        if tensor.name in seen:
            raise DamagedManifest(f"tensors[{i}].name is another tensor's too")
        seen.add(tensor.name)
        if min(tensor.shape, default=1) < 1 or tensor.size > _ELEMENTS_MAX:
            raise DamagedManifest(f"tensors[{i}].shape is impossible")


def _check_files(files: typing.Sequence[File]) -> None:
    seen = set()
    for i, file in enumerate(files):
        # So nothing outside the folder can be named.
        if not _FILE_NAME.match(file.name):
            raise DamagedManifest(
                f"files[{i}].name: a checkpoint's file needs a plain name of "
                'letters, digits, - and _, such as '
                '"server-0-of-1.safetensors", without a folder')
        if file.name in seen:
            raise DamagedManifest(f"files[{i}].name is another file's too")
        seen.add(file.name)
        if not _DIGEST.match(file.sha256):
            raise DamagedManifest(
                f"files[{i}].sha256 is not 64 hexadecimal digits")


def _check_blocks(manifest: Manifest) -> None:
    ids = set()
    for i, block in enumerate(manifest.blocks):
        if block.tensor >= len(manifest.tensors):
            raise DamagedManifest(
                f"blocks[{i}].tensor is not the index of a tensor")
        if block.file >= len(manifest.files):
            raise DamagedManifest(
                f"blocks[{i}].file is not the index of a file")
        size = manifest.tensors[block.tensor].size
        if not (1 <= block.size and block.offset + block.size <= size):
            raise DamagedManifest(f"blocks[{i}] does not lie within its tensor")
        if block.id in ids:
            raise DamagedManifest(f"blocks[{i}].id is another block's too")
        ids.add(block.id)


def _check_coverage(manifest: Manifest) -> None:
    covered = [0] * len(manifest.tensors)
    for block in sorted(manifest.blocks,
                        key=lambda block: (block.tensor, block.offset)):
        if block.offset != covered[block.tensor]:
            break
        covered[block.tensor] += block.size
    for tensor, elements in zip(manifest.tensors, covered):
        if elements != tensor.size:
            raise DamagedManifest(
                f'blocks do not cover the tensor "{tensor.name}" exactly: at '
                f"element {elements}")
    if sum(covered) != sum(block.size for block in manifest.blocks):
        raise DamagedManifest("blocks overlap")
