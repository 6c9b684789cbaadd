"""What pyproject.toml cannot say: the version is that of the repository, and
the descriptors of the API are made from its protos."""

import pathlib
import re
import shutil
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent.parent
IN_REPOSITORY = (REPOSITORY / "protos" / "paceline").is_dir()
# A source distribution has both of these with it instead of a repository.
VERSION = HERE / "VERSION"
DESCRIPTORS = pathlib.Path("paceline", "_generated", "api.binpb")


def find_version():
    if not IN_REPOSITORY:
        return VERSION.read_text().strip()
    project = (REPOSITORY / "CMakeLists.txt").read_text()
    return re.search(r"project\(paceline VERSION ([\d.]+)", project)[1]


def put_descriptors(folder):
    """Below a folder that has the package."""
    target = pathlib.Path(folder).absolute() / DESCRIPTORS
    if IN_REPOSITORY:
        sys.path.insert(0, str(HERE))
        from make_messages import make_messages
        make_messages(target)
    elif target != HERE / DESCRIPTORS:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HERE / DESCRIPTORS, target)


class BuildPackage(build_py):
    def run(self):
        super().run()
        # An editable installation uses the source tree itself.
        editable = getattr(self, "editable_mode", False)
        put_descriptors(HERE if editable else self.build_lib)


class MakeSources(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        put_descriptors(base_dir)
        pathlib.Path(base_dir, "VERSION").write_text(find_version() + "\n")


setup(version=find_version(),
      cmdclass={"build_py": BuildPackage, "sdist": MakeSources})
