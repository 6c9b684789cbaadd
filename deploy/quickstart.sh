#!/usr/bin/env bash
# Builds paceline and trains one model on a small cluster of unequal workers on
# this machine, under several paradigms in turn: the main job, on the embedded
# data set. Ends with a table that compares them. Run it again at will: it only
# builds what has changed. Arguments are passed on to `paceline local`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/jobs.sh
source deploy/jobs.sh
# shellcheck source=deploy/progress.sh
source deploy/progress.sh

echo "[1/4] packages" >&2
deploy/install_packages.sh --programs

# Without a card the CUDA backend would only cost time.
cuda=OFF
if [[ -e /dev/nvidia0 ]] || command -v nvidia-smi >/dev/null; then
  cuda=AUTO
fi
run_step "[2/4] configuring" build/quickstart-configure.log \
  cmake --preset release -DPACELINE_TESTS=OFF -DPACELINE_BENCHMARKS=OFF \
  -DPACELINE_CUDA="$cuda"
targets=(paceline paceline-coordinator paceline-server paceline-worker)
# The worker loads the backend, so that it is no dependency of it.
if grep -q '^CMAKE_CUDA_COMPILER:' build/release/CMakeCache.txt && [[ "$cuda" == AUTO ]]; then
  targets+=(paceline_cuda)
fi
run_step "[3/4] building with $CMAKE_BUILD_PARALLEL_LEVEL jobs" build/quickstart-build.log \
  cmake --build --preset release --target "${targets[@]}"

# Four workers on two parameter servers. Each imitates a device that needs 30 ms
# for a batch; the last one is four times slower.
echo "[4/4] training the same model under each paradigm" >&2
exec build/release/bin/paceline local \
  --model lenet5 --workers 4 --servers 2 --epochs 2 \
  --step-time 30ms --slowdown 1,1,1,4 \
  --target-accuracy 0.95 --defer-eval \
  --paradigm bsp --paradigm bsp,batching=balanced --paradigm cgp --paradigm asp "$@"
