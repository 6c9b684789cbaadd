"""The messages and methods of the admin API, from their descriptors.

The descriptors are made from the protos when the package is built
(make_messages.py). They are loaded into a pool of their own: the names in
google.rpc are there a second time in any process that also uses a client of
Google's, and one pool takes a name only once.
"""

from __future__ import annotations

import functools
import pathlib
import typing

try:
    import grpc
    from google.protobuf import (descriptor_pb2, descriptor_pool,
                                 message_factory)
except ImportError as error:
    raise ImportError(
        "paceline.Client needs grpcio and protobuf: install paceline[client] "
        "(Debian: python3-grpcio, python3-protobuf)") from error

from paceline.api_errors import ApiError, FieldViolation, error_class, one_line

DESCRIPTORS = (pathlib.Path(__file__).resolve().parent / "_generated" /
               "api.binpb")


@functools.lru_cache(maxsize=None)
def _pool() -> typing.Any:
    try:
        data = DESCRIPTORS.read_bytes()
    except FileNotFoundError as error:
        raise ImportError(
            f"{DESCRIPTORS} is missing: this is a source tree, run "
            "services/worker/python/make_messages.py once, or install the "
            "package with pip") from error
    pool = descriptor_pool.DescriptorPool()
    # Every file stands behind those that it imports.
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


@functools.lru_cache(maxsize=None)
def _factory() -> typing.Any:
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass
    return message_factory.MessageFactory(_pool()).GetPrototype


@functools.lru_cache(maxsize=None)
def message_class(name: str) -> typing.Any:
    """The class of a message by its full name, "paceline.v1.Job"."""
    return _factory()(_pool().FindMessageTypeByName(name))


def new(name: str, /, **fields: typing.Any) -> typing.Any:
    """A message of paceline.v1, by its short name."""
    return message_class(f"paceline.v1.{name}")(**fields)


class Method(typing.NamedTuple):
    """What a channel needs to know of a method."""

    path: str  # "/paceline.v1.JobService/GetJob"
    serialize: typing.Callable[[typing.Any], bytes]
    deserialize: typing.Callable[[bytes], typing.Any]


@functools.lru_cache(maxsize=None)
def find_method(service: str, name: str) -> Method:
    """A method of a service of paceline.v1."""
    found = _pool().FindServiceByName(f"paceline.v1.{service}")
    method = found.methods_by_name[name]
    request = message_class(method.input_type.full_name)
    response = message_class(method.output_type.full_name)
    return Method(f"/{found.full_name}/{name}", request.SerializeToString,
                  response.FromString)


def from_rpc(error: grpc.RpcError) -> ApiError:
    """The typed error of what a call ended with."""
    status = None
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = _parsed("google.rpc.Status", value)
    return _with_details(error_class(error.code().name), error.details() or "",
                         status.details if status is not None else ())


def _parsed(name: str, data: bytes) -> typing.Any:
    """Nothing if it cannot be read: then there are no details."""
    from google.protobuf.message import DecodeError
    try:
        return message_class(name).FromString(data)
    except DecodeError:
        return None


def _with_details(kind: typing.Type[ApiError], message: str,
                  packed: typing.Iterable[typing.Any]) -> ApiError:
    found = {}
    for detail in packed:
        name = detail.type_url.rpartition("/")[2]
        if name.startswith("google.rpc.") and name in _DETAILS:
            found[name] = _parsed(name, detail.value)
    info = found.get("google.rpc.ErrorInfo")
    bad = found.get("google.rpc.BadRequest")
    retry = found.get("google.rpc.RetryInfo")
    lines = []
    for name in ("google.rpc.PreconditionFailure", "google.rpc.QuotaFailure"):
        failure = found.get(name)
        for violation in failure.violations if failure is not None else ():
            lines.append(one_line(": ".join(
                text for text in (violation.subject, violation.description)
                if text)))
    delay = None
    if retry is not None:
        delay = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
    return kind(
        message, reason=info.reason if info is not None else "",
        metadata=dict(info.metadata) if info is not None else None,
        violations=[FieldViolation(v.field, v.description)
                    for v in (bad.field_violations if bad is not None else ())],
        details=lines, retry_delay=delay)


_DETAILS = frozenset({
    "google.rpc.ErrorInfo", "google.rpc.BadRequest", "google.rpc.RetryInfo",
    "google.rpc.PreconditionFailure", "google.rpc.QuotaFailure"})
