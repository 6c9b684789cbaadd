"""Checkpoints as dicts of tensors, and models as checkpoints.

    weights = paceline.load_checkpoint("/srv/paceline/9f.../auto-12-0001")
    model.load_state_dict(weights, strict=False)

    paceline.save_initial(model, "/srv/paceline/pretrained/resnet18")
    # A job with initial_weights: /srv/paceline/pretrained/resnet18 begins so.

Nothing is ever unpickled, and no further package is needed: torch for its
tensors, or numpy for arrays.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import hashlib
import json
import os
import struct
import sys
import typing

from paceline import checkpoint_manifest as manifest_format
from paceline.checkpoint_manifest import (Block, DamagedManifest, File,
                                          Manifest, NewerManifest, Tensor)
from paceline.safetensors_file import (DamagedFile, Entry, SafetensorsReader,
                                       format_header, open_plain_file)

Path = typing.Union[str, "os.PathLike[str]"]

# The checkpoint's own file, in save_initial().
_FILE = "server-0-of-1.safetensors"
# Of batch normalization, by the names that torch gives them.
_STATISTICS = (".running_mean", ".running_var")


class CheckpointError(Exception):
    """A checkpoint that is missing or damaged, or cannot be written. The text
    says what is wrong with which file."""


def load_checkpoint(path: Path, *, as_numpy: bool = False
                    ) -> typing.Dict[str, typing.Any]:
    """The weights and statistics of a checkpoint by name, in forward order,
    without the optimizer's state: what `load_state_dict()` takes.

    `path` is a checkpoint's folder (Checkpoint.directory; written by any
    number of servers) or one .safetensors file, as `paceline checkpoint
    export` writes it. The values are torch tensors on the CPU, or numpy
    arrays with `as_numpy`, in their own memory and of the type that was
    saved; numpy has no bf16: that becomes float32.

    Sizes, digests and bounds are checked as it is read. Raises
    CheckpointError if anything is missing, damaged, or from a newer paceline.
    """
    path = os.fspath(path)
    _check_not_in_bucket(path, "`paceline checkpoint export` writes one there "
                         "as a file of this machine")
    _check_byte_order()
    make = _numpy_maker() if as_numpy else _torch_maker()
    with _as_checkpoint_errors():
        if os.path.isdir(path):
            return _load_folder(path, make)
        return _load_file(path, make)


def save_initial(model: typing.Any, folder: Path) -> None:
    """Writes a checkpoint from which a job begins: a job's spec names the
    folder as `initial_weights`.

    `model` is a torch module, or a dict of names and tensors (or arrays), in
    forward order. Its floating-point tensors are written, as float32; whole
    numbers, such as num_batches_tracked, are not what servers hold and are
    left out. A tensor that has two names (tied weights) is written under its
    first, as it is trained.

    Coordinator and servers must see the folder under one absolute path, on a
    shared disk; with `--checkpoints` given to the servers it lies in there.

    Raises CheckpointError if the folder holds a checkpoint already or cannot
    be written, or a value is not finite.
    """
    arrays = _named_arrays(model)
    folder = os.fspath(folder)
    _check_not_in_bucket(folder, "write it to a folder, and copy what is in "
                         "that to the bucket, manifest.json last")
    _check_byte_order()
    with _as_checkpoint_errors():
        if os.path.exists(os.path.join(folder, manifest_format.NAME)):
            raise CheckpointError(
                f"{folder} holds a checkpoint already: choose another folder")
        os.makedirs(folder, exist_ok=True)
        _write(folder, arrays)


# What makes a tensor of bytes: of a type of safetensors, and a shape.
_Maker = typing.Callable[[bytearray, str, typing.Tuple[int, ...]], typing.Any]


def _check_not_in_bucket(path: str, instead: str) -> None:
    if path.startswith("s3:"):
        raise CheckpointError(
            f"{path}: Python reads and writes no buckets; {instead}")


def _check_byte_order() -> None:
    if sys.byteorder != "little":
        raise CheckpointError("checkpoints are little-endian, and this "
                              "machine is not")


@contextlib.contextmanager
def _as_checkpoint_errors() -> typing.Iterator[None]:
    try:
        yield
    except (DamagedFile, DamagedManifest, NewerManifest) as error:
        raise CheckpointError(str(error)) from None
    except OSError as error:
        raise CheckpointError(
            f"{error.filename}: {error.strerror}") from error


def _load_folder(folder: str, make: _Maker) -> typing.Dict[str, typing.Any]:
    manifest = _read_manifest(folder)
    _check_sizes(folder, manifest)
    by_file: typing.Dict[int, typing.List[Block]] = {
        i: [] for i in range(len(manifest.files))}
    for block in manifest.blocks:
        by_file[block.file].append(block)
    buffers = [bytearray(4 * tensor.size) for tensor in manifest.tensors]
    for index, blocks in by_file.items():
        _read_shard(folder, manifest, index, blocks, buffers)
    return {tensor.name: make(buffer, "F32", tensor.shape)
            for tensor, buffer in zip(manifest.tensors, buffers)}


def _read_manifest(folder: str) -> Manifest:
    path = os.path.join(folder, manifest_format.NAME)
    try:
        with open_plain_file(path) as file:
            text = file.read(manifest_format.BYTES_MAX + 1)
    except FileNotFoundError:
        raise CheckpointError(f"{folder} is no complete checkpoint: it has no "
                              f"{manifest_format.NAME}") from None
    if len(text) > manifest_format.BYTES_MAX:
        raise CheckpointError(f"{path}: it is too large for a manifest")
    try:
        manifest = manifest_format.parse_manifest(text)
    except (DamagedManifest, NewerManifest) as error:
        raise CheckpointError(f"{path}: {error}") from None
    return manifest


def _check_sizes(folder: str, manifest: Manifest) -> None:
    """So memory is taken for what files hold, not for what a manifest
    promises."""
    for file in manifest.files:
        path = os.path.join(folder, file.name)
        try:
            size = os.stat(path).st_size
        except FileNotFoundError:
            raise CheckpointError(f"{path} is missing") from None
        if size != file.bytes:
            raise CheckpointError(f"{path} has {size} bytes; {file.bytes} "
                                  "were written")
    promised = sum(4 * tensor.size for tensor in manifest.tensors)
    if promised > sum(file.bytes for file in manifest.files):
        raise CheckpointError(f"{folder}: its tensors take {promised} bytes, "
                              "more than its files have")


def _read_shard(folder: str, manifest: Manifest, index: int,
                blocks: typing.Sequence[Block],
                buffers: typing.Sequence[bytearray]) -> None:
    file = manifest.files[index]
    path = os.path.join(folder, file.name)
    with SafetensorsReader(path) as reader:
        entries = {entry.name: entry for entry in reader.entries}
        places = {}
        for block in blocks:
            name = manifest_format.weights_entry(
                manifest.tensors[block.tensor].name, block.offset)
            _check_entry(path, entries.get(name), name, block)
            places[name] = memoryview(buffers[block.tensor])[
                4 * block.offset:4 * (block.offset + block.size)]
        found = reader.read_all(places)
    if found != file.sha256:
        raise CheckpointError(f"{path} has changed since it was written: its "
                              f"SHA-256 is {found}, not {file.sha256}")


def _check_entry(path: str, entry: typing.Optional[Entry], name: str,
                 block: Block) -> None:
    if entry is None:
        raise CheckpointError(f'{path}: "{name}" is missing')
    if entry.dtype != "F32" or entry.shape != (block.size,):
        raise CheckpointError(f'{path}: "{name}" is not F32 [{block.size}], '
                              "as the manifest says")


def _load_file(path: str, make: _Maker) -> typing.Dict[str, typing.Any]:
    with SafetensorsReader(path) as reader:
        buffers = {entry.name: bytearray(entry.end - entry.begin)
                   for entry in reader.entries}
        reader.read_all({name: memoryview(buffer)
                         for name, buffer in buffers.items()})
        return {entry.name: make(buffers[entry.name], entry.dtype, entry.shape)
                for entry in reader.entries}


def _torch_maker() -> _Maker:
    try:
        import torch
    except ImportError as error:
        raise ImportError("load_checkpoint() gives torch tensors: install "
                          "torch, or say as_numpy=True") from error
    types = {"BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8,
             "I16": torch.int16, "F16": torch.float16, "BF16": torch.bfloat16,
             "I32": torch.int32, "F32": torch.float32, "F64": torch.float64,
             "I64": torch.int64}

    def make(data: bytearray, dtype: str,
             shape: typing.Tuple[int, ...]) -> typing.Any:
        if dtype not in types:
            raise CheckpointError(f"torch has no tensors of {dtype}")
        if not data:
            return torch.empty(shape, dtype=types[dtype])
        return torch.frombuffer(data, dtype=types[dtype]).reshape(shape)

    return make


def _numpy_maker() -> _Maker:
    try:
        import numpy
    except ImportError as error:
        raise ImportError("load_checkpoint(as_numpy=True) needs numpy"
                          ) from error
    types = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "U16": "<u2",
             "F16": "<f2", "I32": "<i4", "U32": "<u4", "F32": "<f4",
             "F64": "<f8", "I64": "<i8", "U64": "<u8"}

    def make(data: bytearray, dtype: str,
             shape: typing.Tuple[int, ...]) -> typing.Any:
        if dtype == "BF16":
            # The upper half of a float32.
            wide = numpy.frombuffer(data, "<u2").astype("<u4") << 16
            return wide.view("<f4").reshape(shape)
        if dtype not in types:
            raise CheckpointError(f"numpy has no arrays of {dtype}")
        return numpy.frombuffer(data, types[dtype]).reshape(shape)

    return make


class _Array(typing.NamedTuple):
    """A tensor to be written."""

    name: str
    shape: typing.Tuple[int, ...]
    data: memoryview  # Its float32s, as bytes.
    finite: bool
    owner: typing.Any  # Of the memory.


def _named_arrays(model: typing.Any) -> typing.List[_Array]:
    state = model
    if not isinstance(model, typing.Mapping):
        if not hasattr(model, "state_dict"):
            raise TypeError("save_initial() takes a torch module or a dict of "
                            f"names and tensors, not {type(model).__name__}")
        state = model.state_dict()
    arrays = []
    seen = set()
    for name, value in state.items():
        tensor = _is_torch(value)
        place = ((value.data_ptr(), tuple(value.shape)) if tensor
                 else (id(value), None))
        array = (_from_torch if tensor else _from_numpy)(name, value)
        if array is None or place in seen:
            continue
        if not array.data.nbytes:
            raise CheckpointError(f'"{name}" has no elements')
        if not array.finite:
            raise CheckpointError(f'"{name}" has a value that is not finite')
        seen.add(place)
        arrays.append(array)
    if not arrays:
        raise CheckpointError("there is no floating-point tensor to save")
    return arrays


def _is_torch(value: typing.Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_torch(name: str, tensor: typing.Any) -> typing.Optional[_Array]:
    if not tensor.is_floating_point():
        return None
    flat = tensor.detach().to("cpu").float().contiguous().reshape(-1)
    # Not flat.numpy(): there may be no numpy.
    data = memoryview((ctypes.c_ubyte * (4 * flat.numel())).from_address(
        flat.data_ptr())).cast("B") if flat.numel() else memoryview(b"")
    return _Array(name, tuple(tensor.shape), data,
                  bool(flat.isfinite().all()), flat)


def _from_numpy(name: str, value: typing.Any) -> typing.Optional[_Array]:
    if not hasattr(value, "dtype") or not hasattr(value, "astype"):
        raise TypeError(f'"{name}" is no tensor and no array, but '
                        f"{type(value).__name__}")
    if value.dtype.kind != "f":
        return None
    import numpy
    flat = numpy.ascontiguousarray(value, "<f4").reshape(-1)
    return _Array(name, tuple(value.shape), memoryview(flat).cast("B"),
                  bool(numpy.isfinite(flat).all()), flat)


def _write(folder: str, arrays: typing.Sequence[_Array]) -> None:
    tensors = tuple(Tensor(array.name, array.shape,
                           array.name.endswith(_STATISTICS))
                    for array in arrays)
    blocks = tuple(Block(i, i, 0, tensor.size, 0)
                   for i, tensor in enumerate(tensors))
    written = _write_shard(folder, tensors, arrays)
    manifest = Manifest(tensors, blocks, (written,))
    manifest_format.check_manifest(manifest)
    _write_durably(os.path.join(folder, manifest_format.NAME),
                   [_manifest_text(manifest)])


def _write_shard(folder: str, tensors: typing.Sequence[Tensor],
                 arrays: typing.Sequence[_Array]) -> File:
    # The 8-byte entries come first, so that everything is aligned.
    names = [manifest_format.weights_entry(tensor.name, 0)
             for tensor in tensors]
    header = format_header(
        [(f"{name}/steps", "I64", [1]) for name in names] +
        [(name, "F32", [tensor.size]) for name, tensor in zip(names, tensors)],
        {"format": "paceline-shard"})
    pieces = [header, struct.pack("<q", 0) * len(names),
              *(array.data for array in arrays)]
    return _write_durably(os.path.join(folder, _FILE), pieces)


def _write_durably(path: str, pieces: typing.Iterable[typing.Any]) -> File:
    """The file is there whole or not at all, also after a crash."""
    temporary = f"{path}.tmp-{os.getpid()}"
    sha256 = hashlib.sha256()
    size = 0
    try:
        with open(temporary, "wb") as file:
            for piece in pieces:
                file.write(piece)
                sha256.update(piece)
                size += len(piece)  # Of bytes alone.
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # Some network file systems cannot.
            os.fsync(folder)
    finally:
        os.close(folder)
    return File(os.path.basename(path), size, sha256.hexdigest())


def _manifest_text(manifest: Manifest) -> bytes:
    now = datetime.datetime.now(datetime.timezone.utc)
    document = {
        "format": manifest_format.FORMAT,
        "format_version": manifest_format.VERSION,
        "paceline_version": "", "job": "", "spec": {},
        "create_time": now.strftime("%Y-%m-%dT%H:%M:%S+00:00"),
        "seconds": 0.0, "version": 0, "version_at_completion": 0,
        "samples": 0, "exact": True, "position": {}, "optimizer_slots": [],
        "tensors": [{"name": tensor.name, "shape": list(tensor.shape),
                     "statistic": tensor.statistic}
                    for tensor in manifest.tensors],
        "blocks": [{"id": block.id, "tensor": block.tensor,
                    "offset": block.offset, "size": block.size,
                    "file": block.file} for block in manifest.blocks],
        "files": [{"name": file.name, "bytes": file.bytes,
                   "sha256": file.sha256} for file in manifest.files],
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
