"""Each example runs: alone, as a trainer, and as an evaluator."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any, Dict, List

import pytest

from conftest import HERE

EXAMPLES = HERE.parent / "examples"
PATIENCE = 300.0  # Seconds, of a busy machine.

# What the job says, and what the evaluation comes to after its steps.
CASES: Dict[str, Any] = {
    "mnist_cnn": dict(
        job=dict(optimizer="sgd:momentum=0.9", rate=0.02, batch_size=32,
                 micro_batch=32, steps=60),
        metric="accuracy", above=0.3),
    "cifar_resnet": dict(
        job=dict(optimizer="sgd:momentum=0.9,weight_decay=0.0001", rate=0.05,
                 batch_size=32, micro_batch=16, steps=24,
                 arguments={"amp": "bf16", "workers": "2"}),
        # Running averages of 24 steps are far behind weights that move fast,
        # in a plain loop too, so what it evaluates to is near chance yet, which
        # is 0.1 of 512 images: that it learns its losses in training say.
        metric="accuracy", above=0.04, loss=False),
    "char_transformer": dict(
        job=dict(optimizer="adamw:weight_decay=0.1", rate=1e-3, batch_size=32,
                 micro_batch=16, steps=30),
        metric="perplexity", above=1.0),
    "lora": dict(
        job=dict(optimizer="adamw", rate=0.01, batch_size=32, micro_batch=32,
                 steps=100),
        metric="accuracy", above=0.3),
    "tabular_mlp": dict(
        job=dict(optimizer="sgd:momentum=0.9", rate=0.05, batch_size=32,
                 micro_batch=16, steps=200, overlap=False,
                 events={3: "refresh", 5: "abandon", 7: "drop"}),
        metric="accuracy", above=0.5),
}


def run(name: str, *arguments: str, **environment: str) -> str:
    ended = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        env={**os.environ, "PYTHONPATH": str(HERE.parent), **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=PATIENCE)
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


@pytest.mark.parametrize("name", list(CASES))
def test_an_example_runs_alone(name: str, alone: None) -> None:
    assert "alone" in run(name)


@pytest.mark.parametrize("name", list(CASES))
def test_an_example_trains_and_evaluates(name: str, agent: Any) -> None:
    case = CASES[name]
    with agent(samples=0, **case["job"]) as trained:
        run(name)
    assert trained.error is None and not trained.gone
    steps = case["job"]["steps"] - len(trained.abandoned)
    assert len(trained.dones) == steps
    losses = [done.loss_sum / done.samples for done in trained.dones]
    quarter = steps // 4
    assert sum(losses[-quarter:]) < 0.95 * sum(losses[:quarter])

    weights = {tensor.name: tensor.value for tensor in trained.tensors}
    with agent(role="evaluator", evaluations=2, initialize=False,
               weights=weights,
               **{"arguments": case["job"].get("arguments", {}),
                  "optimizer": case["job"]["optimizer"]}) as evaluated:
        run(name)
    first, second = (answer["metrics"] for answer in evaluated.evaluated)
    assert first == second
    assert first[case["metric"]] > case["above"]
    assert first["loss"] < losses[0] or not case.get("loss", True)


def test_the_five_lines_are_marked() -> None:
    text = (EXAMPLES / "mnist_cnn.py").read_text()
    assert [f"# {number}:" in text for number in range(1, 6)] == [True] * 5


def test_only_adapters_leave_in_lora(agent: Any) -> None:
    with agent(samples=0, optimizer="adamw", steps=1) as ours:
        run("lora")
    assert [tensor.name for tensor in ours.tensors] == [
        "0.a", "0.b", "2.a", "2.b", "head.weight", "head.bias"]


@pytest.mark.parametrize("wire", ["bf16", "fp16"])
def test_the_protocol_from_scratch_knows_every_wire(wire: str,
                                                    agent: Any) -> None:
    """One step from the same weights on the same samples, rounded or not."""
    moved = {}
    for name in ("fp32", wire):
        with agent(samples=0, steps=1, wire=name, rate=1.0) as trained:
            run("tabular_mlp")
        assert trained.dones[0].finite
        moved[name] = {tensor.name: trained.initial[tensor.name] - tensor.value
                       for tensor in trained.tensors}
    for name, exact in moved["fp32"].items():
        # Half a unit in the last of 8 bits, or of 11, and what fp32 loses.
        bound = {"bf16": 2 ** -8, "fp16": 2 ** -11}[wire] * abs(exact) + 1e-6
        off = abs(moved[wire][name] - exact)
        assert (off <= bound).all() and off.any()


def test_the_protocol_from_scratch_pushes_no_overflow(agent: Any) -> None:
    with agent(samples=0, steps=2, rate=1e30) as trained:
        run("tabular_mlp")
    assert [done.finite for done in trained.dones] == [True, False]


def test_the_protocol_from_scratch_needs_positions(agent: Any) -> None:
    with agent(data="stream") as refused:
        with pytest.raises(AssertionError):
            run("tabular_mlp")
    assert refused.failed["code"] == "UNIMPLEMENTED"
    assert "stream" in refused.failed["message"]


def test_mnist_s_own_files(alone: None, tmp_path: pathlib.Path) -> None:
    """The example reads IDX files, packed or not."""
    import gzip
    import struct

    for split, count in (("train", 64), ("t10k", 20)):
        images = struct.pack(">IIII", 0x803, count, 28, 28)
        labels = struct.pack(">II", 0x801, count)
        rows: List[int] = [i % 10 for i in range(count)]
        (tmp_path / f"{split}-images-idx3-ubyte.gz").write_bytes(
            gzip.compress(images + bytes(count * 784)))
        (tmp_path / f"{split}-labels-idx1-ubyte").write_bytes(
            labels + bytes(rows))
    told = run("mnist_cnn", str(tmp_path))
    assert "1 epochs of 64 samples" in told and "accuracy 0.1" in told


PAGE = HERE.parents[3] / "docs" / "own-models.md"


def scripts() -> Dict[str, str]:
    """The scripts of the page that a new user follows, by their names."""
    found = {}
    for block in PAGE.read_text().split("```python\n")[1:]:
        code = block.split("```")[0]
        if code.startswith("# ") and code.split("\n")[0].endswith(".py"):
            found[code.split("\n")[0][2:]] = code
    return found


def test_the_page_s_scripts_run(alone: None, tmp_path: pathlib.Path) -> None:
    """Word for word, and both learn as much."""
    told = {}
    for name, code in scripts().items():
        script = tmp_path / name
        script.write_text(code)
        ended = subprocess.run(
            [sys.executable, str(script)], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=PATIENCE,
            env={**os.environ, "PYTHONPATH": str(HERE.parent)})
        assert ended.returncode == 0, ended.stdout
        told[name] = float(ended.stdout.split("accuracy ")[1].split()[0]
                           .rstrip(","))
    assert set(told) == {"plain.py", "train.py"}
    assert min(told.values()) > 0.7 and len(scripts()["train.py"]) < 2000


def test_the_page_s_five_lines_are_the_only_ones() -> None:
    plain = scripts()["plain.py"].split("optimizer =")[0].split("\n")
    marked = [line for line in scripts()["train.py"].split("\n")
              if any(f"# {number} " in line for number in range(1, 6))]
    assert len(marked) == 5
    kept = scripts()["train.py"].split("\n")
    assert len(plain) > 10
    for line in plain[1:]:  # All that makes data and model.
        assert line in kept
