"""Checks that includes point one way: protos <- common <- gpu <- services.

Coordinator, parameter server and worker are siblings: none includes anything of
another. Prints every finding and exits with 1 if there is one.
"""

import collections
import pathlib
import re
import subprocess
import sys

# What files below a folder may include, besides what is in that folder. The
# longest folder that holds a file counts.
MAY_INCLUDE = {
    "common": {"protos"},
    "gpu": {"common"},
    "services/coordinator": {"common", "protos"},
    # Pure: what is in common itself, and what a job's texts mean.
    "services/coordinator/sync": {"common", "common/job"},
    # Plays the rules in virtual time.
    "services/coordinator/planner": {"common", "services/coordinator",
                                     "services/simulator"},
    "services/parameter_server": {"common", "protos"},
    "services/worker": {"common", "protos", "gpu"},
    # The real decisions, models and updates in virtual time; no messages.
    "services/simulator": {"common", "gpu", "services/coordinator",
                           "services/parameter_server", "services/worker"},
    "services/cli": {"common", "protos", "gpu", "services/coordinator",
                     "services/simulator", "services/worker"},
}
# Here a permitted folder means its own files alone, not those in its folders.
WITHOUT_FOLDERS = {"services/coordinator/sync"}
# Folders whose own folders must not include each other in a circle. What is in
# the folder itself counts as one of them, but for main.cc, which joins them.
NO_CIRCLES = ("common", "services/coordinator", "services/worker")

# (file, what it includes) that break a rule and are to be mended.
EXCEPTIONS = set()

INCLUDE = re.compile(r'^#include "((?:protos|common|gpu|services)/[^"]+)"', re.M)


def includes():
    """Yields (file, included file) of all production code."""
    listed = subprocess.run(
        ["git", "ls-files", "*.h", "*.cc", "*.cu", "*.cuh"],
        check=True, capture_output=True, text=True).stdout.splitlines()
    for path in listed:
        file = pathlib.Path(path)
        # Deleted files are listed until that is committed.
        if file.parts[0] in ("common", "gpu", "services") and file.exists():
            for target in INCLUDE.findall(file.read_text()):
                yield path, target


def is_below(path, folder):
    return path.startswith(folder + "/")


def may_include(path, target):
    layer = max((f for f in MAY_INCLUDE if is_below(path, f)), key=len,
                default=None)
    if layer is None:
        return False
    if is_below(target, layer):
        return True
    if layer in WITHOUT_FOLDERS:
        return str(pathlib.PurePath(target).parent) in MAY_INCLUDE[layer]
    return any(is_below(target, folder) for folder in MAY_INCLUDE[layer])


def room(path, folder):
    """The folder of `folder` that holds the path, or `folder` itself."""
    rest = path[len(folder) + 1:].split("/")
    return f"{folder}/{rest[0]}" if len(rest) > 1 else folder


def circles(edges):
    """Yields each circle of rooms once, as text."""
    reported = set()

    def visit(at, way):
        for to in sorted(edges[at]):
            if to in way:
                circle = way[way.index(to):]
                if frozenset(circle) not in reported:
                    reported.add(frozenset(circle))
                    yield " -> ".join([*circle, to])
            else:
                yield from visit(to, [*way, to])

    for start in sorted(edges):
        yield from visit(start, [start])


def findings():
    used = set()
    edges = {folder: collections.defaultdict(set) for folder in NO_CIRCLES}
    for path, target in includes():
        if (path, target) in EXCEPTIONS:
            used.add((path, target))
            continue
        if not may_include(path, target):
            yield f"{path}: must not include {target}"
        for folder in NO_CIRCLES:
            if (is_below(path, folder) and is_below(target, folder)
                    and not path.endswith("/main.cc")):
                ends = room(path, folder), room(target, folder)
                if ends[0] != ends[1]:
                    edges[folder][ends[0]].add(ends[1])
    for folder in NO_CIRCLES:
        for circle in circles(collections.defaultdict(set, edges[folder])):
            yield f"{folder}: a circle of includes: {circle}"
    for path, target in sorted(EXCEPTIONS - used):
        yield f"{path}: includes {target} no more: remove the exception"


def main():
    found = list(findings())
    print("\n".join(found) or "layers hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
