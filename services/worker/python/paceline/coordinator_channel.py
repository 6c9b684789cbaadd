"""Calls to a coordinator, tried again where the command tries again.

What is UNAVAILABLE is tried again within the request timeout, with growing
pauses, and nothing else is: requests that change anything carry a request id.
Missing or wrong credentials, which gRPC calls UNAVAILABLE too, are told at
once.
"""

from __future__ import annotations

import threading
import time
import typing

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


class CoordinatorChannel:
    """Thread-safe. `sleep` and `now` (monotonic) are in seconds."""

    def __init__(self, connection: Connection,
                 sleep: typing.Callable[[float], None] = time.sleep,
                 now: typing.Callable[[], float] = time.monotonic) -> None:
        """Raises InvalidArgument where the settings make no channel."""
        self.connection = connection
        self._credentials = Credentials(connection)
        self._sleep = sleep
        self._now = now
        self._lock = threading.Lock()
        self._closed = False
        self._channel = self._dial()

    def close(self) -> None:
        """Calls that are open end with Cancelled."""
        with self._lock:
            self._closed = True
            self._channel.close()

    def call(self, service: str, method: str,
             request: typing.Any) -> typing.Any:
        """The answer. An ApiError says how often it was tried."""
        deadline = self._now() + self.connection.request_timeout
        outage: typing.Optional[ApiError] = None
        tries = 0
        while True:
            tries += 1
            try:
                return self._try(service, method, request, deadline)
            except ApiError as error:
                error.tries = tries
                # The reason that says what is wrong is the more useful one.
                if isinstance(error, DeadlineExceeded) and outage is not None:
                    raise outage from None
                if not isinstance(error, Unavailable):
                    raise
                if tries == 1:
                    self.check_credentials(error, deadline - self._now())
                outage = error
                pause = max(retry_pause(tries), error.retry_delay or 0.0)
                if self._now() + pause >= deadline:
                    raise
            self._sleep(pause)
            self.reconnect()

    def watch(self, request: typing.Any,
              deadline: typing.Optional[float]) -> typing.Any:
        """The stream of WatchJob, an iterator of gRPC's with cancel(); it
        ends at `deadline` (of `now`), or after half an hour."""
        left = (_STREAM_LIFE if deadline is None
                else min(_STREAM_LIFE, deadline - self._now()))
        method = api_messages.find_method("JobService", "WatchJob")
        return self._present().unary_stream(
            method.path, method.serialize, method.deserialize)(
                request, timeout=max(0.0, left),
                metadata=self._credentials.metadata())

    def explain(self, error: typing.Any) -> ApiError:
        """What a call or a stream ended with, for people."""
        explained = api_messages.from_rpc(error)
        address = self.connection.address
        if isinstance(explained, Unavailable):
            return explained.reworded(
                f"cannot reach {address}: {explained.message}")
        if isinstance(explained, DeadlineExceeded):
            return explained.reworded(f"{address} did not answer within "
                                      f"{self.connection.request_timeout:g} s")
        return explained

    def check_credentials(self, outage: ApiError, left: float) -> None:
        """After something was UNAVAILABLE: raises what is wrong with the
        credentials, if it is that. May take two seconds, or `left`."""
        # The coordinator said that itself: it has taken us.
        if outage.reason:
            return
        wrong = probe_connection(self.connection, self._credentials,
                                 min(max(left, 0.01), _PROBE))
        if wrong is not None:
            raise wrong

    def reconnect(self) -> None:
        """Dials anew at once, where the old channel would wait. Streams that
        are open keep their connection."""
        fresh = self._dial()
        with self._lock:
            if self._closed:
                fresh.close()
            else:
                self._channel = fresh

    def pause(self, seconds: float) -> None:
        self._sleep(seconds)

    def now(self) -> float:
        return self._now()

    def _present(self) -> typing.Any:
        with self._lock:
            if self._closed:
                raise InvalidArgument("this client has been closed")
            return self._channel

    def _dial(self) -> typing.Any:
        options = [
            ("grpc.keepalive_time_ms", _LIVENESS_MS // 2),
            ("grpc.keepalive_timeout_ms", _LIVENESS_MS // 2),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_receive_message_length", _ANSWER_BYTES_MAX),
        ]
        if not self._credentials.tls:
            return grpc.insecure_channel(self.connection.address, options)
        if self.connection.tls_server_name:
            options.append(("grpc.ssl_target_name_override",
                            self.connection.tls_server_name))
        return grpc.secure_channel(
            self.connection.address,
            grpc.ssl_channel_credentials(*self._credentials.tls_files()),
            options)

    def _try(self, service: str, name: str, request: typing.Any,
             deadline: float) -> typing.Any:
        method = api_messages.find_method(service, name)
        call = self._present().unary_unary(method.path, method.serialize,
                                           method.deserialize)
        try:
            return call(request, timeout=max(0.0, deadline - self._now()),
                        metadata=self._credentials.metadata())
        except grpc.RpcError as error:
            raise self.explain(error) from None
