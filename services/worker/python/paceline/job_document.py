"""Jobs as people write them, in files and in dicts, as messages of the API.

The rules are those of the command's job files (docs/cli.md): names of fields
in snake_case or camelCase, durations as "30s", "5m" or a number of seconds,
null for a field that is left out.
"""

from __future__ import annotations

import difflib
import math
import os
import typing

from paceline.api_errors import FieldViolation, InvalidArgument
from paceline.api_messages import new
from paceline.cluster_settings import read_small_file
from paceline.document_tree import (Mapping, Node, Scalar, Sequence,
                                    from_python, parse_documents)
from paceline.durations import format_duration, parse_duration
from paceline.field_kinds import is_map, is_message, is_repeated

# What can be read as a job.
JobSource = typing.Union[typing.Mapping[str, typing.Any], str,
                         "os.PathLike[str]"]

_VALUES_MAX = 10_000
# Messages whose JSON is a text.
_TEXT_MESSAGES = frozenset({
    "google.protobuf.Duration", "google.protobuf.Timestamp",
    "google.protobuf.FieldMask"})
_RANGES = {"int32": (-2**31, 2**31 - 1), "int64": (-2**63, 2**63 - 1),
           "uint32": (0, 2**32 - 1), "uint64": (0, 2**64 - 1)}
_WRONG = object()


def read_job(source: JobSource) -> typing.Any:
    """A v1.Job of a dict, or of the YAML or JSON file at a path. What only a
    coordinator writes is of no account to it.

    Raises InvalidArgument; its violations name the lines and the fields.
    """
    if isinstance(source, typing.Mapping):
        try:
            return _job_of(from_python(source))
        except ValueError as error:
            raise InvalidArgument(f"the job {error}") from None
    path = os.fspath(source)
    try:
        documents = [document for document in
                     parse_documents(read_small_file(path).decode())
                     # An empty document is what a trailing "---" leaves.
                     if not isinstance(document, Scalar)
                     or document.text is not None]
    except ValueError as error:  # A UnicodeDecodeError is one, too.
        raise InvalidArgument(f"{path}: {error}") from None
    if len(documents) != 1:
        raise InvalidArgument(
            f"{path}: has {len(documents)} jobs; a job has a spec with a model "
            "and data, and create_job() takes one")
    try:
        return _job_of(documents[0])
    except InvalidArgument as error:
        raise error.reworded(f"{path}: {error.message}") from None


def read_update(changes: typing.Mapping[str, typing.Any]
                ) -> typing.Tuple[typing.Any, typing.List["MapChange"]]:
    """An UpdateJobRequest with the fields that `changes` names, by dotted
    path ("spec.learning_rate"), and what is to change in labels and
    annotations ("labels.team"). None takes a field, or an entry, away.

    Raises InvalidArgument; its violations name the fields.
    """
    request = new("UpdateJobRequest")
    request.job.SetInParent()
    reader = _Reader()
    map_changes: typing.List[MapChange] = []
    for path, value in changes.items():
        change = _apply(reader, request, path, value)
        if change is not None:
            map_changes.append(change)
    reader.finish()
    return request, map_changes


class MapChange(typing.NamedTuple):
    """One entry of the labels or the annotations."""

    map: str  # "labels" or "annotations".
    key: str
    value: typing.Optional[str]  # None: it is taken away.


def _job_of(node: Node) -> typing.Any:
    reader = _Reader()
    job = new("Job")
    reader.fill(node, job, "")
    reader.finish()
    job.ClearField("etag")
    if not job.HasField("spec"):
        raise InvalidArgument(
            "spec: must be there, with a model and data",
            reason="INVALID_FIELD", violations=[FieldViolation(
                "spec", "must be there, with a model and data")])
    return job


def _apply(reader: "_Reader", request: typing.Any, typed: str,
           value: typing.Any) -> typing.Optional[MapChange]:
    message = request.job
    parts = typed.split(".")
    path: typing.List[str] = []
    for i, part in enumerate(parts):
        if message is None:
            reader.refuse(None, typed, f"{path[-1]} has no fields")
            return None
        field = _find(message.DESCRIPTOR, part)
        if field is None:
            reader.refuse(None, typed, _no_such_field(message.DESCRIPTOR, part))
            return None
        path.append(field.name)
        if is_map(field):
            # A key may have dots itself.
            return _map_change(reader, request, path, ".".join(parts[i + 1:]),
                               value)
        if i + 1 == len(parts):
            return _set(reader, request, message, field, path, value)
        message = (getattr(message, field.name)
                   if is_message(field) and not is_repeated(field) and
                   field.message_type.full_name not in _TEXT_MESSAGES
                   else None)
    return None


def _set(reader: "_Reader", request: typing.Any, message: typing.Any,
         field: typing.Any, path: typing.List[str],
         value: typing.Any) -> None:
    dotted = ".".join(path)
    if dotted in request.update_mask.paths:
        reader.refuse(None, dotted, "is set twice")
        return
    request.update_mask.paths.append(dotted)
    if value is None:
        return
    try:
        node = from_python(value)
    except ValueError as error:
        reader.refuse(None, dotted, str(error))
        return
    reader.fill_field(node, message, field, dotted)


def _map_change(reader: "_Reader", request: typing.Any,
                path: typing.List[str], key: str,
                value: typing.Any) -> typing.Optional[MapChange]:
    dotted = ".".join(path)
    if not key or len(path) > 1:
        reader.refuse(None, dotted,
                      f'name an entry, as "{path[-1]}.KEY": "VALUE", or None '
                      "to take it away")
        return None
    if dotted not in request.update_mask.paths:
        request.update_mask.paths.append(dotted)
    node = from_python(value)
    if not isinstance(node, Scalar):
        reader.refuse(None, f"{dotted}.{key}", "must be a text")
        return None
    return MapChange(path[0], key, node.text)


class _Reader:
    """Reads trees into messages, and collects all that is wrong."""

    def __init__(self) -> None:
        self._violations: typing.List[FieldViolation] = []
        self._values = 0

    def refuse(self, node: typing.Optional[Node], path: str,
               what: str) -> None:
        line = node.line if node is not None else 0
        if line:
            path = f"line {line}: {path}" if path else f"line {line}"
        self._violations.append(FieldViolation(path, what))

    def finish(self) -> None:
        """Raises InvalidArgument if anything was refused."""
        if self._violations:
            raise InvalidArgument(
                "; ".join(f"{v.field}: {v.description}" if v.field
                          else v.description for v in self._violations),
                reason="INVALID_FIELD", violations=self._violations)

    def fill(self, node: Node, message: typing.Any, path: str) -> None:
        if not isinstance(node, Mapping):
            self.refuse(node, path, "must have fields, as NAME: VALUE")
            return
        message.SetInParent()
        seen = set()
        for key, value in node.entries:
            name = _name_of(key)
            below = f"{path}.{name}" if path else name
            if not self._count(key, below):
                return
            field = _find(message.DESCRIPTOR, name)
            if field is None:
                self.refuse(key, below,
                            _no_such_field(message.DESCRIPTOR, name))
            elif field.name in seen:
                self.refuse(key, below, "is given twice")
            else:
                seen.add(field.name)
                if not (isinstance(value, Scalar) and value.text is None):
                    self.fill_field(value, message, field, below)

    def fill_field(self, node: Node, message: typing.Any, field: typing.Any,
                   path: str) -> None:
        if is_map(field):
            self._fill_map(node, message, field, path)
        elif is_repeated(field):
            self._fill_list(node, message, field, path)
        elif _is_plain_message(field):
            self.fill(node, getattr(message, field.name), path)
        else:
            value = self._scalar(node, field, path)
            if value is _WRONG:
                return
            if is_message(field):
                self._parse_text(node, getattr(message, field.name), value,
                                 path)
            else:
                setattr(message, field.name, value)

    def _fill_list(self, node: Node, message: typing.Any, field: typing.Any,
                   path: str) -> None:
        if not isinstance(node, Sequence):
            self.refuse(node, path, "must be a list, as [A, B]")
            return
        target = getattr(message, field.name)
        for i, item in enumerate(node.items):
            at = f"{path}[{i}]"
            if not self._count(item, at):
                return
            if _is_plain_message(field):
                self.fill(item, target.add(), at)
                continue
            value = self._scalar(item, field, at)
            if value is not _WRONG:
                target.append(value)

    def _fill_map(self, node: Node, message: typing.Any, field: typing.Any,
                  path: str) -> None:
        if not isinstance(node, Mapping):
            self.refuse(node, path, "must have entries, as KEY: VALUE")
            return
        target = getattr(message, field.name)
        value_field = field.message_type.fields_by_name["value"]
        for key, value in node.entries:
            name = _name_of(key)
            below = f"{path}.{name}"
            if not self._count(key, below):
                return
            if name in target:
                self.refuse(key, below, "is given twice")
                continue
            read = self._scalar(value, value_field, below)
            if read is not _WRONG:
                target[name] = read

    def _scalar(self, node: Node, field: typing.Any, path: str) -> typing.Any:
        if not isinstance(node, Scalar) or node.text is None:
            self.refuse(node, path, f"must be {_expected(field)}")
            return _WRONG
        value = _read_text(node.text, field)
        if value is _WRONG:
            self.refuse(node, path,
                        f'"{node.text}" is not {_expected(field)}')
        return value

    def _parse_text(self, node: Node, message: typing.Any, text: str,
                    path: str) -> None:
        try:
            message.FromJsonString(text)
        except ValueError as error:
            self.refuse(node, path, str(error))

    def _count(self, node: Node, path: str) -> bool:
        self._values += 1
        if self._values == _VALUES_MAX + 1:
            self.refuse(node, path,
                        f"there are more than {_VALUES_MAX} values")
        return self._values <= _VALUES_MAX


def _name_of(key: Node) -> str:
    return key.text or "" if isinstance(key, Scalar) else "?"


def _find(descriptor: typing.Any, name: str) -> typing.Any:
    for field in descriptor.fields:
        if name in (field.name, _camel(field.name)):
            return field
    return None


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def _no_such_field(descriptor: typing.Any, name: str) -> str:
    names = [field.name for field in descriptor.fields]
    near = difflib.get_close_matches(name, names, 1, 0.7)
    if near:
        return f"there is no such field; did you mean {near[0]}?"
    return f"there is no such field; there are {', '.join(names)}"


def _is_plain_message(field: typing.Any) -> bool:
    return (is_message(field) and
            field.message_type.full_name not in _TEXT_MESSAGES)


def _is_duration(field: typing.Any) -> bool:
    return (is_message(field) and
            field.message_type.full_name == "google.protobuf.Duration")


def _type_name(field: typing.Any) -> str:
    kinds = {field.CPPTYPE_INT32: "int32", field.CPPTYPE_INT64: "int64",
             field.CPPTYPE_UINT32: "uint32", field.CPPTYPE_UINT64: "uint64",
             field.CPPTYPE_DOUBLE: "number", field.CPPTYPE_FLOAT: "number",
             field.CPPTYPE_BOOL: "bool", field.CPPTYPE_ENUM: "enum"}
    return kinds.get(field.cpp_type, "text")


def _expected(field: typing.Any) -> str:
    kind = _type_name(field)
    if kind == "enum":
        return "one of " + ", ".join(
            value.name for value in field.enum_type.values if value.number)
    if _is_duration(field):
        return "a duration such as 30s, 5m or 1.5h"
    return {"int32": "a whole number", "int64": "a whole number",
            "uint32": "a whole number that is not negative",
            "uint64": "a whole number that is not negative",
            "number": "a number", "bool": "true or false"}.get(kind, "a text")


def _read_text(text: str, field: typing.Any) -> typing.Any:
    kind = _type_name(field)
    if kind in _RANGES:
        return _read_integer(text, *_RANGES[kind])
    if kind == "number":
        return _read_number(text)
    if kind == "bool":
        return {"true": True, "false": False}.get(text.lower(), _WRONG)
    if kind == "enum":
        for value in field.enum_type.values:
            if value.name.lower() == text.lower():
                return value.number
        return _WRONG
    if _is_duration(field):
        try:
            return format_duration(parse_duration("", text))
        except ValueError:
            return _WRONG
    return text


def _read_integer(text: str, least: int, most: int) -> typing.Any:
    try:
        # Python's own "1_000" is no number to the command.
        value = _WRONG if "_" in text else int(text)
    except ValueError:
        return _WRONG
    return value if value is not _WRONG and least <= value <= most else _WRONG


def _read_number(text: str) -> typing.Any:
    try:
        value = _WRONG if "_" in text else float(text)
    except ValueError:
        return _WRONG
    return value if value is not _WRONG and math.isfinite(value) else _WRONG
