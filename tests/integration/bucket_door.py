"""An S3 server for tests, s3rver of npm, behind a door that checks what it does
not, and does to calls what networks and full disks do.

s3rver takes any signature of a key that it knows, so the door computes those of
Signature Version 4 itself, and the SHA-256 of each body. It also lends keys for
web identities, as STS does.
"""

import hashlib
import hmac
import http.client
import http.server
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import urllib.parse

from real_cluster import LONG, free_port, until

VERSION = "3.7.1"
KEY = "S3RVER"  # That of s3rver, which is its secret, too.
TOKEN = "token-of-a-pod"
ERROR = ('<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{}</Code>'
         "<Message>{}</Message></Error>")
LENT = ("<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>"
        f"<Credentials><AccessKeyId>{KEY}</AccessKeyId><SecretAccessKey>{KEY}"
        "</SecretAccessKey><SessionToken>session</SessionToken><Expiration>"
        "2099-01-01T00:00:00Z</Expiration></Credentials>"
        "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>")


def find_s3rver(folder):
    """Its script, from npm if need be; None where it is not to be had."""
    script = pathlib.Path(folder) / "node_modules/s3rver/bin/s3rver.js"
    if not shutil.which("node"):
        return None
    if not script.exists() and shutil.which("npm"):
        # No package needs its install script, so none may run one.
        subprocess.run(
            ["npm", "install", "--no-save", "--ignore-scripts", "--no-audit",
             "--no-fund", "--prefix", folder, f"s3rver@{VERSION}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return script if script.exists() else None


def signature_of(method, target, headers, secret):
    """What the signature of that call has to be, by the names it says."""
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d+)/([^/]+)/s3/aws4_request, "
        r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})",
        headers["authorization"])
    _, date, region, names, _ = found.groups()
    path, _, query = target.partition("?")
    pairs = sorted(tuple(part.partition("=")[::2])
                   for part in query.split("&") if part)
    canonical = "\n".join(
        [method, path, "&".join(f"{name}={value}" for name, value in pairs),
         *(f"{name}:{' '.join(headers[name].split())}"
           for name in names.split(";")),
         "", names, headers["x-amz-content-sha256"]])
    key = ("AWS4" + secret).encode()
    for part in (date, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    signed = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"],
                        f"{date}/{region}/s3/aws4_request",
                        hashlib.sha256(canonical.encode()).hexdigest()])
    return hmac.new(key, signed.encode(), "sha256").hexdigest()


class Bucket:
    """The bucket "models" in `folder`, at `endpoint`.

    `trouble(method, path, query)`, if it is set, may give (HTTP status, code)
    to answer so, "cut" to cut the connection before the call is done, "mute"
    to do it and cut the connection, or an Event to wait for.
    """

    NAME = "models"

    def __init__(self, s3rver, folder, certificate=None, key=None):
        self.files = pathlib.Path(folder) / self.NAME
        self.trouble = None
        self.seen = []  # (method, path, query) of all calls that were right.
        port = free_port()
        self.store = subprocess.Popen(
            ["node", str(s3rver), "--directory", str(folder), "--address",
             "127.0.0.1", "--port", str(port), "--silent", "--no-vhost-buckets",
             "--configure-bucket", self.NAME,
             *(["--cert", certificate, "--key", key] if certificate else [])],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # With a certificate, past the door.
        self.direct = f"http{'s' if certificate else ''}://127.0.0.1:{port}"
        self.store_port = port
        until("s3rver listens", self.listens)
        bucket = self

        class Handler(DoorHandler):
            door = bucket
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.store_port)) == 0

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        self.store.terminate()
        self.store.wait(timeout=LONG)

    def environment(self, key=KEY, secret=KEY):
        """Of a process that finds the bucket, and nothing else of this one's
        that it could take for credentials."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("AWS_")}
        return {**kept, "AWS_ENDPOINT_URL": self.endpoint,
                "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}

    def objects(self):
        """The keys of all that is in it."""
        ending = "._S3rver_object"
        # A folder may go meanwhile, which os.walk() passes over.
        return sorted(
            os.path.relpath(os.path.join(folder, name),
                            self.files)[:-len(ending)]
            for folder, _, names in os.walk(self.files)
            for name in names if name.endswith(ending))

    def count(self, method, words):
        """How many calls of that kind there were."""
        return sum(1 for its, path, query in self.seen
                   if its == method and words in f"{path}?{query}")


class DoorHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    door = None

    def log_message(self, *_):
        pass

    def answer(self, status, body, content_type="application/xml"):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def refuse(self, status, code):
        self.answer(status, ERROR.format(code, f"the door says {code}"))

    def lend(self, body):
        form = dict(urllib.parse.parse_qsl(body.decode()))
        if (form.get("Action") != "AssumeRoleWithWebIdentity" or
                not form.get("RoleArn") or not form.get("RoleSessionName")):
            return self.answer(400, ERROR.format("ValidationError", form))
        if form["WebIdentityToken"] != TOKEN:
            return self.answer(400, "<ErrorResponse>" + ERROR.format(
                "InvalidIdentityToken", "no such token").partition("\n")[2] +
                "</ErrorResponse>")
        return self.answer(200, LENT)

    def is_right(self, headers, body):
        """Whether s3rver may have it; it knows itself which keys there are."""
        if hashlib.sha256(body).hexdigest() != headers["x-amz-content-sha256"]:
            self.refuse(400, "XAmzContentSHA256Mismatch")
            return False
        given = headers["authorization"]
        if (f"Credential={KEY}/" in given and not given.endswith(
                signature_of(self.command, self.path, headers, KEY))):
            self.refuse(403, "SignatureDoesNotMatch")
            return False
        return True

    def cut(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def pass_on(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        size = int(headers.get("content-length", 0))
        path, _, query = self.path.partition("?")
        trouble = self.door.trouble and self.door.trouble(self.command, path,
                                                          query)
        if trouble == "cut":
            self.rfile.read(size // 2)
            return self.cut()
        body = self.rfile.read(size)
        if self.command == "POST" and path == "/":
            return self.lend(body)
        if isinstance(trouble, threading.Event):
            trouble.wait(LONG)
        elif isinstance(trouble, tuple):
            return self.refuse(*trouble)
        if not self.is_right(headers, body):
            return None
        self.door.seen.append((self.command, path, query))
        store = http.client.HTTPConnection("127.0.0.1", self.door.store_port)
        try:
            store.request(self.command, self.path, body or None, headers)
            answer = store.getresponse()
            data = answer.read()
        finally:
            store.close()
        if trouble == "mute":
            return self.cut()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "date",
                                    "server", "content-length"):
                self.send_header(name, value)
        length = (answer.getheader("Content-Length", "0")
                  if self.command == "HEAD" else len(data))
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(data)
        return None

    def handle_call(self):
        try:
            self.pass_on()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # Who called has died.

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_call
