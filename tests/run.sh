#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests.
#
#   tests/run.sh                 everything below, in this order
#   tests/run.sh dev|asan|tsan   the tests of one preset
#   tests/run.sh lint            format, clang-tidy, lock annotations, tidy check
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(lint dev asan tsan)
for part in "${parts[@]}"; do
  [[ "$part" =~ ^(lint|dev|asan|tsan)$ ]] || {
    echo "tests/run.sh: '$part' is none of lint, dev, asan, tsan" >&2
    exit 2
  }
done

deploy/install_packages.sh --with-lint

# Sanitizers slow everything down; leases in tests must not end for that.
export ASAN_OPTIONS=detect_leaks=1
export TSAN_OPTIONS=halt_on_error=1
mkdir -p build
export UBSAN_OPTIONS=print_stacktrace=1

for part in "${parts[@]}"; do
  echo "== $part"
  if [[ "$part" == lint ]]; then
    tests/lint.sh
    continue
  fi
  cmake --preset "$part" >"build/$part-configure.log" 2>&1 || {
    tail -n 20 "build/$part-configure.log" >&2
    echo "tests/run.sh: configuring $part failed" >&2
    exit 1
  }
  cmake --build --preset "$part"
  ctest --preset "$part"
done
