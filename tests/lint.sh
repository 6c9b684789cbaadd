#!/usr/bin/env bash
# What a machine can say about the code without running it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t sources < <(git ls-files '*.cc' '*.h' '*.cu' '*.cuh')
echo "-- clang-format"
clang-format --dry-run --Werror "${sources[@]}"

echo "-- shellcheck"
mapfile -t scripts < <(git ls-files '*.sh' '.ci/run')
shellcheck "${scripts[@]}"

echo "-- tidy check"
python3 tests/tidy_check.py

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

echo "-- clang-tidy, with clang's thread-safety analysis"
mkdir -p build
cmake --preset clang >build/clang-configure.log 2>&1 || {
  tail -n 20 build/clang-configure.log >&2
  exit 1
}
cmake --build build/clang --target paceline_proto_headers -j2 >build/clang-build.log 2>&1 || {
  tail -n 20 build/clang-build.log >&2
  exit 1
}
# clang-tidy needs clang's own precompiled headers or none at all.
left_out=()
if ! grep -q gpu/cuda/ build/clang/compile_commands.json; then
  echo "   without gpu/cuda: there is no CUDA toolkit"
  left_out=(':!gpu/cuda')
fi
mapfile -t units < <(git ls-files 'common/*.cc' 'gpu/*.cc' 'services/*.cc' "${left_out[@]}")
printf '%s\0' "${units[@]}" |
  xargs -0 -P2 -n4 clang-tidy -p build/clang --quiet 2>build/clang-tidy.log
