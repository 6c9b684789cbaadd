"""What a client shows to the coordinator, and whether it may dial it.

The rules are those of the command `paceline` (docs/security.md).
"""

from __future__ import annotations

import ipaddress
import ssl
import typing

from paceline.api_errors import ApiError, InvalidArgument
from paceline.cluster_settings import Connection, read_small_file

_TOKEN_MAX = 4096  # Bytes.


class Address(typing.NamedTuple):
    """An address as gRPC takes it, in its parts."""

    host: str  # Without brackets and the name of a resolver.
    port: typing.Optional[str]


class Credentials:
    """The files of a connection, read anew whenever they are asked for: they
    may be exchanged while a client lives."""

    def __init__(self, connection: Connection) -> None:
        """Raises InvalidArgument for settings that contradict each other, and
        what is wrong with a file."""
        self._connection = connection
        _check(connection)
        self._token = ""
        if self.tls:
            self.tls_context()
        if connection.token_file:
            self._token = _read_token(connection.token_file)

    @property
    def tls(self) -> bool:
        return bool(self._connection.tls_ca or self._connection.tls_cert)

    def tls_files(self) -> typing.Tuple[
            bytes, typing.Optional[bytes], typing.Optional[bytes]]:
        """The authorities, the own key and the own certificate, as PEM."""
        connection = self._connection
        return (_read_pem(connection.tls_ca),
                _read_pem(connection.tls_key) if connection.tls_key else None,
                _read_pem(connection.tls_cert) if connection.tls_cert else None)

    def tls_context(self) -> ssl.SSLContext:
        """The same files for Python's own TLS. InvalidArgument if they are
        not what they should be."""
        connection = self._connection
        self.tls_files()  # Says which one is missing.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # Servers of gRPC close a connection that does not offer HTTP/2.
        context.set_alpn_protocols(["h2"])
        try:
            context.load_verify_locations(cafile=connection.tls_ca)
        except (ssl.SSLError, OSError) as error:
            raise InvalidArgument(f"tls_ca {connection.tls_ca}: holds no "
                                  f"certificate in PEM ({error})") from None
        if connection.tls_cert:
            try:
                # Never asks at a terminal for a passphrase.
                context.load_cert_chain(connection.tls_cert,
                                        connection.tls_key, lambda: "")
            except (ssl.SSLError, OSError, ValueError) as error:
                raise InvalidArgument(
                    f"tls_cert {connection.tls_cert}, tls_key "
                    f"{connection.tls_key}: are no certificate in PEM and its "
                    f"key without a passphrase ({error})") from None
        return context

    def metadata(self) -> typing.Tuple[typing.Tuple[str, str], ...]:
        """What goes with every call: the token, if there is one."""
        path = self._connection.token_file
        if not path:
            return ()
        try:
            self._token = _read_token(path)
        except ApiError:
            pass  # It is being exchanged: the old one stays.
        return (("authorization", f"Bearer {self._token}"),)


def split_address(address: str) -> Address:
    """What has several colons and no brackets is a bare IPv6 address, or a
    list: all of it is the host."""
    rest = address.replace("%5B", "[").replace("%5D", "]")
    for prefix in ("ipv4:", "ipv6:", "dns:///", "dns:"):
        if rest.startswith(prefix):
            rest = rest[len(prefix):]
            break
    if rest.startswith("["):
        host, _, behind = rest[1:].partition("]")
        return Address(host, behind[1:] if behind.startswith(":") else None)
    if rest.count(":") != 1:
        return Address(rest, None)
    host, _, port = rest.partition(":")
    return Address(host, port)


def is_loopback(address: str) -> bool:
    """Whether it is this machine's alone."""
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = split_address(address).host
    if host.lower() == "localhost":
        return True
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(ip, "ipv4_mapped", None)
    return (mapped or ip).is_loopback


def _check(connection: Connection) -> None:
    if connection.insecure_plaintext and (connection.tls_cert or
                                          connection.tls_ca):
        raise InvalidArgument("insecure_plaintext contradicts tls_cert and "
                              "tls_ca: leave it out for TLS")
    if connection.tls_cert and not connection.tls_ca:
        raise InvalidArgument("tls_cert needs tls_ca, where the server's "
                              "certificate comes from")
    if connection.tls_server_name and not connection.tls_ca:
        raise InvalidArgument("tls_server_name needs tls_ca: there is no TLS "
                              "without")
    if not connection.address:
        raise InvalidArgument(
            "no coordinator is named: give address=\"HOST:PORT\", set "
            "PACELINE_ADDRESS, or make a context with `paceline config "
            "set-context NAME --address HOST:PORT` and `use-context NAME`")
    for one in connection.at_each_address():
        _check_address(one)


def _check_address(connection: Connection) -> None:
    address = connection.address
    port = split_address(address).port
    plain = port is not None and port.isascii() and port.isdigit()
    if port is not None and not address.startswith("unix") and not (
            plain and int(port) <= 65535):
        raise InvalidArgument(f'the address {address} has the port "'
                              f'{port[:80]}"; want one from 0 to 65535')
    if not (connection.tls_ca or connection.insecure_plaintext or
            is_loopback(address)):
        raise InvalidArgument(
            f"calling {address}, which may be another machine, without TLS: "
            "give tls_ca, or say insecure_plaintext=True")


def _read_pem(path: str) -> bytes:
    content = read_small_file(path)
    if not content:
        raise InvalidArgument(f"{path}: it is empty")
    return content


def _read_token(path: str) -> str:
    token = read_small_file(path).strip(b" \t\n\v\f\r")
    if not 1 <= len(token) <= _TOKEN_MAX or not all(
            0x21 <= byte <= 0x7e for byte in token):
        # The message does not repeat it.
        raise InvalidArgument(
            f"the token file {path}: a token is one word of at most "
            f"{_TOKEN_MAX} visible ASCII characters")
    return token.decode("ascii")
