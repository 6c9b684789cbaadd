#!/usr/bin/env bash
# Makes the files of a release, all with the version that CMakeLists.txt says. It
# publishes nothing: docs/install.md#make-and-publish-a-release has the two lines.
#
#   deploy/release.sh [--output FOLDER] [--programs FOLDER] [--with-cuda] [--no-images]
#
#   --output FOLDER    where they go, build/dist if not said; a folder that holds
#                      something else is left alone
#   --programs FOLDER  takes these programs, of the preset `release`, instead of
#                      building them
#   --with-cuda        with the CUDA backend and NVIDIA's libraries that it loads
#   --no-images        without the archives of images, which podman or docker makes
#
# They are, for this machine's kind of processor and Debian's release:
#
#   paceline-V-linux-x86_64.tar.gz      the programs and the libraries that they
#                                       load; works wherever it is unpacked
#   paceline_V-1~RELEASE_amd64.deb      the same with services, on Debian's libraries
#   paceline-NAME-image-V-....tar.gz    images: `gunzip -c FILE | podman load`
#   paceline-V.tgz                      the chart
#   paceline-V-py3-none-any.whl         the Python package
#   *.spdx.json                         what is in the archives, as SPDX
#   SHA256SUMS
#
# The same commit, built by the same compiler on the same packages, gives the same
# bytes, but for images that docker makes.
set -euo pipefail

out=''
programs=''
cuda=OFF
images=1
while (($#)); do
  case $1 in
    --output | --programs)
      [[ $# -ge 2 ]] || {
        echo "deploy/release.sh: $1 needs a folder" >&2
        exit 2
      }
      if [[ $1 == --output ]]; then out=$(realpath -m "$2"); else programs=$(realpath -m "$2"); fi
      shift
      ;;
    --with-cuda) cuda=ON ;;
    --no-images) images='' ;;
    -h | --help)
      sed -n '2,/^set /{s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      echo "deploy/release.sh: '$1' is none of --output, --programs, --with-cuda, --no-images" >&2
      exit 2
      ;;
  esac
  shift
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${out:-$PWD/build/dist}
# shellcheck source=deploy/jobs.sh
source deploy/jobs.sh
# shellcheck source=deploy/progress.sh
source deploy/progress.sh
# shellcheck source=deploy/release/facts.sh
source deploy/release/facts.sh

fail() {
  echo "paceline: $1" >&2
  exit "${2:-1}"
}

# The files of another release are replaced, and nothing else is.
if [[ -e "$out" ]]; then
  other=$(find "$out" -mindepth 1 ! \( -type f \( -name 'paceline[-_]*' -o -name SHA256SUMS \) \))
  [[ -d "$out" && -z "$other" ]] ||
    fail "$out holds something else than a release: name an empty folder" 2
fi
deploy/install_packages.sh --release

names=(paceline paceline-coordinator paceline-server paceline-worker)
if [[ -z "$programs" ]]; then
  run_step "configuring" build/release-configure.log \
    cmake --preset release -DPACELINE_TESTS=OFF -DPACELINE_BENCHMARKS=OFF \
    -DPACELINE_CUDA="$cuda" -DPACELINE_STATIC_OPENBLAS=OFF
  targets=("${names[@]}")
  [[ $cuda == OFF ]] || targets+=(paceline_cuda)
  run_step "building with $CMAKE_BUILD_PARALLEL_LEVEL jobs" build/release-build.log \
    cmake --build --preset release --target "${targets[@]}"
  programs=$PWD/build/release/bin
fi
for name in "${names[@]}"; do
  [[ -x "$programs/$name" ]] || fail "there is no program $programs/$name" 2
  said=$("$programs/$name" --version) || fail "$programs/$name does not say its version" 2
  [[ "$said" == "$name $version" ]] ||
    fail "$programs/$name says \"$said\", and CMakeLists.txt that the version is $version" 2
done
backend=$programs/../lib/libpaceline_cuda.so
[[ $cuda == OFF || -f "$backend" ]] || fail "there is no $backend: --with-cuda needs it" 2

work=$(mktemp -d -t paceline-release.XXXXXX)
trap 'rm -rf "$work"' EXIT
# Set for a person, 077 say, it would be the archives'.
umask 022
mkdir -p "$work"/{bare,modules,dist}
for name in "${names[@]}"; do
  strip -o "$work/bare/$name" "$programs/$name"
  # Removed at once, its text would stay in the file.
  [[ -z "$(patchelf --print-rpath "$work/bare/$name")" ]] ||
    patchelf --set-rpath / "$work/bare/$name"
  patchelf --remove-rpath "$work/bare/$name"
done
if [[ $cuda == ON ]]; then
  strip --strip-unneeded -o "$work/modules/libpaceline_cuda.so" "$backend"
  # Of its run path only where the toolkit is.
  cublas=$(ldd "$backend" | awk '$1 ~ /^libcublas\.so/ && $3 ~ /^\// { print $3 }')
  [[ -n "$cublas" ]] || fail "$backend finds no cuBLAS on this machine"
  patchelf --set-rpath "$(dirname "$cublas")" "$work/modules/libpaceline_cuda.so"
fi

echo "packing the programs with their libraries" >&2
archive=paceline-$version-$platform
[[ $cuda == OFF ]] || archive+=-cuda
deploy/release/tarball.sh "$work/bare" "$work/modules" "$archive" "$work/dist"

echo "making the Debian package" >&2
deploy/release/debian_package.sh "$work/bare" "$work/dist/$archive.tar.gz" "$work/dist"

if [[ -n "$images" ]]; then
  echo "making the images" >&2
  deploy/release/images.sh "$work/bare" "$work/modules" "$work/dist" >/dev/null
else
  echo "without images, as --no-images says" >&2
fi
deploy/release/chart.sh "$work/dist" >/dev/null
deploy/release/wheel.sh "$work/dist" >/dev/null

(cd "$work/dist" && sha256sum -- * >SHA256SUMS)
# At the end and at once: no half of a release is left.
mkdir -p "$out"
find "$out" -mindepth 1 -delete
cp "$work/dist"/* "$out/"
echo "paceline $version, $revision, in $out:" >&2
(cd "$out" && du --apparent-size --block-size=1000 -- * | awk '{ printf "%9.1f MB  %s\n", $1 / 1000, $2 }')
