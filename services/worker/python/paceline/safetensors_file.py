"""Files of the safetensors format: a header in JSON, then the tensors' bytes.

    8 bytes   N, little endian: the header's size
    N bytes   {"NAME": {"dtype": "F32", "shape": [2, 3],
              "data_offsets": [begin, end]}, ..., "__metadata__": {...}}
    the rest  little endian, row-major; the offsets count from here

Tensors lie one after the other: no overlap, no hole, nothing behind. Nothing
here executes what it reads.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
import typing

HEADER_MAX = 100_000_000  # Bytes.
_PREFIX = 8
_ALIGNMENT = 8
_METADATA = "__metadata__"
_CHUNK = 1 << 20
# Bytes of one element.
ELEMENT_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "I16": 2,
    "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "F64": 8,
    "I64": 8, "U64": 8}


class DamagedFile(ValueError):
    """A file that is not what the format, or its checkpoint, says."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A tensor of a file."""

    name: str
    dtype: str  # "F32", ...
    shape: typing.Tuple[int, ...]  # None: one element.
    begin: int = 0  # Where its bytes lie within the data.
    end: int = 0


def open_plain_file(path: str) -> typing.BinaryIO:
    """Raises FileNotFoundError and the like; DamagedFile for what is no plain
    file."""
    # Opening a pipe that nobody writes to must not block.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC |
                             os.O_NONBLOCK), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise DamagedFile(f"{path}: this is no plain file")


class SafetensorsReader:
    """Reads one file from front to back, once: its header when it is opened,
    then read_all(). A context manager."""

    def __init__(self, path: str) -> None:
        """Raises OSError, and DamagedFile for everything that the format
        forbids."""
        self.path = path
        self._file = open_plain_file(path)
        try:
            self.size = os.fstat(self._file.fileno()).st_size
            self._sha256 = hashlib.sha256()
            self.entries = self._read_header()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "SafetensorsReader":
        return self

    def __exit__(self, *_: typing.Any) -> None:
        self._file.close()

    def read_all(self, places: typing.Mapping[str, memoryview]) -> str:
        """Fills the places, one for each tensor that is wanted, by its name,
        and gives the SHA-256 of the whole file in hexadecimal.

        REQUIRES: a place has as many bytes as its tensor.
        """
        for entry in self.entries:
            place = places.get(entry.name)
            left = entry.end - entry.begin
            at = 0
            while left > 0:
                size = min(left, _CHUNK)
                if place is not None:
                    part = place[at:at + size]
                    self._fill(part)
                    self._sha256.update(part)
                else:
                    self._sha256.update(self._take(size))
                at += size
                left -= size
        return self._sha256.hexdigest()

    def _read_header(self) -> typing.List[Entry]:
        if self.size < _PREFIX:
            raise self._damaged("it has no header: it has been cut off")
        prefix = self._take(_PREFIX)
        size = int.from_bytes(prefix, "little")
        if size > HEADER_MAX:
            raise self._damaged(f"it would have {size} bytes; at most "
                                f"{HEADER_MAX} are allowed")
        if size > self.size - _PREFIX:
            raise self._damaged(f"it would have {size} bytes, more than the "
                                "file: it has been cut off")
        text = self._take(size)
        self._sha256.update(prefix)
        self._sha256.update(text)
        try:
            return parse_header(text, self.size - _PREFIX - size)
        except DamagedFile as error:
            raise self._damaged(str(error)) from None

    def _take(self, size: int) -> bytes:
        taken = self._file.read(size)
        if len(taken) != size:
            raise self._damaged("the file ends before its size says")
        return taken

    def _fill(self, part: memoryview) -> None:
        if self._file.readinto(part) != len(part):  # type: ignore[attr-defined]
            raise self._damaged("the file ends before its size says")

    def _damaged(self, why: str) -> DamagedFile:
        return DamagedFile(f"{self.path}: safetensors header: {why}")


def parse_header(text: bytes, data_bytes: int) -> typing.List[Entry]:
    """The tensors, by where they begin. Raises DamagedFile."""
    if not text.startswith(b"{"):
        raise DamagedFile("it does not begin with {")
    try:
        header = json.loads(text.decode(), object_pairs_hook=_no_doubles,
                            parse_constant=_no_constant)
    except RecursionError:
        raise DamagedFile("it is nested too deeply") from None
    except DamagedFile:
        raise
    except ValueError as error:  # No JSON, or no UTF-8.
        raise DamagedFile(f"it is no JSON: {error}") from None
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(
            isinstance(value, str) for value in metadata.values()):
        raise DamagedFile(f"{_METADATA} is not texts")
    entries = [_parse_entry(name, fields) for name, fields in header.items()]
    entries.sort(key=lambda entry: (entry.begin, entry.end, entry.name))
    _check_placement(entries, data_bytes)
    return entries


def format_header(entries: typing.Sequence[typing.Tuple[
        str, str, typing.Sequence[int]]],
        metadata: typing.Mapping[str, str]) -> bytes:
    """What stands before the bytes of tensors (name, dtype, shape) that lie
    one after the other."""
    header: typing.Dict[str, typing.Any] = {_METADATA: dict(metadata)}
    end = 0
    for name, dtype, shape in entries:
        if name in header:
            raise ValueError(f'"{name}" is named twice or reserved')
        begin, end = end, end + _bytes_of(dtype, shape)
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"),
                      ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    if len(text) > HEADER_MAX:
        raise ValueError(f"{len(entries)} tensors need a header of {len(text)} "
                         f"bytes; the format allows {HEADER_MAX}")
    return len(text).to_bytes(_PREFIX, "little") + text


def _bytes_of(dtype: str, shape: typing.Sequence[int]) -> int:
    size = ELEMENT_BYTES[dtype]
    for extent in shape:
        size *= extent
    return size


def _no_doubles(pairs: typing.List[typing.Tuple[str, typing.Any]]
                ) -> typing.Dict[str, typing.Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DamagedFile("a name is there twice")
    return found


def _no_constant(text: str) -> typing.NoReturn:
    raise DamagedFile(f"{text} stands where it does not belong")


def _is_size(value: typing.Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool) and
            0 <= value < 2**64)


def _parse_entry(name: str, fields: typing.Any) -> Entry:
    def damaged(why: str) -> DamagedFile:
        return DamagedFile(f'"{name}": {why}')

    if not isinstance(fields, dict) or fields.keys() != {
            "dtype", "shape", "data_offsets"}:
        raise damaged("it needs dtype, shape and data_offsets, and nothing "
                      "else")
    dtype, shape, offsets = (fields["dtype"], fields["shape"],
                             fields["data_offsets"])
    if not isinstance(dtype, str) or dtype not in ELEMENT_BYTES:
        raise damaged(f"the dtype {dtype!r} is unknown")
    if not isinstance(shape, list) or not all(map(_is_size, shape)):
        raise damaged("its shape is no list of sizes")
    if (not isinstance(offsets, list) or len(offsets) != 2 or
            not all(map(_is_size, offsets))):
        raise damaged("its data_offsets are not two sizes")
    return Entry(name, dtype, tuple(shape), *offsets)


def _check_placement(entries: typing.Sequence[Entry],
                     data_bytes: int) -> None:
    expected = 0
    for entry in entries:
        if entry.end - entry.begin != _bytes_of(entry.dtype, entry.shape):
            raise DamagedFile(
                f'"{entry.name}" lies at [{entry.begin}, {entry.end}), which '
                f"is not the size of {entry.dtype} {list(entry.shape)}")
        if entry.begin != expected:
            why = ("tensors overlap" if entry.begin < expected
                   else "there is a hole")
            raise DamagedFile(f'"{entry.name}" begins at {entry.begin}, where '
                              f"{expected} is expected: {why}")
        expected = entry.end
    if expected != data_bytes:
        why = ("it has been cut off" if expected > data_bytes
               else "something is appended")
        raise DamagedFile(f"its tensors take {expected} bytes, the file has "
                          f"{data_bytes}: {why}")
