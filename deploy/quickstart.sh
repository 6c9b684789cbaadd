#!/usr/bin/env bash
# Builds paceline and trains a model on a small cluster of unequal workers on
# this machine, once under BSP and once under DSSP: the main job, on the
# embedded data set. Run it again at will: it only builds what has changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deploy/install_packages.sh

log=build/quickstart-build.log
mkdir -p build
echo "paceline: building into build/release (a few minutes the first time)" >&2
if ! { cmake --preset release -DPACELINE_TESTS=OFF -DPACELINE_BENCHMARKS=OFF &&
       cmake --build --preset release; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "paceline: the build failed; the whole output is in $log" >&2
  exit 1
fi

# Four workers on two parameter servers. Each imitates a device that needs 30 ms
# for a batch; the last one is four times slower.
exec build/release/bin/paceline local \
  --model lenet5 --workers 4 --servers 2 --epochs 2 \
  --step-time 30ms --slowdown 1,1,1,4 \
  --target-accuracy 0.95 --defer-eval \
  --paradigm bsp --paradigm dssp:lower=3,upper=15,fastest=within:2 "$@"
