"""A PostgreSQL server of a test's own, on loopback."""

import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import unittest

from real_cluster import LONG, free_port, until


class OwnPostgres:
    """SkipTest where it is not installed."""

    def __init__(self):
        homes = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not homes:
            raise unittest.SkipTest("PostgreSQL is not installed")
        self.bin = homes[-1].parent
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paceline-pg-"))
        self.user = None
        if os.geteuid() == 0:  # Which it refuses to run as.
            self.user = pwd.getpwnam("postgres")
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.port = free_port()
        self.run(self.bin / "initdb", "-D", self.folder / "data", "-U",
                 "postgres", "--auth", "trust", "--no-sync")
        self.start()

    @property
    def url(self):
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def as_user(self, words):
        if self.user is None:
            return [str(word) for word in words]
        return ["setpriv", f"--reuid={self.user.pw_uid}",
                f"--regid={self.user.pw_gid}", "--clear-groups",
                *(str(word) for word in words)]

    def run(self, *words):
        subprocess.run(self.as_user(words), stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, cwd=self.folder, text=True,
                       timeout=LONG, check=True)

    def start(self):
        log = open(self.folder / "log", "ab")
        with log:
            self.process = subprocess.Popen(
                self.as_user([self.bin / "postgres", "-D",
                              self.folder / "data", "-k", self.folder, "-c",
                              "listen_addresses=127.0.0.1", "-p", self.port]),
                stdout=log, stderr=log, cwd=self.folder)
        until("PostgreSQL answers", lambda: subprocess.run(
            [self.bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p",
             str(self.port)], check=False).returncode == 0)

    def kill(self):
        """All of its processes end with it."""
        self.process.kill()
        self.process.wait(timeout=LONG)

    def query(self, sql):
        return subprocess.run(
            [self.bin / "psql", "-At", self.url, "-c", sql], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LONG,
            check=True).stdout

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=LONG)
        shutil.rmtree(self.folder, ignore_errors=True)
