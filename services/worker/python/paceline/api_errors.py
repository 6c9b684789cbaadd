"""What goes wrong between a client and the coordinator.

Each code of gRPC has a class of its own, so that a caller can write

    try:
        client.get_job("mnist")
    except paceline.api_errors.NotFound: ...
"""

from __future__ import annotations

import dataclasses
import re
import typing


@dataclasses.dataclass(frozen=True)
class FieldViolation:
    """A field of a request that is wrong, and what would be right."""

    field: str  # "job.spec.batch_size"; empty: the request as a whole.
    description: str


class ApiError(Exception):
    """An error of the API, or of the settings of a client.

    Its text is what the command `paceline` prints: the message, the code and
    the reason, then a line for every single thing that is wrong.
    """

    code = "UNKNOWN"

    def __init__(self, message: str, *, reason: str = "",
                 metadata: typing.Optional[typing.Mapping[str, str]] = None,
                 violations: typing.Sequence[FieldViolation] = (),
                 details: typing.Sequence[str] = (),
                 retry_delay: typing.Optional[float] = None) -> None:
        super().__init__(message)
        self.message = message
        # google.rpc.ErrorInfo: a constant for programs, "ETAG_MISMATCH".
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)  # google.rpc.BadRequest.
        # Of PreconditionFailure and QuotaFailure, for people.
        self.details = tuple(details)
        # Seconds after which to come again, google.rpc.RetryInfo.
        self.retry_delay = retry_delay
        self.tries = 1  # How often the call was tried.

    def __str__(self) -> str:
        # The message of a BadRequest is its violations in one line.
        text = "refused" if self.violations else one_line(self.message)
        if self.reason:
            text += f" ({self.code}: {one_line(self.reason)})"
        lines = [_line(v.field, v.description) for v in self.violations]
        further = list(self.details)
        if self.retry_delay is not None:
            further.append(f"try again in {self.retry_delay:g} s")
        # One that says again what the message says adds nothing.
        lines += [line for line in further
                  if line not in one_line(self.message)]
        return "\n  ".join([text, *lines])

    def reworded(self, message: str) -> "ApiError":
        """With the same code and details."""
        return type(self)(message, reason=self.reason, metadata=self.metadata,
                          violations=self.violations, details=self.details,
                          retry_delay=self.retry_delay)


class Cancelled(ApiError):
    """Somebody between the two ended the call."""

    code = "CANCELLED"


class Unknown(ApiError):
    """Something failed that has no code of its own."""


class InvalidArgument(ApiError):
    """A setting, a file or a field is wrong: `violations` name the fields."""

    code = "INVALID_ARGUMENT"


class DeadlineExceeded(ApiError):
    """The time that was given is over."""

    code = "DEADLINE_EXCEEDED"


class NotFound(ApiError):
    """A job, a checkpoint, a context or a file does not exist."""

    code = "NOT_FOUND"


class AlreadyExists(ApiError):
    """The name is taken."""

    code = "ALREADY_EXISTS"


class PermissionDenied(ApiError):
    """The caller's role may not call the method, or a file not be read."""

    code = "PERMISSION_DENIED"


class ResourceExhausted(ApiError):
    """A quota, or too many requests."""

    code = "RESOURCE_EXHAUSTED"


class FailedPrecondition(ApiError):
    """The state of the job does not allow it."""

    code = "FAILED_PRECONDITION"


class Aborted(ApiError):
    """Somebody else was faster: the etag is not the present one."""

    code = "ABORTED"


class OutOfRange(ApiError):
    """A number is outside of what is possible."""

    code = "OUT_OF_RANGE"


class Unimplemented(ApiError):
    """The coordinator does not know the method: it may be an older one."""

    code = "UNIMPLEMENTED"


class Internal(ApiError):
    """A fault of the coordinator."""

    code = "INTERNAL"


class Unavailable(ApiError):
    """The coordinator was away for the whole request timeout."""

    code = "UNAVAILABLE"


class DataLoss(ApiError):
    """Stored data are damaged."""

    code = "DATA_LOSS"


class Unauthenticated(ApiError):
    """Who the caller is could not be told."""

    code = "UNAUTHENTICATED"


class JobEndedOtherwise(Unknown):
    """A job that was waited for has ended in another state."""


_BY_CODE: typing.Dict[str, typing.Type[ApiError]] = {
    error.code: error for error in (
        Cancelled, Unknown, InvalidArgument, DeadlineExceeded, NotFound,
        AlreadyExists, PermissionDenied, ResourceExhausted, FailedPrecondition,
        Aborted, OutOfRange, Unimplemented, Internal, Unavailable, DataLoss,
        Unauthenticated)}


def error_class(code: str) -> typing.Type[ApiError]:
    """The class of a code of gRPC by its name; Unknown for a new one."""
    return _BY_CODE.get(code, Unknown)


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")


def one_line(text: str) -> str:
    """A terminal shows it in one line, whoever wrote it."""
    return _CONTROLS.sub(" ", text)


def _line(subject: str, description: str) -> str:
    return one_line(": ".join(part for part in (subject, description) if part))
