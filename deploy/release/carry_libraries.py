#!/usr/bin/python3
"""Puts beside programs the libraries that they load, so that the folder works
wherever it is unpacked.

    carry_libraries.py FOLDER

FOLDER/bin has the programs, and FOLDER/lib/paceline the modules that these load
by name, if any. The libraries go to FOLDER/lib/paceline, byte for byte as they
are on this machine, with their licenses in FOLDER/share/doc/paceline/licenses.
The programs' run path says where they are; it is of the old kind (DT_RPATH),
which counts for what a library loads, too.

glibc and GCC's runtime are not carried: they come with every system, and those of
a newer one do for a program that was built on an older one.

Prints a line for each carried file: its path in FOLDER, a tab, where it was.
"""

import pathlib
import re
import shutil
import subprocess
import sys

from origins import (NVIDIA, compiled_in, echarts_notice, nvidia_license,
                     packages_of)

FROM_THE_SYSTEM = re.compile(
    r"(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv|libutil"
    r"|libstdc\+\+|libgcc_s)\.so\.\d+")
COMMON_LICENSES = pathlib.Path("/usr/share/common-licenses")


def needed_by(files):
    """Name and path of each library that the linker loads for one of them."""
    found = {}
    for file in files:
        listed = subprocess.run(["ldd", file], check=True, capture_output=True,
                                text=True).stdout
        for name, path in re.findall(r"^\t(\S+) => (.+?)(?: \(0x\w+\))?$",
                                     listed, re.M):
            if FROM_THE_SYSTEM.fullmatch(name):
                continue
            if path == "not found":
                sys.exit(f"carry_libraries.py: {file} needs {name}, which is "
                         "not on this machine")
            path = pathlib.Path(path).resolve()
            if found.setdefault(name, path) != path:
                sys.exit(f"carry_libraries.py: there are two of {name}: "
                         f"{found[name]} and {path}")
    return found


def copy_license(package, path, licenses):
    """Of the package that the library is of, and the texts that it refers to."""
    source = pathlib.Path("/usr/share/doc", package, "copyright")
    if package == NVIDIA:
        source = nvidia_license(path)
    if not source.exists():
        sys.exit(f"carry_libraries.py: there is no {source}: {path} cannot be "
                 "passed on without its license")
    target = licenses / package
    shutil.copyfile(source, target)
    for name in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)",
                           target.read_text(errors="replace")):
        shutil.copyfile(COMMON_LICENSES / name, licenses / name)


def main():
    folder = pathlib.Path(sys.argv[1])
    libraries = folder / "lib" / "paceline"
    licenses = folder / "share" / "doc" / "paceline" / "licenses"
    libraries.mkdir(parents=True, exist_ok=True)
    licenses.mkdir(parents=True)
    programs = sorted((folder / "bin").iterdir())
    modules = sorted(libraries.iterdir())
    carried = needed_by(programs + modules)
    for name, path in sorted(carried.items()):
        shutil.copyfile(path, libraries / name)
        print(libraries.relative_to(folder) / name, path, sep="\t")
    packages = packages_of(carried.values())
    packages.update({package: package for package in compiled_in()})
    for path, package in packages.items():
        if not (licenses / package).exists():
            copy_license(package, path, licenses)
    notice = echarts_notice(folder / "bin" / "paceline")
    if notice:
        (licenses / "echarts").write_text(notice + "\n")
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath",
                    "$ORIGIN/../lib/paceline", *programs], check=True)
    if modules:
        subprocess.run(["patchelf", "--force-rpath", "--set-rpath", "$ORIGIN",
                        *modules], check=True)


if __name__ == "__main__":
    main()
