#!/usr/bin/python3
"""The built-in `mlp`, numpy's and torch's come to the same weights.

    same_numbers_test.py BIN_DIR SOURCE_DIR

Each trains 200 steps under BSP, one worker and two servers, from the same
weights on the same samples. numpy's has the bits of the built-in where both
have the same OpenBLAS: it asks for the same products, and does the rest in the
same order. torch's differ in the last bits: it adds a bias into the product
and not after it, and takes exponentials eight at a time from a library of its
own. The servers' updates are torch's but for the order of roundings.
"""

import os
import pathlib
import shutil
import struct
import sys
import tempfile
import unittest

BIN = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-numbers-"))
PROGRAMS = pathlib.Path(__file__).resolve().parent / "same_numbers_programs.py"
SAMPLES, SIDE, EPOCHS = 800, 14, 8  # 25 steps of 32 an epoch.
RATE, MOMENTUM = 0.01, 0.9
CLOSE = 1e-6  # Of a tensor's largest weight.


def write_idx(path, array):
    path.write_bytes(bytes((0, 0, 8, array.ndim))
                     + struct.pack(f">{array.ndim}I", *array.shape)
                     + array.tobytes())


def write_data(folder):
    """Noise around a figure for each of ten classes, as MNIST's files."""
    drawn = np.random.default_rng(5)
    figures = drawn.integers(0, 160, (10, SIDE, SIDE))
    labels = drawn.integers(0, 10, SAMPLES)
    noise = drawn.integers(0, 96, (SAMPLES, SIDE, SIDE))
    write_idx(folder / "train-images-idx3-ubyte",
              (figures[labels] + noise).astype(np.uint8))
    write_idx(folder / "train-labels-idx1-ubyte", labels.astype(np.uint8))


def draw_weights():
    drawn = np.random.default_rng(6)
    weights = {}
    for name, shape in programs.shapes(SIDE * SIDE).items():
        bound = (3 / shape[-1]) ** 0.5
        weights[name] = drawn.uniform(-bound, bound, shape).astype(np.float32)
    return weights


def blas_of(pid):
    """The files of the OpenBLAS that a process uses, if it is shared."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if "/libopenblas" in line}


def plain_loop(folder, weights):
    """Torch without paceline, on the samples that numpy's program was told."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(1)
    x, y = map(torch.from_numpy, programs.load(folder))
    model = programs.make_torch_model(x.shape[1])
    model.load_state_dict({name: torch.from_numpy(value)
                           for name, value in weights.items()})
    optimizer = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)
    for line in (folder / "numpy.order").read_text().splitlines():
        part = [int(word) for word in line.split()]
        optimizer.zero_grad()
        F.cross_entropy(model(x[part]), y[part]).backward()
        optimizer.step()
    return {name: value.detach().numpy()
            for name, value in model.state_dict().items()}


def distance(a, b):
    """The greatest difference of a weight, as a part of its tensor's
    largest."""
    return max(float(np.abs(a[name] - b[name]).max() / np.abs(a[name]).max())
               for name in a)


class SameNumbersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        data = SCRATCH / "data"
        data.mkdir()
        write_data(data)
        cls.initial = draw_weights()
        paceline.save_initial(cls.initial, SCRATCH / "initial")
        own = {kind: ["--program", kind, "--exec",
                      "OMP_NUM_THREADS=1 exec "
                      f"{sys.executable} {PROGRAMS} {kind} {data}"]
               for kind in ("numpy", "torch")}
        cluster = RealCluster(
            BIN, SCRATCH, 2, [("builtin", ["--data-root", SCRATCH]),
                              *own.items()])
        cls.addClassCleanup(cluster.stop)
        commands = JobCommands(BIN, SCRATCH, cluster.address)
        cls.found = {"builtin": cls.train("builtin", commands, model="mlp",
                                          data="mnist:data")}
        for kind in own:
            cls.found[kind] = cls.train(kind, commands, data="program",
                                        model=f"program:{kind}")
        cls.found["plain torch"] = plain_loop(data, cls.initial)
        cls.blas = blas_of(cluster.processes["builtin"].pid)

    @staticmethod
    def train(name, commands, **spec):
        """The weights that a job comes to."""
        commands.create(
            name, batch_size=programs.BATCH, learning_rate=RATE,
            optimizer=f"sgd:momentum={MOMENTUM}", schedule="constant",
            paradigm="bsp", seed="3", workers={"min": 1, "max": 1}, servers=2,
            stop={"epochs": EPOCHS}, evaluation={"disabled": True},
            initial_weights=str(SCRATCH / "initial"), **spec)
        commands.await_state(name, "SUCCEEDED")
        assert commands.samples(name) == EPOCHS * SAMPLES
        return paceline.load_checkpoint(
            commands.newest_checkpoint(name)["directory"], as_numpy=True)

    def test_all_come_to_the_same_weights(self):
        self.assertGreater(distance(self.initial, self.found["builtin"]), 0.01,
                           "nothing was learnt")
        names = list(self.found)
        for name in names:
            self.assertEqual(list(self.found[name]), list(self.initial))
        for i, a in enumerate(names):
            for b in names[i + 1:]:
                far = distance(self.found[a], self.found[b])
                print(f"{a} and {b}: {far:.2g}", flush=True)
                self.assertLess(far, CLOSE, (a, b))

    def test_numpy_s_have_the_bits_of_the_built_in_s(self):
        numpys = blas_of(os.getpid())
        if not self.blas or not self.blas <= numpys:
            self.skipTest(f"the built-in's BLAS is {self.blas or 'static'}, "
                          f"numpy's {numpys}: they may add in other orders")
        for name, weights in self.found["builtin"].items():
            self.assertEqual(weights.tobytes(),
                             self.found["numpy"][name].tobytes(), name)


if __name__ == "__main__":
    try:
        import numpy as np
        import torch  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    BIN, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    package = str(SOURCE / "services" / "worker" / "python")
    sys.path.insert(0, package)
    os.environ.update(PYTHONPATH=package, PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    import paceline
    import same_numbers_programs as programs
    from job_commands import JobCommands
    from real_cluster import RealCluster
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
