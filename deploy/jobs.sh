# shellcheck shell=bash
# Sourced by scripts that build and test. Sets CMAKE_BUILD_PARALLEL_LEVEL,
# unless the caller has set it: one job for each core, and no more than memory
# has room for. A file of a unity build takes up to 1.5 GB of it. CTest gets four
# slots for each core: cmake/PacelineTargets.cmake says how many a test takes.
if [[ -z "${CMAKE_BUILD_PARALLEL_LEVEL:-}" ]]; then
  CMAKE_BUILD_PARALLEL_LEVEL=$(awk -v cores="$(nproc)" '
    /^MemAvailable:/ { room = int($2 / 1.5e6) }
    END {
      jobs = cores < room ? cores : room
      print jobs < 1 ? 1 : jobs
    }' /proc/meminfo)
fi
export CMAKE_BUILD_PARALLEL_LEVEL
export CTEST_PARALLEL_LEVEL="${CTEST_PARALLEL_LEVEL:-$((4 * $(nproc)))}"
