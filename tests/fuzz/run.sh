#!/usr/bin/env bash
# Builds the preset `fuzz` and runs every target, two at a time.
#
#   tests/fuzz/run.sh [SECONDS] [TARGET...]
#
# SECONDS is each target's, 600 unless given; TARGETs are as "frame_fuzzer",
# all of them unless given. Prints one line for each and ends with 1 if one of
# them found something. Corpora grow in build/fuzz/corpus and are gone on with
# the next time; findings and logs are in build/fuzz/findings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/jobs.sh
source deploy/jobs.sh

seconds=600
if [[ "${1:-}" =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
fi

mkdir -p build/fuzz/corpus build/fuzz/findings
cmake --preset fuzz >build/fuzz-configure.log 2>&1 || {
  tail -n 20 build/fuzz-configure.log >&2
  echo "tests/fuzz/run.sh: configuring the preset fuzz failed" >&2
  exit 1
}
cmake --build --preset fuzz

targets=("$@")
if [[ ${#targets[@]} -eq 0 ]]; then
  for program in build/fuzz/bin/fuzz/*_fuzzer; do
    targets+=("$(basename "$program")")
  done
fi

# Protobuf, yaml-cpp and the others that come from the distribution are not
# instrumented: containers that cross between them and us look overflown.
export ASAN_OPTIONS=detect_leaks=1:detect_container_overflow=0
export UBSAN_OPTIONS=print_stacktrace=1

# run_target NAME SECONDS: a line of what it did; 1 if it found something.
run_target() {
  local name=$1 log=build/fuzz/findings/$1.log rc=0
  mkdir -p "build/fuzz/corpus/$name"
  # No decoder may take much more memory than its input has, nor seconds.
  "build/fuzz/bin/fuzz/$name" "build/fuzz/corpus/$name" \
    -max_total_time="$2" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=64 \
    -use_value_profile=1 -print_final_stats=1 -close_fd_mask=1 \
    -artifact_prefix="build/fuzz/findings/$name-" >"$log" 2>&1 || rc=$?
  local runs coverage finding=none
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  coverage=$(sed -n 's/.* cov: \([0-9]*\) ft: \([0-9]*\).*/\1 edges, \2 features/p' "$log" | tail -n 1)
  if [[ $rc -ne 0 ]]; then
    finding=$(grep -m 1 -E 'ERROR: |runtime error: |CHECK\(|not promised' "$log") ||
      finding="ended with $rc"
  fi
  printf '%-28s %12s runs  %-30s findings: %s\n' \
    "$name" "${runs:-?}" "${coverage:-?}" "$finding"
  [[ $rc -eq 0 ]]
}
export -f run_target

printf '%s\0' "${targets[@]}" |
  xargs -0 -P 2 -I '{}' bash -c "run_target '{}' $seconds" || {
  echo "tests/fuzz/run.sh: there are findings, in build/fuzz/findings" >&2
  exit 1
}
