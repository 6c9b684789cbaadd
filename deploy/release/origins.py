"""Where the libraries of this machine come from."""

import pathlib
import subprocess
import sys

NVIDIA = "nvidia-cuda"


def packages_of(paths):
    """The Debian package that has each file, or NVIDIA for one of the toolkit."""
    # dpkg knows a file by the name that its package has for it, which may be
    # from before /lib became a link to /usr/lib.
    names = {name: path for path in map(str, paths)
             for name in (path, path.removeprefix("/usr"))}
    # It ends with 1 if one of them is not known: of two names one never is.
    listed = subprocess.run(["dpkg-query", "--search", *names], text=True,
                            capture_output=True).stdout if names else ""
    found = {}
    for line in listed.splitlines():
        owners, _, name = line.partition(": ")
        if name in names:
            found[names[name]] = owners.split(",")[0].split(":")[0]
    for path in map(str, paths):
        if path not in found and "cuda" in path:
            found[path] = NVIDIA
        elif path not in found:
            sys.exit(f"{path} is of no Debian package: nobody can tell where it "
                     "comes from")
    return found


def versions_of(packages):
    """Of each: its version, the name of its source and that one's version."""
    listed = subprocess.run(
        ["dpkg-query", "--show", "--showformat",
         "${Package}\t${Version}\t${source:Package}\t${source:Version}\n",
         *packages], check=True, capture_output=True, text=True).stdout
    return {fields[0]: fields[1:] for fields in
            (line.split("\t") for line in listed.splitlines())}


def nvidia_license(library):
    """The terms beside the toolkit that has the library."""
    for folder in pathlib.Path(library).resolve().parents:
        for pattern in ("EULA.txt", "dist-info/*cublas*/**/License.txt"):
            for found in sorted(folder.glob(pattern)):
                return found
        if "cuda" in folder.name:
            break
    return sys.exit(f"there is no EULA.txt beside {library}: it cannot be passed "
                    "on without its license")


def compiled_in():
    """The packages of which the programs have code in themselves: header files
    alone, of a package that no library comes with."""
    headers = ("/usr/include/CLI/CLI.hpp", "/usr/include/nlohmann/json.hpp",
               "/usr/include/boost/version.hpp")
    return sorted(set(packages_of(headers).values()))


def echarts_notice(program):
    """What is written at the head of the Apache ECharts in the program, if it
    was built with it."""
    code = pathlib.Path(program).read_bytes()
    begin = code.find(b"Licensed to the Apache Software Foundation")
    if begin < 0:
        return None
    return code[code.rindex(b"/*", 0, begin):code.index(b"*/", begin) + 2].decode()
