#!/usr/bin/python3
"""Checkpoints in S3-compatible storage: jobs are saved to a bucket and go on
from it, whatever happens to calls, servers and credentials meanwhile.

    bucket_test.py BIN_DIR FOLDER

The store is s3rver, which npm fetches into FOLDER, behind bucket_door.py; exits
with 77 where it is not to be had.
"""

import array
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from bucket_door import Bucket, KEY, TOKEN, find_s3rver
from job_commands import JobCommands
from real_cluster import LONG, RealCluster, until

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-bucket-"))
PROGRAM = pathlib.Path(__file__).resolve().parent / "plain_program.py"
S3RVER = None
# Each of two servers uploads its half in two parts.
WIDE = 10_000_000
ROOT = f"s3://{Bucket.NAME}/runs/eu"


class BucketTest(unittest.TestCase):
    def setUp(self):
        self.bucket = Bucket(S3RVER, tempfile.mkdtemp(dir=SCRATCH))
        self.addCleanup(self.bucket.stop)

    def start(self, servers=2):
        self.cluster = RealCluster(
            BIN, SCRATCH, servers,
            [("w0", ["--step-time", "50ms", "--program", "plain", "--exec",
                     f"exec {sys.executable} {PROGRAM}"])],
            environment=self.bucket.environment(), checkpoints=ROOT)
        self.addCleanup(self.cluster.stop)
        self.commands = JobCommands(BIN, SCRATCH, self.cluster.address,
                                    self.bucket.environment())

    def train(self, name, wide=WIDE, **spec):
        """Begins a job whose wide weights count samples."""
        self.commands.create(name, **{
            "model": "program:plain", "data": "program",
            "arguments": {"task": "parts", "wide": str(wide)},
            "batch_size": 32, "learning_rate": 1, "optimizer": "sgd",
            "schedule": "constant", "wire": "FP32", "servers": 2,
            "workers": {"min": 1, "max": 1}, "stop": {"epochs": 1_000_000},
            "checkpoints": {"interval": "3600s"},
            "evaluation": {"disabled": True}, **spec})
        self.trains_on(name)

    def trains_on(self, name):
        self.commands.await_more_samples(name, self.commands.samples(name))

    def checkpoint(self, job, name):
        return json.loads(self.commands("checkpoint", "get", f"{job}/{name}",
                                        "-o", "json"))

    def await_failure(self, job, name):
        """Why the checkpoint could not be written."""
        def look():
            found = self.checkpoint(job, name)
            self.assertNotEqual(found["state"], "READY")
            return found["state"] == "FAILED" and found["stateReason"]
        return until(f"{job}/{name} has failed", look)

    def run_command(self, *words, environment=None):
        return subprocess.run(
            [BIN / "paceline", *words], text=True, timeout=LONG, check=False,
            env=environment or self.commands.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def assert_whole(self, place, environment=None):
        done = self.run_command("checkpoint", "verify", place,
                                environment=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn(f"{place}: whole: ", done.stdout)

    def assert_one_sentence(self, said, *words):
        self.assertEqual(len(said.strip().splitlines()), 1, said)
        for word in words:
            self.assertIn(word, said)

    def wide_weights(self, job):
        """The value that all of them have."""
        values = set()
        for name, data in self.commands.tensors(job).items():
            if name.rpartition("/")[0] == "wide":
                values.update(array.array("f", data))
        (value,) = values
        return value

    def test_a_job_is_saved_there_and_goes_on_from_there(self):
        self.start()
        self.train("kept")
        self.commands("checkpoint", "create", "kept", "--name", "first",
                      "--wait")
        place = self.checkpoint("kept", "first")["directory"]
        self.assertTrue(place.startswith(f"{ROOT}/"), place)
        self.assert_whole(place)
        self.assert_whole(place + "/")
        # More than one part, from each server.
        self.assertEqual(self.bucket.count("POST", "uploads="), 2)
        self.assertGreaterEqual(self.bucket.count("PUT", "partNumber=2"), 2)
        model = SCRATCH / "model.safetensors"
        self.commands("checkpoint", "export", place, "--out", str(model))
        self.assertGreater(model.stat().st_size, 4 * WIDE)
        self.commands("checkpoint", "export", place, "--out",
                      f"{ROOT}/model.safetensors")
        self.commands("checkpoint", "download", "kept/first", "--to",
                      f"{ROOT}/copy")
        self.assert_whole(f"{ROOT}/copy")
        again = self.run_command("checkpoint", "download", "kept/first", "--to",
                                 f"{ROOT}/copy")
        self.assertIn("has a checkpoint already", again.stderr)

        self.commands("job", "pause", "kept")
        self.commands.await_state("kept", "PAUSED")
        paused = self.wide_weights("kept")
        self.assertGreater(paused, 0)
        # What they held is gone.
        for name in ("s0", "s1"):
            self.cluster.kill(name)
            self.cluster.start("paceline-server", name)
        self.commands("job", "resume", "kept")
        self.trains_on("kept")
        self.commands("job", "pause", "kept")
        self.commands.await_state("kept", "PAUSED")
        # Each sample since then was counted once, on top of what was saved.
        self.assertEqual(self.wide_weights("kept"),
                         self.commands.samples("kept"))
        self.assertGreater(self.commands.samples("kept"), paused)

        # Another job begins with the weights of one.
        self.train("heir", initial_weights=place)
        for job in ("kept", "heir"):
            self.commands("job", "cancel", job)
            self.commands.await_state(job, "CANCELLED")
        self.commands("checkpoint", "delete", "kept/first", "--yes")
        self.assertFalse(self.objects_of("first"))
        self.commands("job", "delete", "kept", "--yes")
        self.commands("job", "delete", "heir", "--yes")
        mine = [key for key in self.bucket.objects()
                if "copy" not in key and not key.endswith("model.safetensors")]
        self.assertEqual([key for key in mine if "probe" not in key],
                         ["runs/eu/.paceline-folder"])

    def objects_of(self, checkpoint):
        return [key for key in self.bucket.objects() if f"/{checkpoint}/" in key]

    def test_uploads_that_are_interrupted_go_on(self):
        self.start()
        self.train("broken")
        held = threading.Event()
        self.addCleanup(held.set)
        once = {("POST", "/server-0-of-2.safetensors?uploads"): "cut",
                ("PUT", "/server-0-of-2.safetensors?partNumber=1"): "cut",
                ("PUT", "/server-1-of-2.safetensors?partNumber=1"): "mute",
                ("PUT", "partNumber=2"): (503, "SlowDown"),
                ("POST", "/server-0-of-2.safetensors?uploadId"): "mute",
                ("POST", "/server-1-of-2.safetensors?uploadId"): held,
                ("PUT", "/manifest.json"): "mute"}
        done = []

        def trouble(method, path, query):
            for (its, words), what in list(once.items()):
                if its == method and words in f"{path}?{query}":
                    del once[its, words]
                    done.append(what)
                    return what
            return None
        self.bucket.trouble = trouble
        self.commands("checkpoint", "create", "broken", "--name", "first")
        until("an upload waits for its end", lambda: held in done)
        # The job does not.
        self.trains_on("broken")
        self.assertEqual(self.checkpoint("broken", "first")["state"], "WRITING")
        self.assertFalse([key for key in self.objects_of("first")
                          if key.endswith("manifest.json")])
        held.set()
        until("it is ready", lambda: self.checkpoint("broken", "first")["state"]
              == "READY")
        self.assertEqual(once, {})
        self.bucket.trouble = None
        self.assert_whole(self.checkpoint("broken", "first")["directory"])

    def test_a_server_that_dies_in_the_middle_leaves_no_checkpoint(self):
        self.start(servers=3)
        self.train("torn")
        held = threading.Event()
        self.addCleanup(held.set)
        holding = []

        def trouble(method, path, query):
            if method == "PUT" and "partNumber=2" in query:
                holding.append(path)
                return held
            return None
        self.bucket.trouble = trouble
        self.commands("checkpoint", "create", "torn", "--name", "first")
        until("both servers are in the middle", lambda: len(holding) >= 2)
        writing = [name for name in ("s0", "s1", "s2")
                   if self.hosts_something(name)]
        self.assertEqual(len(writing), 2)
        self.cluster.kill(writing[0])
        held.set()
        self.bucket.trouble = None
        self.await_failure("torn", "first")
        until("nothing is left of it", lambda: not self.objects_of("first"))
        self.cluster.start("paceline-server", writing[0])
        self.trains_on("torn")
        self.commands("checkpoint", "create", "torn", "--name", "second",
                      "--wait")
        self.assert_whole(self.checkpoint("torn", "second")["directory"])

    def hosts_something(self, name):
        _, text = self.cluster.ask(name, "/metrics")
        return "paceline_server_jobs 1" in text.splitlines()

    def test_a_full_bucket_is_said_in_a_sentence(self):
        self.start()
        self.train("large")
        self.bucket.trouble = lambda method, *_: (
            (403, "QuotaExceeded") if method in ("PUT", "POST") else None)
        self.commands("checkpoint", "create", "large", "--name", "first")
        self.assert_one_sentence(
            self.await_failure("large", "first"), "s3://", "the bucket "
            '"models" is full or over its quota: make room there')
        self.trains_on("large")
        log = self.cluster.folder / "coordinator.log"
        until("the coordinator says so", lambda: "a checkpoint folder is in "
              "trouble" in log.read_text())
        self.assertIn("is full or over its quota",
                      self.cluster.ask("coordinator", "/readyz")[1])
        self.bucket.trouble = None
        self.commands("checkpoint", "create", "large", "--name", "second",
                      "--wait")
        self.assert_whole(self.checkpoint("large", "second")["directory"])

    def test_wrong_credentials_are_said_in_a_sentence(self):
        self.commands = JobCommands(BIN, SCRATCH, "127.0.0.1:1")
        place = f"{ROOT}/nothing"

        def said(words, environment):
            done = self.run_command("checkpoint", "verify", place,
                                    environment=environment)
            self.assertGreater(done.returncode, 0, done)
            self.assert_one_sentence(done.stderr, *words)
        right = self.bucket.environment()
        said(["is no complete checkpoint"], right)
        said(["does not accept the credentials from the environment "
              "(AWS_ACCESS_KEY_ID): correct them", "InvalidAccessKeyId"],
             {**self.bucket.environment("SOMEBODY"),
              "AWS_ENDPOINT_URL": self.bucket.direct})
        said(["does not accept the credentials", "SignatureDoesNotMatch"],
             self.bucket.environment(secret="wrong"))
        nothing = {name: value for name, value in right.items()
                   if name not in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
        said(["there are no credentials for s3://"],
             {**nothing, "HOME": str(SCRATCH)})
        self.bucket.trouble = lambda *_: (403, "AccessDenied")
        said(["may not read there"], right)
        self.bucket.trouble = None
        done = self.run_command("checkpoint", "verify", "s3://elsewhere/a",
                                environment=right)
        self.assert_one_sentence(done.stderr,
                                 'there is no bucket "elsewhere" at http://')

    def test_a_store_is_trusted_by_its_certificate(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
        certificate, key = str(folder / "cert.pem"), str(folder / "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
             "-subj", "/CN=store", "-addext", "subjectAltName=IP:127.0.0.1",
             "-days", "2", "-keyout", key, "-out", certificate],
            check=True, stderr=subprocess.DEVNULL, timeout=LONG)
        bucket = Bucket(S3RVER, tempfile.mkdtemp(dir=SCRATCH), certificate, key)
        self.addCleanup(bucket.stop)
        environment = {**bucket.environment(),
                       "AWS_ENDPOINT_URL": bucket.direct}

        def said(environment):
            return self.run_command("checkpoint", "verify", f"{ROOT}/nothing",
                                    environment=environment).stderr
        self.assertIn("is no complete checkpoint",
                      said({**environment, "AWS_CA_BUNDLE": certificate}))
        self.assert_one_sentence(said(environment), "certificate",
                                 "AWS_CA_BUNDLE can name a file")

    def test_a_coordinator_with_wrong_credentials_is_not_ready(self):
        environment = self.bucket.environment(secret="wrong")
        cluster = RealCluster(BIN, SCRATCH, 0, [], environment=environment,
                              checkpoints=ROOT)
        self.addCleanup(cluster.stop)

        def look():
            code, text = cluster.ask("coordinator", "/readyz")
            return code == 503 and "does not accept the credentials" in text
        until("it says why", look)

    def test_credentials_come_from_a_file_and_from_a_web_identity(self):
        self.start()
        self.train("small", wide=1000)
        self.commands("checkpoint", "create", "small", "--name", "first",
                      "--wait")
        place = self.checkpoint("small", "first")["directory"]
        nothing = {name: value for name, value
                   in self.bucket.environment().items()
                   if name not in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
        home = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
        (home / ".aws").mkdir()
        (home / ".aws/credentials").write_text(
            "[default]\naws_access_key_id = NOBODY\n"
            "aws_secret_access_key = nothing\n"
            f"[team]\naws_access_key_id = {KEY}\n"
            f"aws_secret_access_key = {KEY}\n")
        self.assert_whole(place, {**nothing, "HOME": str(home),
                                  "AWS_PROFILE": "team"})
        token = home / "token"
        identity = {**nothing, "AWS_ROLE_ARN": "arn:aws:iam::1:role/jobs",
                    "AWS_WEB_IDENTITY_TOKEN_FILE": str(token)}
        token.write_text(TOKEN + "\n")
        self.assert_whole(place, identity)
        token.write_text("another")
        done = self.run_command("checkpoint", "verify", place,
                                environment=identity)
        self.assert_one_sentence(done.stderr, "InvalidIdentityToken",
                                 "arn:aws:iam::1:role/jobs")


def main():
    global S3RVER
    S3RVER = find_s3rver(sys.argv[2])
    if S3RVER is None:
        print("skipped: node is missing, or npm has no s3rver")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
