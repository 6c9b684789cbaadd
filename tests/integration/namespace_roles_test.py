#!/usr/bin/python3
"""Roles that are bound to namespaces, by certificate and by token alike, at real
processes with TLS: who has one sees and changes what is theirs, and learns
nothing of the rest.

    namespace_roles_test.py BIN_DIR SOURCE_DIR
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from real_cluster import LONG, RealCluster, until

BIN = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-roles-"))
TLS = SCRATCH / "tls"
TOKENS = SCRATCH / "tokens"
REFUSED = "PERMISSION_DENIED: NAMESPACE_NOT_ALLOWED"
# Name: role, as certificates and tokens have it.
PEOPLE = {"root": "admin", "alice": "admin@vision", "viv": "viewer@vision",
          "both": "admin@vision+speech"}


def tls_flags(name):
    folder = TLS / name
    return ["--tls-cert", folder / "tls.crt", "--tls-key", folder / "tls.key",
            "--tls-ca", folder / "ca.crt"]


def write_tokens(roles):
    """Replaces the coordinator's file of tokens."""
    lines = [f"{name} {role} sha256:{hashlib.sha256(token(name)).hexdigest()}\n"
             for name, role in roles.items()]
    fresh = SCRATCH / "tokens.new"
    fresh.write_text("".join(lines))
    fresh.rename(TOKENS)


def token(name):
    return f"the-secret-token-of-{name}".encode()


def make_credentials():
    subprocess.run(
        [BIN / "paceline", "certificate", "ensure", "--directory", TLS,
         "coordinator=coordinator/c,127.0.0.1", "server=server/s,127.0.0.1",
         "worker=worker/w",
         *(f"{name}={role}/{name}" for name, role in PEOPLE.items())],
        check=True, stdout=subprocess.DEVNULL, timeout=LONG)
    for name in PEOPLE:
        path = SCRATCH / f"{name}.token"
        path.write_bytes(token(name))
        path.chmod(0o600)
    worker = SCRATCH / "worker.token"
    worker.write_bytes(token("worker"))
    worker.chmod(0o600)
    write_tokens({**PEOPLE, "worker": "worker"})


class SecureCluster(RealCluster):
    def start(self, program, name, *flags):
        if program == "paceline-server":
            own = [*tls_flags("server"), "--token-file", TOKENS]
        else:
            own = tls_flags("worker")
        super().start(program, name, *own, *flags)


class Caller:
    """The command, with somebody's certificate or token."""

    def __init__(self, address, name, by):
        self.name = name
        self.by = by
        self.role = PEOPLE[name]
        self.environment = {"HOME": str(SCRATCH), "PACELINE_ADDRESS": address,
                            "PACELINE_TLS_CA": str(TLS / name / "ca.crt")}
        if by == "certificate":
            self.environment.update(
                PACELINE_TLS_CERT=str(TLS / name / "tls.crt"),
                PACELINE_TLS_KEY=str(TLS / name / "tls.key"))
        else:
            self.environment.update(
                PACELINE_TOKEN_FILE=str(SCRATCH / f"{name}.token"))

    def __repr__(self):
        return f"{self.role} by {self.by}"

    def run(self, *words):
        return subprocess.run(
            [BIN / "paceline", *map(str, words)], env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=LONG, check=False)

    def __call__(self, *words):
        done = self.run(*words)
        if done.returncode != 0:
            raise AssertionError(f"{self} {words}: {done.stderr}")
        return done.stdout

    def document(self, *words):
        return json.loads(self(*words, "-o", "json"))

    def refusal(self, *words):
        """What it says on standard error."""
        done = self.run(*words)
        if done.returncode == 0:
            raise AssertionError(f"{self} {words}: {done.stdout}")
        return done.stderr


class NamespaceRolesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make_credentials()
        cls.cluster = SecureCluster(
            BIN, SCRATCH, 1,
            [("w0", []), ("w1", ["--token", SCRATCH / "worker.token"])],
            coordinator=[*tls_flags("coordinator"), "--tls-client-auth",
                         "optional", "--token-file", TOKENS])
        cls.root = Caller(cls.cluster.address, "root", "certificate")
        spec = {"model": "logreg", "data": "synthetic:tiny", "batch_size": 32,
                "workers": {"min": 1, "max": 1}, "evaluation": {"disabled": True},
                "stop": {"epochs": 1_000_000}}
        for space in ("vision", "speech"):
            path = SCRATCH / f"{space}.json"
            path.write_text(json.dumps({"name": "hidden" if space == "speech"
                                        else "mine", "spec": spec}))
            cls.root("job", "create", "-n", space, "-f", path)
        for name, space in (("mine", "vision"), ("hidden", "speech")):
            cls.root("job", "wait", name, "-n", space, "--for", "state=RUNNING")
            cls.root("checkpoint", "create", name, "-n", space, "--name", "c0",
                     "--wait")
        for name in ("hidden", "missing"):
            (SCRATCH / f"{name}-anew.json").write_text(
                json.dumps({"name": name, "spec": spec}))

    @classmethod
    def tearDownClass(cls):
        cls.root("job", "cancel", "mine", "-n", "vision", "--yes")
        cls.root("job", "cancel", "hidden", "-n", "speech", "--yes")
        codes = cls.cluster.stop()
        if set(codes) != {0}:
            raise AssertionError(f"exit codes {codes}")

    def callers(self, *names):
        for name in names:
            for by in ("certificate", "token"):
                yield Caller(self.cluster.address, name, by)

    def jobs(self, caller, *flags):
        return sorted(job["name"] for job in
                      caller.document("job", "list", *flags)["jobs"])

    def test_lists_have_what_is_theirs(self):
        mine = ["namespaces/vision/jobs/mine"]
        for caller in self.callers("alice", "viv"):
            self.assertEqual(self.jobs(caller, "-A"), mine)
            self.assertEqual(self.jobs(caller, "-n", "vision"), mine)
        for caller in self.callers("root", "both"):
            self.assertEqual(self.jobs(caller, "-A"),
                             ["namespaces/speech/jobs/hidden", *mine])

    def test_pages_go_past_what_is_hidden(self):
        names = [f"p{i}" for i in range(3)]
        for name in names:
            for space in ("vision", "speech"):
                path = SCRATCH / f"{space}-{name}.json"
                path.write_text(json.dumps({
                    "name": name, "spec": {
                        "model": "logreg", "data": "synthetic:tiny",
                        "workers": {"min": 1, "max": 1, "pools": ["none"]},
                        "stop": {"epochs": 1}}}))
                self.root("job", "create", "-n", space, "-f", path)
        for caller in self.callers("alice"):
            self.assertEqual(
                self.jobs(caller, "-A", "--limit", "3", "--order-by", "name"),
                ["namespaces/vision/jobs/mine", "namespaces/vision/jobs/p0",
                 "namespaces/vision/jobs/p1"])
        for name in names:
            for space in ("vision", "speech"):
                self.root("job", "cancel", name, "-n", space, "--yes")
                self.root("job", "wait", name, "-n", space, "--for",
                          "state=CANCELLED")
                self.root("job", "delete", name, "-n", space, "--yes")

    def test_what_is_theirs_can_be_read(self):
        for caller in self.callers("alice", "viv", "both"):
            for words in (("job", "get", "mine"), ("job", "describe", "mine"),
                          ("job", "logs", "mine"), ("job", "report", "mine"),
                          ("job", "accuracy", "mine"),
                          ("checkpoint", "list", "mine"), ("job", "wait", "mine", "--for", "state=RUNNING")):
                caller(*words, "-n", "vision")
            kept = caller.document("checkpoint", "list", "mine", "-n",
                                   "vision")["checkpoints"]
            caller("checkpoint", "get", kept[0]["name"])

    def test_what_is_not_theirs_is_refused_whether_it_is_there_or_not(self):
        words = (("job", "get", "{}"), ("job", "logs", "{}"),
                 ("job", "report", "{}"), ("job", "accuracy", "{}"),
                 ("job", "wait", "{}", "--for", "state=RUNNING"),
                 ("job", "list"), ("checkpoint", "list", "{}"),
                 ("checkpoint", "get", "{}/c0"))
        changes = (("job", "pause", "{}"), ("job", "cancel", "{}", "--yes"),
                   ("job", "delete", "{}", "--yes"),
                   ("job", "switch", "{}", "asp"),
                   ("job", "update", "{}", "--set", "spec.priority=7"),
                   ("job", "restore", "{}"),
                   ("checkpoint", "create", "{}"),
                   ("checkpoint", "delete", "{}/c0", "--yes"),
                   ("job", "create", "-f", f"{SCRATCH}/{{}}-anew.json"))
        for caller in self.callers("alice", "viv"):
            tried = words + (changes if caller.name == "alice" else ())
            for line in tried:
                said = [caller.refusal(*(word.format(job) for word in line),
                                       "-n", "speech")
                        for job in ("hidden", "missing")]
                for text in said:
                    self.assertIn(REFUSED, text)
                    self.assertIn(f"its role {caller.role.split('@')[0]} is "
                                  "bound to namespace vision", text)
                    self.assertIn("in namespace speech", text)
                self.assertEqual(said[0].replace("hidden", "missing"), said[1])
            # Nor whether there is anything in a namespace.
            self.assertEqual(
                caller.refusal("job", "list", "-n", "speech"),
                caller.refusal("job", "list", "-n", "nowhere").replace(
                    "nowhere", "speech"))

    def test_roles_count_within_their_namespaces_as_ever(self):
        for caller in self.callers("viv"):
            self.assertIn("ROLE_NOT_ALLOWED",
                          caller.refusal("job", "pause", "mine", "-n", "vision"))
            self.assertIn("ROLE_NOT_ALLOWED", caller.refusal("audit", "list"))
        for caller in self.callers("alice", "both"):
            caller("job", "update", "mine", "-n", "vision", "--set",
                   "spec.priority=3")
            caller("job", "pause", "mine", "-n", "vision")
            caller("job", "wait", "mine", "-n", "vision", "--for", "state=PAUSED")
            caller("job", "resume", "mine", "-n", "vision")
            caller("job", "wait", "mine", "-n", "vision", "--for",
                   "state=RUNNING")

    def test_members_are_seen_without_the_jobs_of_others(self):
        def shown(caller):
            workers = caller.document("worker", "list")["workers"]
            servers = caller.document("server", "list")["servers"]
            return ([worker["name"] for worker in workers],
                    {worker.get("job", "") for worker in workers},
                    {job for server in servers for job in server.get("jobs", [])},
                    {shard["job"] for server in servers
                     for shard in server.get("shards", [])})
        both = {"namespaces/vision/jobs/mine", "namespaces/speech/jobs/hidden"}
        until("both jobs have a worker",
              lambda: both <= shown(self.root)[1])
        names = shown(self.root)[0]
        for caller in self.callers("alice", "viv"):
            seen, jobs, hosted, shards = shown(caller)
            self.assertEqual(seen, names)
            self.assertEqual(jobs - {""}, {"namespaces/vision/jobs/mine"})
            self.assertEqual(hosted, {"namespaces/vision/jobs/mine"})
            self.assertEqual(shards, {"namespaces/vision/jobs/mine"})
            busy = [worker for worker in
                    self.root.document("worker", "list")["workers"]
                    if "speech" in worker.get("job", "")]
            for worker in busy:
                one = caller.document("worker", "get", worker["name"])
                self.assertNotIn("job", one)
            self.assertNotIn("hidden", caller("top"))
            caller("coordinator", "list")
            caller("version")

    def test_the_cluster_is_not_theirs(self):
        for caller in self.callers("alice", "both"):
            for words in (("worker", "drain", "w0"), ("worker", "undrain", "w0"),
                          ("server", "drain", "s0"), ("worker", "logs", "w0"),
                          ("server", "logs", "s0")):
                text = caller.refusal(*words)
                self.assertIn(REFUSED, text)
                self.assertIn("which reaches the whole cluster", text)

    def test_audit_records_are_of_what_is_theirs(self):
        alice = Caller(self.cluster.address, "alice", "token")
        alice.refusal("job", "pause", "hidden", "-n", "speech")
        alice("job", "update", "mine", "-n", "vision", "--set", "labels.a=b")
        for caller in self.callers("alice"):
            records = caller.document("audit", "list", "--limit",
                                      "0")["auditRecords"]
            self.assertTrue(records)
            for record in records:
                self.assertTrue(record["resource"].startswith(
                    "namespaces/vision/"), record)
            self.assertIn("admin@vision/alice",
                          {record["identity"] for record in records})
            newest = caller.document("audit", "list", "--limit",
                                     "1")["auditRecords"]
            self.assertEqual(len(newest), 1)
        records = self.root.document("audit", "list", "--limit",
                                     "0")["auditRecords"]
        refused = [record for record in records
                   if record["identity"] == "admin@vision/alice"
                   and record["resource"] == "namespaces/speech/jobs/hidden"]
        self.assertTrue(refused)
        self.assertEqual({record["code"] for record in refused}, {7})

    def test_a_token_file_that_changes_binds_anew(self):
        alice = Caller(self.cluster.address, "alice", "token")
        try:
            write_tokens({**PEOPLE, "alice": "admin@speech", "worker": "worker"})
            until("she is bound to the other one",
                  lambda: self.jobs(alice, "-A") ==
                  ["namespaces/speech/jobs/hidden"])
            # A line that binds a role which cannot be bound is not taken.
            write_tokens({**PEOPLE, "worker": "worker@vision"})
            until("it is said why", lambda: "only admin and viewer" in
                  (self.cluster.folder / "coordinator.log").read_text())
            self.assertEqual(self.jobs(alice, "-A"),
                             ["namespaces/speech/jobs/hidden"])
        finally:
            write_tokens({**PEOPLE, "worker": "worker"})
            until("she is bound as before", lambda: self.jobs(alice, "-A") ==
                  ["namespaces/vision/jobs/mine"])

    def test_no_token_is_in_a_log(self):
        # Also of somebody whom nobody knows.
        stranger = Caller(self.cluster.address, "root", "token")
        wrong = SCRATCH / "wrong.token"
        wrong.write_bytes(token("stranger"))
        wrong.chmod(0o600)
        stranger.environment["PACELINE_TOKEN_FILE"] = str(wrong)
        self.assertIn("BAD_TOKEN", stranger.refusal("job", "list", "-A"))
        texts = [path.read_text() for path in self.cluster.folder.glob("*.log")]
        texts += [self.root("worker", "logs", name) for name in ("w0", "w1")]
        texts += [self.root("server", "logs", "s0"),
                  self.root("audit", "list", "-o", "json", "--limit", "0")]
        for text in texts:
            self.assertNotIn("the-secret-token", text)
            self.assertNotIn("PRIVATE KEY", text)

    def test_certificates_that_bind_what_cannot_be_bound_are_not_made(self):
        for role, says in (("worker@vision", "only admin and viewer"),
                           ("admin@", "is no namespace"),
                           ("admin@Vision", "is no namespace"),
                           ("admin@a+a", "named twice")):
            done = subprocess.run(
                [BIN / "paceline", "certificate", "ensure", "--directory",
                 SCRATCH / "bad", f"x={role}/x"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, timeout=LONG, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv[1]).resolve()
    outcome = unittest.main(argv=[sys.argv[0]], verbosity=2, exit=False)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    sys.exit(not outcome.result.wasSuccessful())
