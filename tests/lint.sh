#!/usr/bin/env bash
# What a machine can say about the code without running it.
#
#   tests/lint.sh               everything but what follows
#   tests/lint.sh --tidy        clang-tidy, which takes minutes
#   tests/lint.sh --each-file   every file compiles alone: a unity build hides
#                               what uses a name that it does not include
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/jobs.sh
source deploy/jobs.sh

# prepare FOLDER OPTIONS...: a configured build folder of the preset `dev` with
# the generated headers, which is all that reading the code needs. Without the
# precompiled headers: a tool would look at all that is in them, for every file.
prepare() {
  local folder=$1
  shift
  mkdir -p build
  { cmake --preset dev -B "$folder" -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON "$@" &&
    cmake --build "$folder" --target paceline_proto_headers; } >"$folder.log" 2>&1 || {
    tail -n 20 "$folder.log" >&2
    exit 1
  }
}

# units FOLDER: what that build would compile of the programs, not of the tests
# nor of what is generated.
units() {
  python3 - "$1" <<'PY'
import json, os, sys
folder = os.path.abspath(sys.argv[1])
for entry in json.load(open(f"{folder}/compile_commands.json")):
    path = os.path.relpath(entry["file"], folder)
    if path.startswith(".."):
        path = os.path.relpath(entry["file"])
    if not os.path.exists(entry["file"]):
        continue
    if path.startswith(("common/", "gpu/", "services/")) and path.endswith(".cc"):
        print(entry["file"], end="\0")
PY
}

if [[ "${1:-}" == --each-file ]]; then
  echo "-- every file compiles alone, with clang"
  prepare build/clang-files -DPACELINE_UNITY=OFF
  units build/clang-files |
    xargs -0 -P"$CMAKE_BUILD_PARALLEL_LEVEL" -n4 \
      clang-check -p build/clang-files 2>build/clang-check.log || {
    grep -E "error:" build/clang-check.log >&2
    exit 1
  }
  exit 0
fi

# As unity sources: each header once for many files.
if [[ "${1:-}" == --tidy ]]; then
  prepare build/clang-tidy
  grep -q paceline_cuda build/clang-tidy/compile_commands.json ||
    echo "   without gpu/cuda: there is no CUDA toolkit"
  units build/clang-tidy |
    xargs -0 -P"$CMAKE_BUILD_PARALLEL_LEVEL" -n1 \
      clang-tidy -p build/clang-tidy --quiet 2>build/clang-tidy-warnings.log
  exit 0
fi

mapfile -t sources < <(git ls-files '*.cc' '*.h' '*.cu' '*.cuh')
echo "-- clang-format"
clang-format --dry-run --Werror "${sources[@]}"

echo "-- shellcheck"
mapfile -t scripts < <(git ls-files '*.sh' '.ci/run')
shellcheck "${scripts[@]}"

echo "-- what is built for a card, on its machine, is here"
tests/gpu/run_on_gpu.sh --check

echo "-- tidy check"
python3 tests/tidy_check.py

echo "-- layers"
python3 tests/layer_check.py

echo "-- docs/api.md in step with the protos"
docs/generate_api.py --check

echo "-- recording rules, alerts and their runbooks"
promtool check rules helm/paceline/rules/*.yaml
promtool test rules tests/prometheus/*_test.yaml
sed -n 's/.*runbook_url: //p' helm/paceline/rules/alerts.yaml |
  while read -r page; do
    [[ -f "$page" ]] || {
      echo "tests/lint.sh: there is no $page" >&2
      exit 1
    }
  done

echo "-- the compose file"
docker-compose -f deploy/compose.yaml config -q

echo "-- the chart and its dashboards"
mkdir -p build
helm/generate_values.py --check
tests/deploy/run.sh --test-reporter=spec >build/deploy-tests.log 2>&1 || {
  tail -n 60 build/deploy-tests.log >&2
  exit 1
}
grep -E "tests|skipped" build/deploy-tests.log
