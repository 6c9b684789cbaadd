#!/usr/bin/env bash
# Trains one model on a small cluster of unequal workers on this machine, under
# several paradigms in turn: the main job, on the embedded data set. Ends with a
# table that compares them.
#
#   deploy/quickstart.sh [ARGUMENT...]
#     builds paceline first, and what it needs: only what has changed, so run it
#     again at will
#   deploy/quickstart.sh --release FILE.tar.gz [ARGUMENT...]
#     unpacks a release into build/quickstart instead; builds and installs nothing
#
# The arguments are passed on to `paceline local`.
set -euo pipefail

release=''
if [[ "${1:-}" == --release ]]; then
  [[ $# -ge 2 ]] || {
    echo "deploy/quickstart.sh: --release needs a file, paceline-VERSION-linux-x86_64.tar.gz" >&2
    exit 2
  }
  release=$(realpath -m "$2")
  shift 2
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# build: makes the programs from the sources and sets `bin`.
build() {
  # shellcheck source=deploy/jobs.sh
  source deploy/jobs.sh
  # shellcheck source=deploy/progress.sh
  source deploy/progress.sh

  echo "[1/4] packages" >&2
  deploy/install_packages.sh --programs

  # Without a card the CUDA backend would only cost time.
  local cuda=OFF targets=(paceline paceline-coordinator paceline-server paceline-worker)
  if [[ -e /dev/nvidia0 ]] || command -v nvidia-smi >/dev/null; then
    cuda=AUTO
  fi
  run_step "[2/4] configuring" build/quickstart-configure.log \
    cmake --preset release -DPACELINE_TESTS=OFF -DPACELINE_BENCHMARKS=OFF \
    -DPACELINE_CUDA="$cuda"
  # The worker loads the backend, so that it is no dependency of it.
  if grep -q '^CMAKE_CUDA_COMPILER:' build/release/CMakeCache.txt && [[ "$cuda" == AUTO ]]; then
    targets+=(paceline_cuda)
  fi
  run_step "[3/4] building with $CMAKE_BUILD_PARALLEL_LEVEL jobs" build/quickstart-build.log \
    cmake --build --preset release --target "${targets[@]}"
  bin=build/release/bin
  step="[4/4]"
}

# unpack: takes the programs out of the release and sets `bin`.
unpack() {
  local sums
  [[ -f "$release" ]] || {
    echo "paceline: there is no release $release" >&2
    exit 2
  }
  sums=$(dirname "$release")/SHA256SUMS
  echo "[1/2] unpacking $(basename "$release")" >&2
  if [[ -f "$sums" ]]; then
    (cd "$(dirname "$release")" && grep -F "  $(basename "$release")" SHA256SUMS |
      sha256sum --check --quiet --strict) || {
      echo "paceline: $release is not what $sums says" >&2
      exit 1
    }
  else
    echo "      no SHA256SUMS is beside it: it is taken as it is" >&2
  fi
  rm -rf build/quickstart
  mkdir -p build/quickstart
  tar --extract --file "$release" --directory build/quickstart --strip-components=1 || exit 2
  if [[ ! -x build/quickstart/bin/paceline ]]; then
    echo "paceline: there is no paceline in $release" >&2
    exit 2
  fi
  bin=build/quickstart/bin
  step="[2/2]"
}

if [[ -n "$release" ]]; then
  unpack
else
  build
fi

# Four workers on two parameter servers. Each imitates a device that needs 30 ms
# for a batch; the last one is four times slower.
echo "$step training the same model under each paradigm" >&2
exec "$bin/paceline" local \
  --model lenet5 --workers 4 --servers 2 --epochs 2 \
  --step-time 30ms --slowdown 1,1,1,4 \
  --target-accuracy 0.95 --defer-eval \
  --paradigm bsp --paradigm bsp,batching=balanced --paradigm cgp --paradigm asp "$@"
