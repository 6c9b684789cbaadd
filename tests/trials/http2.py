"""As much of HTTP/2 as a caller needs who keeps to none of its manners."""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 4, 6, 8, 9
ACK = END_STREAM = 1
END_HEADERS = 4
INITIAL_WINDOW_SIZE = 4


def frame(kind, flags, stream, payload):
    return (struct.pack(">I", len(payload))[1:] +
            struct.pack(">BBI", kind, flags, stream) + payload)


def call_headers(path):
    """Those of a call: literals that no table keeps."""
    pairs = {":method": "POST", ":scheme": "https", ":path": path,
             ":authority": "paceline", "te": "trailers",
             "content-type": "application/grpc"}
    return b"".join(
        b"\0" + bytes([len(name)]) + name.encode() +
        bytes([len(value)]) + value.encode() for name, value in pairs.items())
