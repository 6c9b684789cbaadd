"""Calls to a coordinator, tried again where the command tries again.

What is UNAVAILABLE is tried again within the request timeout, with growing
pauses, at the next of the addresses, and nothing else is: requests that change
anything carry a request id. Missing or wrong credentials, which gRPC calls
UNAVAILABLE too, are told at once.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
import time
import typing
import weakref

from paceline import api_messages
from paceline.api_errors import (ApiError, DeadlineExceeded, InvalidArgument,
                                 Unavailable)
from paceline.cluster_settings import Connection
from paceline.connection_probe import probe_connection
from paceline.credentials import Credentials

grpc = api_messages.grpc

_LIVENESS_MS = 20_000  # A coordinator that is not heard for so long is away.
_ANSWER_BYTES_MAX = 64 << 20
_PROBE = 2.0  # Seconds.
# A stream without an end could hang for ever behind a broken balancer; a new
# one resumes where it was.
_STREAM_LIFE = 30 * 60.0  # Seconds.


def retry_pause(attempt: int) -> float:
    """Seconds to wait after try number `attempt`, from 1: 0.1 s, then growing
    by half to at most 2 s."""
    return min(2.0, 0.1 * 1.5 ** min(attempt - 1, 20))


@dataclasses.dataclass(frozen=True, eq=False)
class Dialled:
    """One of the coordinator's addresses, and gRPC's channel to it."""

    connection: Connection
    channel: typing.Any


class CoordinatorChannel:
    """Thread-safe. `sleep` and `now` (monotonic) are in seconds."""

    def __init__(self, connection: Connection,
                 sleep: typing.Callable[[float], None] = time.sleep,
                 now: typing.Callable[[], float] = time.monotonic) -> None:
        """Raises InvalidArgument where the settings make no channel."""
        self.connection = connection
        self._credentials = Credentials(connection)
        self._places = itertools.cycle(connection.at_each_address())
        self._sleep = sleep
        self._now = now
        self._lock = threading.Lock()
        self._closed = False
        self._dialled = self._dial_next()
        # Streams may be open on them still.
        self._former: "weakref.WeakSet[Dialled]" = weakref.WeakSet()

    def close(self) -> None:
        """Calls and streams that are open end with Cancelled."""
        with self._lock:
            self._closed = True
            for dialled in (self._dialled, *self._former):
                dialled.channel.close()

    def call(self, service: str, method: str,
             request: typing.Any) -> typing.Any:
        """The answer. An ApiError says how often it was tried."""
        deadline = self._now() + self.connection.request_timeout
        outage: typing.Optional[ApiError] = None
        tries = 0
        while True:
            tries += 1
            dialled = self.dialled()
            try:
                return self._try(dialled, service, method, request, deadline)
            except ApiError as error:
                error.tries = tries
                # The reason that says what is wrong is the more useful one.
                if isinstance(error, DeadlineExceeded) and outage is not None:
                    raise outage from None
                if not isinstance(error, Unavailable):
                    raise
                if tries == 1:
                    self.check_credentials(dialled, error,
                                           deadline - self._now())
                outage = error
                pause = max(retry_pause(tries), error.retry_delay or 0.0)
                if self._now() + pause >= deadline:
                    raise
            self._sleep(pause)
            self.reconnect(dialled)

    def watch(self, dialled: Dialled, request: typing.Any,
              deadline: typing.Optional[float]) -> typing.Any:
        """The stream of WatchJob, an iterator of gRPC's with cancel(); it
        ends at `deadline` (of `now`), or after half an hour."""
        left = (_STREAM_LIFE if deadline is None
                else min(_STREAM_LIFE, deadline - self._now()))
        method = api_messages.find_method("JobService", "WatchJob")
        return dialled.channel.unary_stream(
            method.path, method.serialize, method.deserialize)(
                request, timeout=max(0.0, left),
                metadata=self._credentials.metadata())

    def explain(self, dialled: Dialled, error: typing.Any) -> ApiError:
        """What a call or a stream ended with, for people."""
        explained = api_messages.from_rpc(error)
        address = dialled.connection.address
        if isinstance(explained, Unavailable):
            return explained.reworded(
                f"cannot reach {address}: {explained.message}")
        if isinstance(explained, DeadlineExceeded):
            return explained.reworded(f"{address} did not answer within "
                                      f"{self.connection.request_timeout:g} s")
        return explained

    def check_credentials(self, dialled: Dialled, outage: ApiError,
                          left: float) -> None:
        """After something was UNAVAILABLE: raises what is wrong with the
        credentials, if it is that. May take two seconds, or `left`."""
        # The coordinator said that itself: it has taken us.
        if outage.reason:
            return
        wrong = probe_connection(dialled.connection, self._credentials,
                                 min(max(left, 0.01), _PROBE))
        if wrong is not None:
            raise wrong

    def dialled(self) -> Dialled:
        """What calls and streams go to now."""
        with self._lock:
            if self._closed:
                raise InvalidArgument("this client has been closed")
            return self._dialled

    def reconnect(self, failed: Dialled) -> None:
        """Dials the next address at once, where the old channel would wait,
        unless another thread has done so since. Streams that are open keep
        their connection."""
        with self._lock:
            if not self._closed and self._dialled is failed:
                self._former.add(failed)
                self._dialled = self._dial_next()

    def pause(self, seconds: float) -> None:
        self._sleep(seconds)

    def now(self) -> float:
        return self._now()

    def _dial_next(self) -> Dialled:
        connection = next(self._places)
        return Dialled(connection, self._dial(connection))

    def _dial(self, connection: Connection) -> typing.Any:
        options = [
            ("grpc.keepalive_time_ms", _LIVENESS_MS // 2),
            ("grpc.keepalive_timeout_ms", _LIVENESS_MS // 2),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_receive_message_length", _ANSWER_BYTES_MAX),
        ]
        if not self._credentials.tls:
            return grpc.insecure_channel(connection.address, options)
        if connection.tls_server_name:
            options.append(("grpc.ssl_target_name_override",
                            connection.tls_server_name))
        return grpc.secure_channel(
            connection.address,
            grpc.ssl_channel_credentials(*self._credentials.tls_files()),
            options)

    def _try(self, dialled: Dialled, service: str, name: str,
             request: typing.Any, deadline: float) -> typing.Any:
        method = api_messages.find_method(service, name)
        call = dialled.channel.unary_unary(method.path, method.serialize,
                                           method.deserialize)
        try:
            return call(request, timeout=max(0.0, deadline - self._now()),
                        metadata=self._credentials.metadata())
        except grpc.RpcError as error:
            raise self.explain(dialled, error) from None
