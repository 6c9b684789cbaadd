"""Checkpoints that servers wrote, damaged ones, and those we write."""

import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys

import numpy
import pytest

from client_cluster import (BIN, LONG, PACKAGE, needs_programs,
                            prepare_messages, start_cluster)

sys.path.insert(0, str(PACKAGE))

from paceline.checkpoint import (CheckpointError, load_checkpoint,  # noqa: E402
                                 save_initial)

SHARD = "server-0-of-1.safetensors"


def header_of(file):
    """The JSON of a safetensors file, and its data, read by hand."""
    data = pathlib.Path(file).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:]


def write_safetensors(file, tensors):
    """Name to (dtype, shape, bytes)."""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    pathlib.Path(file).write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.fixture(name="state")
def fixture_state():
    """What a small model holds, numpy's."""
    draw = numpy.random.default_rng(3)
    return {"conv.weight": draw.normal(size=(4, 3, 3, 3)).astype("f4"),
            "norm.running_var": draw.random(4).astype("f4"),
            "scale": numpy.float32(2.5).reshape(()),
            "head.weight": draw.normal(size=(2, 4)).astype("f2"),
            "norm.num_batches_tracked": numpy.int64(7).reshape(())}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path, state):
    folder = tmp_path / "initial"
    save_initial(state, folder)
    return folder


def test_what_was_written_is_read_again(folder, state):
    found = load_checkpoint(folder, as_numpy=True)
    # Whole numbers are not what servers hold.
    assert list(found) == ["conv.weight", "norm.running_var", "scale",
                           "head.weight"]
    for name, array in found.items():
        assert array.dtype == numpy.float32 and array.flags.writeable
        numpy.testing.assert_array_equal(array, state[name].astype("f4"))
        assert array.shape == state[name].shape
    with pytest.raises(CheckpointError, match="holds a checkpoint already"):
        save_initial(state, folder)


@needs_programs
def test_the_command_finds_it_whole(folder, state, tmp_path):
    subprocess.run([BIN / "paceline", "checkpoint", "verify", folder],
                   check=True, timeout=LONG)
    exported = tmp_path / "whole.safetensors"
    subprocess.run([BIN / "paceline", "checkpoint", "export", folder, "-o",
                    exported], check=True, timeout=LONG)
    found = load_checkpoint(exported, as_numpy=True)
    numpy.testing.assert_array_equal(found["conv.weight"],
                                     state["conv.weight"])


def test_models_of_torch_go_there_and_back(tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)

    def make():
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4),
            torch.nn.Flatten(), torch.nn.Linear(16, 16, bias=False),
            torch.nn.Linear(16, 16, bias=False))
        model[4].weight = model[3].weight  # Tied.
        return model

    model = make()
    model(torch.randn(8, 1, 4, 4))  # Moves the running statistics.
    save_initial(model.bfloat16().float(), tmp_path / "model")
    found = load_checkpoint(tmp_path / "model")
    names = [name for name, _ in model.named_parameters()]
    assert [name for name in found if "running" not in name] == names
    other = make()
    missing, unexpected = other.load_state_dict(found, strict=False)
    assert {"4.weight"} <= set(missing) <= {"4.weight",
                                            "1.num_batches_tracked"}
    assert not unexpected
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            assert torch.equal(other.state_dict()[name], tensor), name
    document = json.loads((tmp_path / "model" / "manifest.json").read_text())
    assert {tensor["name"] for tensor in document["tensors"]
            if tensor["statistic"]} == {"1.running_mean", "1.running_var"}
    # What is read is the caller's own.
    found["0.bias"].add_(1)
    assert not torch.equal(found["0.bias"],
                           load_checkpoint(tmp_path / "model")["0.bias"])


def test_every_type_of_one_file_is_read(tmp_path):
    torch = pytest.importorskip("torch")
    file = tmp_path / "types.safetensors"
    # 1.5 and -2 in 16 bits, as IEEE 754 and bfloat16 have them.
    write_safetensors(file, {
        "half": ("F16", [2], struct.pack("<2e", 1.5, -2)),
        "brain": ("BF16", [1, 2], struct.pack("<2H", 0x3FC0, 0xC000)),
        "single": ("F32", [2], struct.pack("<2f", 1.5, -2)),
        "double": ("F64", [], struct.pack("<d", 0.1)),
        "count": ("I64", [1], struct.pack("<q", -3)),
        "none": ("F32", [0, 3], b"")})
    found = load_checkpoint(file)
    assert {name: tensor.dtype for name, tensor in found.items()} == {
        "half": torch.float16, "brain": torch.bfloat16,
        "single": torch.float32, "double": torch.float64,
        "count": torch.int64, "none": torch.float32}
    for name in ("half", "brain", "single"):
        assert found[name].float().reshape(-1).tolist() == [1.5, -2], name
    assert found["none"].shape == (0, 3) and found["brain"].shape == (1, 2)
    arrays = load_checkpoint(file, as_numpy=True)
    assert arrays["brain"].dtype == numpy.float32
    assert arrays["brain"].tolist() == [[1.5, -2]]
    assert arrays["half"].dtype == numpy.float16
    assert arrays["double"] == 0.1 and arrays["count"].tolist() == [-3]


# Ways to spoil a folder, and what is said then.
def flip_a_weight(folder):
    data = bytearray((folder / SHARD).read_bytes())
    data[-1] ^= 1
    (folder / SHARD).write_bytes(data)


def cut_off(folder):
    data = (folder / SHARD).read_bytes()
    (folder / SHARD).write_bytes(data[:-1])


def change_header(change):
    """With a digest and a size that fit, as an attacker's would."""
    def spoil(folder):
        header, data = header_of(folder / SHARD)
        change(header)
        text = json.dumps(header).encode()
        content = struct.pack("<Q", len(text)) + text + data
        (folder / SHARD).write_bytes(content)
        sign(folder, content)
    return spoil


def sign(folder, content):
    def change(document):
        document["files"][0].update(
            bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    change_manifest(change)(folder)


def change_manifest(change):
    def spoil(folder):
        document = json.loads((folder / "manifest.json").read_text())
        change(document)
        (folder / "manifest.json").write_text(json.dumps(document))
    return spoil


def write_manifest(text):
    return lambda folder: (folder / "manifest.json").write_text(text)


def a_pipe(folder):
    (folder / SHARD).unlink()
    os.mkfifo(folder / SHARD)
    change_manifest(lambda d: d["files"][0].update(bytes=0))(folder)


def swap(header):
    header["conv.weight/0"], header["head.weight/0"] = (
        header["head.weight/0"], header["conv.weight/0"])


DAMAGE = [
    (flip_a_weight, "has changed since it was written"),
    (cut_off, "bytes; .* were written"),
    (lambda folder: (folder / SHARD).unlink(), "is missing"),
    (lambda folder: (folder / "manifest.json").unlink(),
     "is no complete checkpoint: it has no manifest.json"),
    (a_pipe, "no plain file|more than its files have"),
    (write_manifest('{"format"'), "it is not JSON"),
    (write_manifest("[" * 100_000), "it is not JSON"),
    (write_manifest("{}"), "format is missing"),
    (write_manifest("[]"), "it is not an object"),
    (change_manifest(lambda d: d.update(format="zip")), "format is not"),
    (change_manifest(lambda d: d.update(format_version=2)),
     "use a newer paceline"),
    (change_manifest(lambda d: d["files"][0].update(name="../../etc/passwd")),
     "needs a plain name"),
    (change_manifest(lambda d: d["files"][0].update(name="a/b.safetensors")),
     "needs a plain name"),
    (change_manifest(lambda d: d["files"][0].update(sha256="0")),
     "64 hexadecimal digits"),
    (change_manifest(lambda d: d["tensors"][0].update(shape=[2**40])),
     r"tensors\[0\].shape is impossible"),
    (change_manifest(lambda d: d["tensors"][0].update(shape=[-4, -27])),
     "not a whole number"),
    (change_manifest(lambda d: d["tensors"][0].update(shape=[True])),
     "not a whole number"),
    (change_manifest(lambda d: d["tensors"][1].update(name="conv.weight")),
     "another tensor's too"),
    (change_manifest(lambda d: d["blocks"][0].update(offset=1)),
     "does not lie within its tensor"),
    (change_manifest(lambda d: d["blocks"][0].update(size=107)),
     "do not cover the tensor"),
    (change_manifest(lambda d: d["blocks"][0].update(tensor=9)),
     "not the index of a tensor"),
    (change_manifest(lambda d: d["blocks"].append(
        {**d["blocks"][-1], "id": 99})), "overlap"),
    (change_manifest(lambda d: d.pop("blocks")), "blocks is missing"),
    # A terabyte that no file has is not taken.
    (change_manifest(lambda d: (
        d["tensors"][0].update(shape=[2**38]),
        d["blocks"][0].update(size=2**38))), "more than its files have"),
    (change_header(lambda h: h.pop("__metadata__")
                   and h.update({"more": h.pop("conv.weight/0")})),
     '"conv.weight/0" is missing'),
    (change_header(swap), "as the manifest says"),
    (change_header(lambda h: h["conv.weight/0"].update(dtype="I32")),
     "as the manifest says"),
    (change_header(lambda h: h["conv.weight/0"].update(dtype="pickle")),
     "the dtype 'pickle' is unknown"),
    (change_header(lambda h: h["conv.weight/0"].update(shape=[27])),
     "which is not the size of"),
    (change_header(lambda h: h["conv.weight/0"].update(
        data_offsets=[0, 432])), "tensors overlap|there is a hole"),
    (change_header(lambda h: h["conv.weight/0"].update(
        data_offsets=[-1, 431])), "are not two sizes"),
    (change_header(lambda h: h["conv.weight/0"].update(extra=1)),
     "nothing else"),
]


RAW = [
    (struct.pack("<Q", 2**63) + b"{}", "at most 100000000"),
    (struct.pack("<Q", 99) + b"{}", "it has been cut off"),
    (b"{}", "no header"),
    (struct.pack("<Q", 2) + b"[]", "does not begin with {"),
    (struct.pack("<Q", 8) + b'{"a":1}x', "it is no JSON"),
    (struct.pack("<Q", 14) + b'{"a":1, "a":2}', "there twice"),
    (struct.pack("<Q", 2) + b"{}" + b"tail",
     "something is appended"),
]


@pytest.mark.parametrize("content,says", RAW)
def test_a_file_that_is_none_of_the_format_gets_a_clear_error(
        tmp_path, content, says):
    (tmp_path / SHARD).write_bytes(content)
    with pytest.raises(CheckpointError, match=says):
        load_checkpoint(tmp_path / SHARD, as_numpy=True)


@pytest.mark.parametrize("number", range(len(DAMAGE)))
def test_a_damaged_checkpoint_gets_a_clear_error(folder, number):
    spoil, says = DAMAGE[number]
    spoil(folder)
    with pytest.raises(CheckpointError, match=says):
        load_checkpoint(folder, as_numpy=True)


@needs_programs
def test_the_command_refuses_the_same(tmp_path, state):
    for number, (spoil, _) in enumerate(DAMAGE):
        folder = tmp_path / str(number)
        save_initial(state, folder)
        spoil(folder)
        done = subprocess.run(
            [BIN / "paceline", "checkpoint", "verify", folder],
            capture_output=True, timeout=LONG, check=False)
        assert done.returncode != 0, f"damage {number}"


def test_what_cannot_be_written_is_refused(tmp_path, state):
    for value, says in ((numpy.nan, "not finite"), (numpy.inf, "not finite")):
        state["scale"] = numpy.full((), value, "f4")
        with pytest.raises(CheckpointError, match=f'"scale" .*{says}'):
            save_initial(state, tmp_path / "bad")
    assert not (tmp_path / "bad").exists()
    with pytest.raises(CheckpointError, match="no elements"):
        save_initial({"a": numpy.zeros((0, 2), "f4")}, tmp_path / "bad")
    with pytest.raises(CheckpointError, match="no floating-point tensor"):
        save_initial({"a": numpy.zeros(2, "i4")}, tmp_path / "bad")
    with pytest.raises(TypeError, match="no tensor and no array"):
        save_initial({"a": [1.0]}, tmp_path / "bad")
    with pytest.raises(TypeError, match="torch module or a dict"):
        save_initial([1.0], tmp_path / "bad")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="file"):
        save_initial({"a": numpy.zeros(2, "f4")}, tmp_path / "file")


def test_a_bucket_is_refused_with_what_to_do_instead(state):
    with pytest.raises(CheckpointError, match="paceline checkpoint export"):
        load_checkpoint("s3://models/mnist", as_numpy=True)
    with pytest.raises(CheckpointError, match="manifest.json last"):
        save_initial(state, "s3://models/mnist")


def test_without_torch_a_sentence_names_the_other_way(folder):
    script = (f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); "
              "sys.modules['torch'] = None; import paceline\n"
              f"try:\n    paceline.load_checkpoint({str(folder)!r})\n"
              "except ImportError as error:\n    print(error)\n")
    said = subprocess.run([sys.executable, "-c", script], capture_output=True,
                          text=True, timeout=LONG, check=True).stdout
    assert said == ("load_checkpoint() gives torch tensors: install torch, or "
                    "say as_numpy=True\n")


MODEL = {"model": "lenet5", "data": "synthetic:shapes", "seed": 3,
         "evaluation": {"disabled": True}}


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(tmp_path_factory):
    cluster = start_cluster(tmp_path_factory.mktemp("cluster"), servers=3,
                            step_time="1ms")
    yield cluster
    assert set(cluster.stop()) == {0}


@pytest.fixture(name="client")
def fixture_client(cluster):
    prepare_messages()
    import paceline
    with paceline.Client(cluster.address, config_file="") as client:
        yield client


def trained(client, name, **fields):
    """A job's last checkpoint."""
    client.create_job({"name": name, "spec": {**MODEL, **fields}})
    client.wait_for_job(name, timeout=LONG)
    return client.list_checkpoints(name)[0]


@needs_programs
def test_what_three_servers_wrote_is_read_whole(client, tmp_path):
    saved = trained(client, "three", optimizer="adam",
                    stop={"samples": 640})
    assert saved.servers == 3
    found = load_checkpoint(saved.directory, as_numpy=True)
    # Against the headers of the files and the bytes behind them, by hand.
    folder = pathlib.Path(saved.directory)
    document = json.loads((folder / "manifest.json").read_text())
    assert [t["name"] for t in document["tensors"]] == list(found)
    seen = 0
    for file in folder.glob("*.safetensors"):
        header, data = header_of(file)
        for name, entry in header.items():
            tensor, _, offset = name.rpartition("/")
            if not offset.isdigit():
                continue
            begin, end = entry["data_offsets"]
            flat = found[tensor].reshape(-1)[int(offset):]
            assert flat[:entry["shape"][0]].tobytes() == data[begin:end]
            seen += entry["shape"][0]
    assert seen == sum(array.size for array in found.values())
    exported = tmp_path / "whole.safetensors"
    subprocess.run([BIN / "paceline", "checkpoint", "export", folder, "-o",
                    exported], check=True, timeout=LONG)
    for name, array in load_checkpoint(exported, as_numpy=True).items():
        numpy.testing.assert_array_equal(array, found[name])


@needs_programs
def test_an_exported_model_says_how_to_use_it(client, tmp_path):
    pytest.importorskip("torch")
    saved = trained(client, "lenet", model="lenet5", stop={"samples": 320})
    exported = tmp_path / "lenet5.safetensors"
    subprocess.run([BIN / "paceline", "checkpoint", "export", saved.directory,
                    "-o", exported], check=True, timeout=LONG)
    told = header_of(exported)[0]["__metadata__"]
    assert told.pop("paceline_version")
    assert int(told.pop("version")) > 0
    assert told == {"format": "pt", "job": "namespaces/default/jobs/lenet",
                    "model": "lenet5", "data": "synthetic:shapes",
                    "samples": "320", "normalization": "[[0.5000, 0.2500]]"}
    # Two images of MNIST's form.
    images, labels = bytes(2 * 28 * 28), bytes([3, 4])
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(
        struct.pack(">IIII", 0x803, 2, 28, 28) + images)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(
        struct.pack(">II", 0x801, 2) + labels)
    done = subprocess.run(
        [sys.executable, PACKAGE / "examples" / "load_weights.py", exported,
         tmp_path], env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        stdout=subprocess.PIPE, text=True, check=True, timeout=LONG)
    assert "job           namespaces/default/jobs/lenet\n" in done.stdout
    # Both look alike, so one of them at most is right.
    assert done.stdout.endswith(("accuracy 0.0000\n", "accuracy 0.5000\n"))


@needs_programs
def test_a_checkpoint_has_the_newest_evaluation(client):
    client.create_job({"name": "measured", "spec": {
        **MODEL, "stop": {"epochs": 100}, "evaluation": {"every": 320}}})
    for _ in client.watch_job("measured"):
        if client.accuracy_curve("measured"):
            break
    saved = client.create_checkpoint("measured", name="now", timeout=LONG)
    manifest = pathlib.Path(saved.directory) / "manifest.json"
    found = json.loads(manifest.read_text())["evaluation"]
    assert (found["samples"], found["accuracy"]) in [
        (point.samples, point.accuracy)
        for point in client.accuracy_curve("measured")]
    client.cancel_job("measured")
    client.wait_for_job("measured", "CANCELLED", timeout=LONG)


@needs_programs
def test_a_job_begins_with_the_weights_that_we_wrote(client, tmp_path):
    first = load_checkpoint(trained(client, "source", stop={"samples": 640})
                            .directory, as_numpy=True)
    save_initial(first, tmp_path / "initial")
    # Nothing is learned at this rate: what comes out is what went in.
    second = trained(client, "goes-on", stop={"samples": 64},
                     learning_rate=1e-30, optimizer="sgd",
                     initial_weights=str(tmp_path / "initial"))
    assert second.version == 1 and second.samples == 64
    found = load_checkpoint(second.directory, as_numpy=True)
    assert list(found) == list(first)
    for name, array in found.items():
        numpy.testing.assert_array_equal(array, first[name])
    # So does one from a checkpoint of the cluster's.
    third = trained(client, "from-that", stop={"samples": 64},
                    learning_rate=1e-30, optimizer="adam",
                    initial_weights=second.directory)
    numpy.testing.assert_array_equal(
        load_checkpoint(third.directory, as_numpy=True)["fc1.weight"],
        first["fc1.weight"])


@needs_programs
def test_initial_weights_that_do_not_fit_end_the_job_with_the_reason(
        client, tmp_path):
    from paceline.api_errors import InvalidArgument, JobEndedOtherwise
    first = load_checkpoint(trained(client, "whose", stop={"samples": 64})
                            .directory, as_numpy=True)
    names = list(first)
    wrong = dict(first)
    wrong[names[0]] = first[names[0]][:1]
    save_initial(wrong, tmp_path / "shape")
    save_initial({name: first[name] for name in names[1:]},
                 tmp_path / "missing")
    save_initial(first, tmp_path / "damaged")
    flip_a_weight(tmp_path / "damaged")
    for folder, says in (("shape", f'"{names[0]}" is '),
                         ("missing", f'have no tensor "{names[0]}"'),
                         ("damaged", "has changed since it was written"),
                         ("none", "is no complete checkpoint")):
        client.create_job({"name": folder, "spec": {
            **MODEL, "initial_weights": str(tmp_path / folder)}})
        with pytest.raises(JobEndedOtherwise, match="FAILED.*" + says):
            client.wait_for_job(folder, timeout=LONG)
    with pytest.raises(InvalidArgument, match="absolute path"):
        client.create_job({"spec": {**MODEL, "initial_weights": "shape"}})
