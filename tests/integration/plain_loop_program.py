#!/usr/bin/python3
"""Torch scripts for plain_loop_test.py: what a loop may do, a case each.

The job's arguments: `case` is the name of one in CASES of
services/worker/python/tests/test_torch_same_numbers.py, or of a local
optimizer in LOCAL; `record` is a file, which gets a line of JSON for each
step: its samples, in order and by micro-batches, its loss, its iteration and
the version of its weights.
"""

import json
import pathlib

import test_torch_same_numbers as shared
import torch

import paceline
import paceline.torch as pl

LOCAL = {"local adamw": lambda model: torch.optim.AdamW(
    model.parameters(), lr=0.01, weight_decay=0.05)}
PUSH_EVERY, LOCAL_BATCH = 4, 8


def make_model(case):
    return shared.CASES.get(case, {}).get("model", shared.make_mlp)()


def attach(name, model):
    if name in LOCAL:
        return pl.attach(model, local=LOCAL[name](model),
                         push_every=PUSH_EVERY)
    case = shared.CASES[name]
    return pl.attach(model, optimizer=case["make"](model),
                     clip_norm=case.get("clip_norm"), amp=case.get("amp"),
                     overlap_overflow=case.get("overlap_overflow", False))


def main():
    name = paceline.arguments()["case"]
    model = make_model(name)
    # Whatever it knows comes from the job's initial weights.
    for value in model.state_dict().values():
        value.zero_()
    job = attach(name, model)
    data = torch.utils.data.TensorDataset(
        *shared.make_data()[:], torch.arange(shared.SAMPLES))
    autocast = shared.CASES.get(name, {}).get("autocast")
    path = pathlib.Path(job.arguments["record"])
    with open(f"{path}.{job.worker}", "w", buffering=1) as record:
        for step in job.steps(data):
            taken = []
            for x, y, samples in step:
                step.backward(shared.loss_of(model, x, y, autocast))
                taken.append(samples.tolist())
            print(json.dumps({"samples": taken, "loss": step.loss,
                              "iteration": step.iteration,
                              "version": job.version}),
                  file=record)


if __name__ == "__main__":
    main()
