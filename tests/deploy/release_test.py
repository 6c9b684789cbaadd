#!/usr/bin/python3
"""What deploy/release.sh makes of the programs of this build: what is in the
archives, that they work elsewhere than where they were built, and the units.

    release_test.py BIN_DIR SOURCE_DIR

Images are left out; images_test.py looks at those that it is told.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

BIN, SOURCE = None, None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-release-test-"))
PROGRAMS = ["paceline", "paceline-coordinator", "paceline-server",
            "paceline-worker"]
EPOCH = 1_700_000_000
# What every system has, and no archive carries.
OF_THE_SYSTEM = re.compile(r"(ld-linux-x86-64|lib(c|m|dl|pthread|rt|resolv|stdc\+\+"
                           r"|gcc_s))\.so\.\d+|linux-vdso\.so\.1")
# systemd-analyze's, from 0 to 100; what has no protection has 96.
EXPOSURE_MAX = 20


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, text=True,
                          capture_output=True, timeout=300, **options).stdout


def release(*arguments, **options):
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)}
    return subprocess.run(
        [SOURCE / "deploy" / "release.sh", *map(str, arguments)], text=True,
        capture_output=True, timeout=600, env=environment, check=False, **options)


def elf_files(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            yield path


def run_path(path):
    return "".join(re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]",
                              run("readelf", "-d", path)))


class ReleaseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.version = re.search(r"project\(paceline VERSION ([\d.]+) ",
                                (SOURCE / "CMakeLists.txt").read_text())[1]
        cls.name = f"paceline-{cls.version}-linux-x86_64"
        cls.dist = SCRATCH / "dist"
        done = release("--programs", BIN, "--output", cls.dist, "--no-images")
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        print(done.stdout, flush=True)
        [cls.deb] = cls.dist.glob("paceline_*.deb")
        run("tar", "-xf", cls.dist / f"{cls.name}.tar.gz", "-C", SCRATCH)
        cls.folder = SCRATCH / cls.name
        cls.installed = SCRATCH / "installed"
        run("dpkg-deb", "--raw-extract", cls.deb, cls.installed)

    def test_every_file_has_the_version_and_a_checksum(self):
        names = sorted(path.name for path in self.dist.iterdir())
        self.assertEqual(names, sorted([
            "SHA256SUMS", self.deb.name, f"{self.name}.tar.gz",
            f"{self.name}.spdx.json", f"paceline-{self.version}.tgz",
            f"paceline-{self.version}-py3-none-any.whl"]))
        self.assertRegex(
            self.deb.name, rf"^paceline_{self.version}-1~[a-z]+_amd64\.deb$")
        sums = {}
        for line in (self.dist / "SHA256SUMS").read_text().splitlines():
            value, name = line.split("  ")
            sums[name] = value
        for path in self.dist.iterdir():
            if path.name != "SHA256SUMS":
                self.assertEqual(
                    sums.pop(path.name),
                    hashlib.sha256(path.read_bytes()).hexdigest(), path)
        self.assertEqual(sums, {})
        for program in PROGRAMS:
            self.assertEqual(run(self.folder / "bin" / program, "--version"),
                             f"{program} {self.version}\n")

    def test_the_archive_says_nothing_of_where_it_was_made(self):
        with tarfile.open(self.dist / f"{self.name}.tar.gz") as archive:
            members = archive.getmembers()
        names = [member.name for member in members]
        self.assertEqual(names, sorted(names, key=lambda name: name.split("/")))
        for member in members:
            self.assertEqual(member.name.split("/")[0], self.name)
            self.assertTrue(member.isfile() or member.isdir(), member.name)
            self.assertEqual((member.uid, member.gid, member.mtime),
                             (0, 0, EPOCH), member.name)
            program = member.isdir() or "/bin/" in member.name
            self.assertEqual(member.mode, 0o755 if program else 0o644,
                             member.name)
        for path in [*elf_files(self.folder), *elf_files(self.installed)]:
            content = path.read_bytes()
            for place in (SOURCE, BIN, SCRATCH):
                self.assertNotIn(str(place).encode() + b"/", content, path)
        for path in elf_files(self.folder):
            self.assertNotIn("/", run_path(path).removeprefix(
                "$ORIGIN/../lib/paceline"), path)
        for path in elf_files(self.installed):
            self.assertEqual(run_path(path), "", path)

    def test_the_same_programs_give_the_same_bytes(self):
        again = SCRATCH / "again"
        done = release("--programs", BIN, "--output", again, "--no-images")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((again / "SHA256SUMS").read_text(),
                         (self.dist / "SHA256SUMS").read_text())

    def test_every_library_is_carried_or_of_every_system(self):
        used = set()
        for path in elf_files(self.folder):
            if path.parent.name != "bin":
                continue
            for line in run("ldd", path).splitlines():
                name, _, where = line.strip().partition(" => ")
                where = pathlib.Path(where.split(" (")[0])
                if where.is_relative_to(self.folder):
                    used.add(where.resolve())
                else:
                    self.assertRegex(pathlib.Path(name.split(" (")[0]).name,
                                     OF_THE_SYSTEM, f"{path}: {line}")
        carried = set((self.folder / "lib" / "paceline").iterdir())
        self.assertEqual(carried, used)

    def test_a_job_trains_and_its_weights_are_exported(self):
        paceline = self.folder / "bin" / "paceline"
        run(paceline, "local", "--model", "logreg", "--data", "synthetic:tiny",
            "--workers", "2", "--servers", "1", "--run-dir", "run", cwd=SCRATCH)
        [checkpoint] = SCRATCH.glob("run/*/checkpoints/*/final-*")
        weights = SCRATCH / "weights.safetensors"
        run(paceline, "checkpoint", "export", checkpoint, "-o", weights)
        self.assertGreater(weights.stat().st_size, 100)

    def test_the_bill_of_materials_has_every_file(self):
        document = json.loads(
            (self.dist / f"{self.name}.spdx.json").read_text())
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        listed = {}
        for file in document["files"]:
            sums = {entry["algorithm"]: entry["checksumValue"]
                    for entry in file["checksums"]}
            listed[file["fileName"].removeprefix("./")] = sums["SHA256"]
        self.assertEqual(listed, {
            str(path.relative_to(self.folder)):
                hashlib.sha256(path.read_bytes()).hexdigest()
            for path in elf_files(self.folder)})
        packages = {package["SPDXID"]: package
                    for package in document["packages"]}
        known = {"SPDXRef-DOCUMENT", *packages,
                 *(file["SPDXID"] for file in document["files"])}
        origins = {}
        for relation in document["relationships"]:
            self.assertIn(relation["spdxElementId"], known)
            self.assertIn(relation["relatedSpdxElement"], known)
            if relation["relationshipType"] == "GENERATED_FROM":
                package = packages[relation["relatedSpdxElement"]]
                origins[relation["spdxElementId"]] = package["name"]
        libraries = [file for file in document["files"]
                     if "/lib/" in file["fileName"]]
        self.assertEqual(len(origins), len(libraries))
        licenses = self.folder / "share" / "doc" / "paceline" / "licenses"
        for package in packages.values():
            if package["name"] == "paceline":
                self.assertEqual(package["versionInfo"], self.version)
                continue
            self.assertTrue((licenses / package["name"]).exists(), package["name"])
            if package["name"] != "echarts":
                self.assertEqual(package["versionInfo"], run(
                    "dpkg-query", "-W", "-f", "${Version}\n",
                    package["name"]).splitlines()[0])

    def test_the_debian_package(self):
        control = dict(
            line.split(": ", 1) for line in
            run("dpkg-deb", "--field", self.deb).splitlines()
            if not line.startswith(" "))
        self.assertEqual(control["Version"].split("-")[0], self.version)
        for library in ("libc6", "libgrpc++", "libprotobuf", "libssl3",
                        "libsqlite3-0", "libpq5", "libopenblas0"):
            self.assertIn(library, control["Depends"])
        self.assertNotIn("@", control["Depends"])
        conffiles = (self.installed / "DEBIAN" / "conffiles").read_text()
        self.assertEqual(conffiles.splitlines(), [
            "/etc/paceline/coordinator.env", "/etc/paceline/server.env",
            "/etc/paceline/worker.env"])
        for name in PROGRAMS:
            self.assertTrue(os.access(self.installed / "usr" / "bin" / name,
                                      os.X_OK))
        for script in ("postinst", "prerm", "postrm"):
            run("shellcheck", "--shell=sh", self.installed / "DEBIAN" / script)

    def test_the_flags_of_the_services_are_taken(self):
        """The programs know each flag that is set as the package comes."""
        for unit, settings in (("paceline-coordinator.service", "coordinator"),
                               ("paceline-server.service", "server"),
                               ("paceline-worker@.service", "worker")):
            path = self.installed / "usr/lib/systemd/system" / unit
            [command] = re.findall(r"^ExecStart=(.*)$", path.read_text(), re.M)
            text = (self.installed / f"etc/paceline/{settings}.env").read_text()
            [flags] = re.findall(r'^FLAGS="(.*)"$', text, re.M)
            known = run(self.installed / command.split()[0].lstrip("/"), "--help")
            for flag in re.findall(r"--[a-z-]+", f"{command} {flags}"):
                self.assertRegex(known, rf"(?m)^  {flag}\b", f"{unit}: {flag}")

    def test_systemd_takes_the_units_and_finds_them_confined(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        units = SCRATCH / "units"
        units.mkdir()
        for path in (self.installed / "usr/lib/systemd/system").iterdir():
            text = path.read_text().replace("/usr/bin/",
                                            f"{self.installed}/usr/bin/")
            unit = units / path.name
            unit.write_text(text)
            # It says what it does not understand and succeeds.
            done = subprocess.run(["systemd-analyze", "verify", unit], text=True,
                                  capture_output=True, check=False)
            said = [line for line in (done.stdout + done.stderr).splitlines()
                    if path.stem in line]
            self.assertEqual(said, [], path.name)
            run("systemd-analyze", "security", "--offline=true",
                f"--threshold={EXPOSURE_MAX}", unit)

    def test_what_is_not_a_release_is_left_alone(self):
        mine = SCRATCH / "mine"
        mine.mkdir()
        (mine / "thesis.txt").write_text("all of it")
        for arguments, complaint in (
                (["--programs", BIN, "--output", mine], "something else"),
                (["--programs", mine, "--output", SCRATCH / "no"],
                 "there is no program"),
                (["--output"], "needs a folder"),
                (["--publish"], "is none of")):
            done = release(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(complaint, done.stderr)
        self.assertEqual([path.name for path in mine.iterdir()], ["thesis.txt"])
        self.assertFalse((SCRATCH / "no").exists())

    def test_the_quickstart_takes_only_a_whole_release(self):
        quickstart = SOURCE / "deploy" / "quickstart.sh"
        broken = SCRATCH / "broken"
        broken.mkdir()
        shutil.copy(self.dist / "SHA256SUMS", broken)
        archive = broken / f"{self.name}.tar.gz"
        archive.write_bytes(b"not it")
        for file, code, complaint in (
                (archive, 1, "is not what"),
                (SCRATCH / "none.tar.gz", 2, "there is no release")):
            done = subprocess.run([quickstart, "--release", file], text=True,
                                  capture_output=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(complaint, done.stderr)


if __name__ == "__main__":
    BIN, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    for tool in ("patchelf", "dpkg-deb", "dpkg-shlibdeps"):
        if not shutil.which(tool):
            print(f"SKIPPED: there is no {tool}")
            sys.exit(77)
    try:
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
    finally:
        shutil.rmtree(SCRATCH)
