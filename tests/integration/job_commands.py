"""Jobs by the command `paceline`, as a person at a terminal has them."""

import json
import pathlib
import subprocess
import tempfile

from real_cluster import LONG, until

ENDS = ("SUCCEEDED", "FAILED", "CANCELLED")


class JobCommands:
    """Of the cluster at `address`; files go to `scratch`. `environment` has
    more variables for the command."""

    def __init__(self, bin_dir, scratch, address, environment=None):
        self.bin = bin_dir
        self.scratch = scratch
        self.environment = {"HOME": str(scratch), "PACELINE_ADDRESS": address,
                            **(environment or {})}

    def __call__(self, *words):
        """What the command prints. AssertionError if it fails."""
        done = subprocess.run(
            [self.bin / "paceline", *words],
            env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=LONG, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr}")
        return done.stdout

    def start(self, *words):
        """The command as a process, whose output nobody reads yet."""
        return subprocess.Popen(
            [self.bin / "paceline", *words],
            env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def create(self, name, **spec):
        path = self.scratch / f"{name}.json"
        path.write_text(json.dumps({"name": name, "spec": spec}))
        self("job", "create", "-f", str(path))

    def job(self, name):
        return json.loads(self("job", "get", name, "-o", "json"))

    def samples(self, name):
        return int(self.job(name).get("progress", {}).get("samples", 0))

    def await_state(self, name, *states):
        """The job, once it is in one of them. AssertionError if it ends in
        another one."""
        def look():
            job = self.job(name)
            if job["state"] in states:
                return job
            if job["state"] in ENDS:
                raise AssertionError(f"{name}: {job}")
            return None
        return until(f"{name} is {' or '.join(states)}", look)

    def await_more_samples(self, name, before):
        """So many samples, once there are more than `before`."""
        def look():
            job = self.job(name)
            if job["state"] in ENDS:
                raise AssertionError(f"{name}: {job}")
            found = int(job.get("progress", {}).get("samples", 0))
            return found if found > before else None
        return until(f"{name} has more than {before} samples", look)

    def newest_checkpoint(self, name):
        """Of those that are ready."""
        listed = json.loads(self("checkpoint", "list", name, "-o", "json"))
        ready = [point for point in listed["checkpoints"]
                 if point["state"] == "READY"]
        return max(ready, key=lambda point: int(point.get("samples", 0)))

    def tensors(self, name):
        """The bytes of each tensor of its newest checkpoint, whichever file
        has it: downloaded, as by somebody who does not see the folder."""
        found = {}
        directory = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        self("checkpoint", "download", name, "--to", str(directory))
        for path in sorted(directory.rglob("*.safetensors")):
            data = path.read_bytes()
            begin = 8 + int.from_bytes(data[:8], "little")
            header = json.loads(data[8:begin])
            header.pop("__metadata__", None)
            for tensor, its in header.items():
                first, last = its["data_offsets"]
                assert tensor not in found, (path, tensor)
                found[tensor] = data[begin + first:begin + last]
        return found
