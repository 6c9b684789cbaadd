"""Why a client cannot connect, where it is a matter of credentials.

gRPC says "Socket closed" of a handshake that fails. A connection of our own,
which says nothing but the handshake, finds out more.
"""

from __future__ import annotations

import socket
import ssl
import typing

from paceline.api_errors import (ApiError, FailedPrecondition,
                                 Unauthenticated)
from paceline.cluster_settings import Connection
from paceline.credentials import Credentials, split_address

# Of OpenSSL, X509_V_ERR_*.
_EXPIRED = 10
_OTHER_NAME = (62, 64)  # The host, the IP address.
_UNKNOWN_AUTHORITY = (2, 7, 18, 19, 20, 21)


def probe_connection(connection: Connection, credentials: Credentials,
                     timeout: float) -> typing.Optional[ApiError]:
    """What is missing or wrong; None if nothing of that is known: the
    coordinator may be away, or all may be well.

    Waits at most `timeout` seconds for each answer.
    """
    address = split_address(connection.address)
    if connection.address.startswith("unix") or not address.port:
        return None
    try:
        tls = credentials.tls
        context = (credentials.tls_context() if tls else _asking_context())
        with socket.create_connection((address.host, int(address.port)),
                                      timeout) as plain:
            name = connection.tls_server_name or address.host
            return (_judge_tls(plain, context, name, connection) if tls
                    else _judge_plain(plain, context, connection))
    except (OSError, ApiError):
        return None


def _asking_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


def _judge_plain(plain: socket.socket, context: ssl.SSLContext,
                 connection: Connection) -> typing.Optional[ApiError]:
    try:
        with context.wrap_socket(plain):
            pass
    except ssl.SSLError as error:
        if "ALERT" not in (error.reason or ""):
            return None
    return Unauthenticated(
        f"{connection.address} speaks TLS: give tls_ca, the authority of its "
        "certificate, and tls_cert and tls_key, or a token_file",
        reason="NO_CREDENTIALS")


def _judge_tls(plain: socket.socket, context: ssl.SSLContext, name: str,
               connection: Connection) -> typing.Optional[ApiError]:
    try:
        with context.wrap_socket(plain, server_hostname=name) as secured:
            # Under TLS 1.3 a server judges our certificate only after the
            # client believes the handshake done.
            if secured.recv(1):
                return None
            return _refused(None, connection)
    except ssl.SSLCertVerificationError as error:
        return _not_trusted(error, connection)
    except ssl.SSLError as error:
        reason = error.reason or ""
        if "ALERT" in reason:
            return _refused(reason, connection)
        if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST",
                      "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"):
            return FailedPrecondition(
                f"{connection.address} speaks no TLS: it is another port, or "
                "a cluster without TLS; for that leave tls_ca out",
                reason="NO_TLS")
        return None


def _not_trusted(error: ssl.SSLCertVerificationError,
                 connection: Connection) -> ApiError:
    if error.verify_code == _EXPIRED:
        why = "has expired: it has to be renewed there"
    elif error.verify_code in _OTHER_NAME:
        why = (f"is for other names ({error.verify_message}): dial one of "
               "those, or give tls_server_name")
    elif error.verify_code in _UNKNOWN_AUTHORITY:
        why = (f"comes from an authority that is not in tls_ca "
               f"{connection.tls_ca}: get the ca.crt of this cluster")
    else:
        why = f"is not sound: {error.verify_message}"
    return Unauthenticated(
        f"the certificate that {connection.address} shows {why}",
        reason="SERVER_NOT_TRUSTED")


def _refused(alert: typing.Optional[str],
             connection: Connection) -> ApiError:
    if not connection.tls_cert:
        return Unauthenticated(
            f"{connection.address} wants a client certificate, and none is "
            "given: tls_cert and tls_key", reason="NO_CREDENTIALS")
    if alert is not None and "EXPIRED" in alert:
        why = "it has expired: have it renewed"
    elif alert is not None and "UNKNOWN_CA" in alert:
        why = "it comes from an authority that is not known there"
    else:
        why = ("most likely it comes from an authority that is not known "
               "there, or has expired")
    return Unauthenticated(
        f"{connection.address} does not take the certificate of tls_cert "
        f"{connection.tls_cert}: {why}", reason="BAD_CERTIFICATE")
