#!/usr/bin/python3
"""`buf curl` drives a real cluster by reflection alone: it has no protos.

    buf_curl_test.py BIN_DIR FOLDER

Takes buf from PACELINE_BUF, from the PATH, or from npm into FOLDER; exits with
77 where none of them has it.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from real_cluster import LONG, RealCluster

VERSION = "1.75.0"
BIN = BUF = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-buf-"))
JOB = "namespaces/default/jobs/by-buf"


def find_buf(folder):
    found = os.environ.get("PACELINE_BUF") or shutil.which("buf")
    if found:
        return found
    if not shutil.which("npm"):
        return None
    subprocess.run(
        ["npm", "install", "--no-save", "--prefix", folder,
         f"@bufbuild/buf@{VERSION}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return shutil.which("buf", path=folder / "node_modules/.bin")


def documents(text):
    decoder = json.JSONDecoder()
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        yield document


class BufCurlTest(unittest.TestCase):
    def setUp(self):
        slow = ["--step-time", "5ms"]
        self.cluster = RealCluster(BIN, SCRATCH, 2,
                                   [("w0", slow), ("w1", slow)])
        self.addCleanup(self.cluster.stop)

    def start(self, *arguments):
        return subprocess.Popen(
            [BUF, "curl", "--protocol", "grpc", "--http2-prior-knowledge",
             *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, HOME=str(SCRATCH)))

    def method(self, method, request):
        url = f"http://{self.cluster.address}/paceline.v1.JobService/{method}"
        return self.start("--data", json.dumps(request), url)

    def call(self, method, **request):
        process = self.method(method, request)
        output, errors = process.communicate(timeout=LONG)
        self.assertEqual(process.returncode, 0, errors)
        return json.loads(output)

    def samples(self):
        progress = self.call("GetJob", name=JOB).get("progress", {})
        return int(progress.get("samples", 0))

    def test_lists_the_methods_of_every_service(self):
        process = self.start("--list-methods",
                             f"http://{self.cluster.address}")
        output, errors = process.communicate(timeout=LONG)
        self.assertEqual(process.returncode, 0, errors)
        for method in ("paceline.v1.JobService/CreateJob",
                       "paceline.v1.ClusterService/ListWorkers",
                       "grpc.health.v1.Health/Check"):
            self.assertIn(method, output.split())

    def test_a_job_from_creation_to_its_end(self):
        created = self.call("CreateJob", parent="namespaces/default",
                            jobId="by-buf", job={"spec": {
                                "model": "logreg", "data": "synthetic:tiny",
                                "workers": {"min": 2},
                                "stop": {"epochs": 100_000}}})
        self.assertEqual(created["state"], "PENDING")
        watch = self.method("WatchJob", {"name": JOB})
        # Before it trains, a switch is where it begins and no decision.
        deadline = time.monotonic() + LONG
        while not self.samples():
            self.assertLess(time.monotonic(), deadline, "it does not train")
        switched = self.call("SwitchParadigm", name=JOB, paradigm="asp",
                             reason="buf wants it")
        self.assertEqual(switched["spec"]["paradigm"].split(":")[0], "asp")
        self.call("UpdateJob", job={"name": JOB,
                                    "spec": {"stop": {"epochs": 20}}},
                  updateMask="spec.stop.epochs")
        output, errors = watch.communicate(timeout=LONG)
        self.assertEqual(watch.returncode, 0, errors)
        events = list(documents(output))
        self.assertEqual(events[-1]["job"]["state"], "SUCCEEDED")
        self.assertTrue(any("progress" in event for event in events))
        decisions = self.call("ListDecisions", parent=JOB)["decisions"]
        self.assertIn("switch", [d["kind"] for d in decisions])

    def test_an_error_has_its_details(self):
        process = self.method("GetJob", {"name": "jobs/none"})
        _, errors = process.communicate(timeout=LONG)
        self.assertNotEqual(process.returncode, 0)
        error = json.loads(errors)
        self.assertEqual(error["code"], "invalid_argument")
        self.assertEqual([d["type"] for d in error["details"]],
                         ["google.rpc.ErrorInfo", "google.rpc.BadRequest"])


if __name__ == "__main__":
    BIN, tools = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
    BUF = find_buf(tools)
    if not BUF:
        print(f"skipped: no buf, and npm has no @bufbuild/buf@{VERSION}")
        sys.exit(77)
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
