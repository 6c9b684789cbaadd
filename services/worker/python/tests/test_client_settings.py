"""Whom a client talks to: flags, environment, contexts, TLS and tokens."""

import hashlib
import os
import re
import subprocess

import pytest

from client_cluster import (BIN, LONG, needs_programs, prepare_messages,
                            run_command, start_cluster)

prepare_messages()

import paceline  # noqa: E402
from paceline import api_errors  # noqa: E402
from paceline.cluster_settings import resolve_connection  # noqa: E402
from paceline.credentials import is_loopback, split_address  # noqa: E402
from paceline.durations import parse_duration  # noqa: E402

CONFIG = """\
current-context: home
contexts:
  home:
    address: 127.0.0.1:7070
  lab:
    address: coordinator.lab:7070
    namespace: vision
    tls-ca: lab-ca.pem
    tls-cert: /etc/me.pem
    tls-key: keys/me.key
    request-timeout: 1m30s
"""


@pytest.fixture(name="config")
def fixture_config(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    return file


# (arguments, context, environment, what comes out)
SETTINGS = [
    ({}, None, {}, {"address": "127.0.0.1:7070", "namespace": "default",
                    "request_timeout": 30.0, "namespace_given": False}),
    ({}, None, {"PACELINE_CONTEXT": "lab"}, {
        "address": "coordinator.lab:7070", "namespace": "vision",
        "tls_cert": "/etc/me.pem", "request_timeout": 90.0}),
    # An argument goes before the environment, that before the file.
    ({}, "lab", {"PACELINE_CONTEXT": "home", "PACELINE_NAMESPACE": "audio"},
     {"address": "coordinator.lab:7070", "namespace": "audio"}),
    ({"namespace": "text", "request-timeout": 5}, "lab",
     {"PACELINE_NAMESPACE": "audio", "PACELINE_REQUEST_TIMEOUT": "10s"},
     {"namespace": "text", "request_timeout": 5.0, "namespace_given": True}),
    # A variable that is empty is none; an argument that is empty counts.
    ({"address": ""}, None, {"PACELINE_NAMESPACE": ""},
     {"address": "", "namespace": "default"}),
    ({"insecure-plaintext": False}, None,
     {"PACELINE_INSECURE_PLAINTEXT": "TRUE"}, {"insecure_plaintext": False}),
    ({}, None, {"PACELINE_INSECURE_PLAINTEXT": "1"},
     {"insecure_plaintext": True}),
]


@pytest.mark.parametrize("arguments,context,environment,wanted", SETTINGS)
def test_a_setting_is_that_of_the_first_that_has_it(
        config, arguments, context, environment, wanted):
    pytest.importorskip("yaml")
    found = resolve_connection(
        arguments, context,
        environment={"PACELINE_CONFIG": str(config), **environment})
    assert {name: getattr(found, name) for name in wanted} == wanted


def test_files_count_from_the_folder_of_the_config_file(config):
    pytest.importorskip("yaml")
    lab = resolve_connection({}, "lab", str(config), {})
    assert lab.tls_ca == str(config.parent / "lab-ca.pem")
    assert lab.tls_key == str(config.parent / "keys" / "me.key")
    assert lab.tls_cert == "/etc/me.pem"


def test_the_config_file_is_found_where_the_command_finds_it(tmp_path):
    folder = tmp_path / ".config" / "paceline"
    folder.mkdir(parents=True)
    # JSON is YAML, and needs no package.
    text = ('{"current-context": "a", "contexts": {"a": {"address": '
            '"127.0.0.1:%d"}}}')
    (folder / "config.yaml").write_text(text % 1)
    other = tmp_path / "other" / "paceline"
    other.mkdir(parents=True)
    (other / "config.yaml").write_text(text % 2)
    named = tmp_path / "named.yaml"
    named.write_text(text % 3)
    home = {"HOME": str(tmp_path)}
    xdg = {**home, "XDG_CONFIG_HOME": str(tmp_path / "other")}
    for environment, port in ((home, 1), (xdg, 2),
                              ({**xdg, "PACELINE_CONFIG": str(named)}, 3)):
        assert resolve_connection({}, environment=environment).address == (
            f"127.0.0.1:{port}")
    assert resolve_connection({}, environment={}).address == ""


def test_without_pyyaml_a_config_file_in_yaml_is_not_passed_over(
        config, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(api_errors.InvalidArgument, match="PyYAML"):
        resolve_connection({"address": "127.0.0.1:1"}, None, str(config), {})


WRONG_FILES = [
    "contexts: {a: {adress: x}}",
    "contexts: {a: {address: [x]}}",
    "contexts: {a: 3}",
    "contexts: 3",
    "current-contexts: a",
    "- a",
    'contexts: {"": {address: x}}',
    "contexts: {%s: {address: x}}" % ("n" * 129),
    'contexts: {a: {address: "x\\ty"}}',
    "current-context: none\ncontexts: {a: {}, b: {}}",
    "current-context: none",
]


@needs_programs
@pytest.mark.parametrize("text", WRONG_FILES)
def test_wrong_files_are_refused_in_the_words_of_the_command(tmp_path, text):
    pytest.importorskip("yaml")
    file = tmp_path / "config.yaml"
    file.write_text(text + "\n")
    environment = {"PACELINE_CONFIG": str(file)}
    code, _, said = run_command("job", "list", environment=environment)
    assert code in (2, 3), said
    kind = (api_errors.NotFound if code == 3 else api_errors.InvalidArgument)
    with pytest.raises(kind) as refused:
        resolve_connection({}, environment=environment)
    assert f"paceline: {refused.value}\n" == said


WRONG_ARGUMENTS = [
    ({}, "no coordinator is named"),
    ({"address": "10.0.0.1:7070"}, "may be another machine, without TLS"),
    ({"address": "localhost:99999"}, 'has the port "99999"'),
    ({"address": "localhost:1", "namespace": "a/b"}, "without slashes"),
    ({"address": "localhost:1", "tls_cert": "a"}, "need each other"),
    ({"address": "localhost:1", "tls_cert": "a", "tls_key": "b"},
     "tls_cert needs tls_ca"),
    ({"address": "localhost:1", "tls_server_name": "a"},
     "tls_server_name needs tls_ca"),
    ({"address": "localhost:1", "tls_ca": "a", "insecure_plaintext": True},
     "contradicts"),
    ({"address": "localhost:1", "request_timeout": "soon"}, "no duration"),
    ({"address": "localhost:1", "request_timeout": "25h"}, "from 1ms to 24h"),
    ({"address": "localhost:1", "tls_ca": __file__}, "holds no certificate"),
    ({"address": "localhost:1", "token_file": __file__}, "one word"),
]


@pytest.mark.parametrize("arguments,says", WRONG_ARGUMENTS)
def test_settings_that_cannot_be_are_refused_at_once(arguments, says,
                                                     monkeypatch):
    for name in [name for name in os.environ if name.startswith("PACELINE_")]:
        monkeypatch.delenv(name)
    with pytest.raises(api_errors.InvalidArgument, match=re.escape(says)):
        paceline.Client(config_file="", **arguments)


@pytest.mark.parametrize("address,host,port,loopback", [
    ("localhost:1", "localhost", "1", True),
    ("[::1]:80", "::1", "80", True),
    ("ipv6:%5B::1%5D:80", "::1", "80", True),
    ("dns:///node7:80", "node7", "80", False),
    ("::1", "::1", None, True),
    ("127.8.0.1:5", "127.8.0.1", "5", True),
    ("::ffff:127.0.0.1", "::ffff:127.0.0.1", None, True),
    ("10.0.0.1:5", "10.0.0.1", "5", False),
    ("unix:/run/x", "unix", "/run/x", True),
])
def test_addresses_are_taken_apart(address, host, port, loopback):
    assert is_loopback(address) is loopback
    if not address.startswith("unix"):
        assert split_address(address) == (host, port)


@pytest.mark.parametrize("text,seconds", [
    ("20ms", 0.02), ("1m30s", 90), ("2.5", 2.5), (2.5, 2.5), ("-1.5h", -5400),
    ("1h2m3.5s", 3723.5), ("100us", 1e-4)])
def test_durations_are_those_of_the_command(text, seconds):
    assert parse_duration("it", text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "1 s", "1d", "s1", "nan", "inf",
                                  None, True, "1m-30s"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="it .*no duration"):
        parse_duration("it", text)


class Secured:
    """A coordinator with TLS, and the certificates of several callers."""

    def __init__(self, folder):
        self.tls = folder / "tls"
        for directory in (self.tls, folder / "foreign"):
            subprocess.run(
                [BIN / "paceline", "certificate", "ensure", "--directory",
                 directory, "--days", "30", "--renew-before-days", "1",
                 "coordinator=coordinator/coordinator,coordinator.lab,127.0.0.1",
                 "e0=worker/e0", "alice=admin/alice", "bob=viewer/bob"],
                check=True, capture_output=True, timeout=LONG)
        self.foreign = folder / "foreign"
        self.token = folder / "carol.token"
        self.token.write_text("0123456789abcdef\n")
        digest = hashlib.sha256(b"0123456789abcdef").hexdigest()
        tokens = folder / "tokens"
        tokens.write_text(f"carol admin sha256:{digest}\n")
        own = self.tls / "coordinator"
        worker = self.tls / "e0"
        self.cluster = start_cluster(
            folder, servers=0, workers=0,
            coordinator=["--tls-cert", own / "tls.crt", "--tls-key",
                         own / "tls.key", "--tls-ca", own / "ca.crt",
                         "--tls-client-auth", "optional",
                         "--token-file", tokens],
            evaluator=["--tls-cert", worker / "tls.crt", "--tls-key",
                       worker / "tls.key", "--tls-ca", worker / "ca.crt"])

    def of(self, name, folder=None):
        place = (folder or self.tls) / name
        return {"tls_ca": str(self.tls / name / "ca.crt"),
                "tls_cert": str(place / "tls.crt"),
                "tls_key": str(place / "tls.key")}

    def client(self, **settings):
        return paceline.Client(self.cluster.address, config_file="",
                               request_timeout=20, **settings)


@pytest.fixture(name="secured", scope="module")
def fixture_secured(tmp_path_factory):
    secured = Secured(tmp_path_factory.mktemp("secured"))
    yield secured
    secured.cluster.stop()


@needs_programs
def test_certificates_and_tokens_say_who_calls(secured):
    alice = secured.client(**secured.of("alice"))
    assert alice.list_jobs() == []
    job = {"name": "one", "spec": {"model": "logreg",
                                   "data": "synthetic:tiny"}}
    assert alice.create_job(job).state == "PENDING"
    bob = secured.client(**secured.of("bob"))
    assert [found.id for found in bob.list_jobs()] == ["one"]
    with pytest.raises(api_errors.PermissionDenied) as refused:
        bob.cancel_job("one")
    assert refused.value.reason == "ROLE_NOT_ALLOWED"
    carol = secured.client(tls_ca=secured.of("alice")["tls_ca"],
                           token_file=str(secured.token))
    assert next(carol.watch_job("one", timeout=LONG)).job.id == "one"
    carol.cancel_job("one")
    # A token is exchanged while the client lives.
    secured.token.write_text("another-word")
    with pytest.raises(api_errors.Unauthenticated) as refused:
        carol.list_jobs()
    assert refused.value.reason == "BAD_TOKEN"
    secured.token.write_text("0123456789abcdef\n")
    carol.delete_job("one")


@needs_programs
def test_another_name_of_the_coordinator_is_given(secured):
    of = secured.of("alice")
    named = secured.client(tls_server_name="coordinator.lab", **of)
    assert named.list_jobs() == []
    with pytest.raises(api_errors.Unauthenticated) as refused:
        secured.client(tls_server_name="elsewhere.lab", **of).list_jobs()
    assert refused.value.reason == "SERVER_NOT_TRUSTED"
    assert "is for other names" in str(refused.value)


@needs_programs
def test_what_is_wrong_with_credentials_is_told_at_once(secured):
    of = secured.of("alice")
    strange = {**of, "tls_ca": str(secured.foreign / "alice" / "ca.crt")}
    for settings, reason in (
            ({"tls_ca": of["tls_ca"]}, "NO_CREDENTIALS"),
            ({}, "NO_CREDENTIALS"),
            (strange, "SERVER_NOT_TRUSTED"),
            (secured.of("alice", secured.foreign), "BAD_CERTIFICATE")):
        with pytest.raises(api_errors.Unauthenticated) as refused:
            secured.client(**settings).list_jobs()
        assert refused.value.reason == reason, refused.value
        assert refused.value.tries == 1
        with pytest.raises(api_errors.Unauthenticated) as refused:
            list(secured.client(**settings).watch_job("any", timeout=LONG))
        assert refused.value.reason == reason, refused.value


@needs_programs
def test_tls_to_a_cluster_without_is_told(secured, tmp_path):
    cluster = start_cluster(tmp_path, servers=0, workers=0)
    try:
        with pytest.raises(api_errors.FailedPrecondition) as refused:
            paceline.Client(cluster.address, config_file="",
                            **secured.of("alice")).list_jobs()
        assert refused.value.reason == "NO_TLS"
    finally:
        cluster.stop()


@needs_programs
def test_a_context_that_the_command_wrote_is_enough(secured, tmp_path):
    pytest.importorskip("yaml")
    environment = {"PACELINE_CONFIG": str(tmp_path / "config.yaml")}
    of = secured.of("alice")
    code, _, said = run_command(
        "config", "set-context", "lab", "--address", secured.cluster.address,
        "--tls-ca", of["tls_ca"], "--tls-cert", of["tls_cert"], "--tls-key",
        of["tls_key"], "-n", "vision", environment=environment)
    assert code == 0, said
    code, _, said = run_command("config", "use-context", "lab",
                                environment=environment)
    assert code == 0, said
    client = paceline.Client(config_file=environment["PACELINE_CONFIG"])
    assert (client.address, client.namespace) == (secured.cluster.address,
                                                  "vision")
    job = client.create_job({"name": "in-a-context", "spec": {
        "model": "logreg", "data": "synthetic:tiny"}}, dry_run=True)
    assert job.name == "namespaces/vision/jobs/in-a-context"
