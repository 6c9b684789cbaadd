#!/usr/bin/env bash
# Installs what is missing, builds, and runs tests.
#
#   tests/run.sh          lint and dev: what to run before a commit
#   tests/run.sh all      lint, gcc, dev, trials, tidy, asan and tsan: what CI runs
#   tests/run.sh PART...  those parts:
#
#   lint   format, layers, sizes, the chart
#   gcc    only builds: the programs as the quickstart builds them, whose compiler
#          warns of other things than clang
#   dev    all tests but the trials, built by clang, which checks the lock
#          annotations
#   trials bad days of whole clusters, in their short form, built as dev
#   tidy   clang-tidy
#   asan   the tests in C++ and of the processes and commands, and the fuzzers'
#          seeds, under Address- and UndefinedBehaviorSanitizer; not the Python
#          package's, the trials and the images
#   tsan   the tests that link no gRPC under ThreadSanitizer, built by GCC
#   files  every file compiles alone, which a unity build does not show
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/jobs.sh
source deploy/jobs.sh

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(lint dev)
[[ "${parts[*]}" != all ]] || parts=(lint gcc dev trials tidy asan tsan)
for part in "${parts[@]}"; do
  [[ "$part" =~ ^(lint|gcc|dev|trials|tidy|asan|tsan|files)$ ]] || {
    echo "tests/run.sh: '$part' is none of all, lint, gcc, dev, trials, tidy, asan, tsan, files" >&2
    exit 2
  }
done

deploy/install_packages.sh --with-lint

# Sanitizers slow everything down; leases in tests must not end for that.
export ASAN_OPTIONS=detect_leaks=1
export TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/tests/tsan_suppressions.txt"
export UBSAN_OPTIONS=print_stacktrace=1
mkdir -p build

# configure PRESET [ARG...]: with these arguments for cmake.
configure() {
  cmake --preset "$@" >"build/$1-configure.log" 2>&1 || {
    tail -n 20 "build/$1-configure.log" >&2
    echo "tests/run.sh: configuring $1 failed" >&2
    return 1
  }
}

# run_preset PRESET [ARG...]: configures, builds and tests it, with these
# arguments for ctest. What a sanitizer has said is printed last: it is far up in
# what the test printed.
run_preset() {
  configure "$1"
  cmake --build --preset "$1"
  # A job in the background of a script ignores SIGINT, and so would all that
  # it starts.
  env --default-signal=INT,HUP ctest --preset "$@" || {
    grep -hE -A 15 "(ERROR|WARNING): [A-Za-z]+Sanitizer|runtime error:" \
      "build/$1/Testing/Temporary/LastTest.log" | cut -c1-250 | head -n 60 >&2
    return 1
  }
}

for part in "${parts[@]}"; do
  echo "== $part"
  begin=$SECONDS
  case $part in
    lint) tests/lint.sh ;;
    tidy) tests/lint.sh --tidy ;;
    files) tests/lint.sh --each-file ;;
    gcc)
      # A folder of its own: somebody may have the tests configured in the
      # preset's.
      configure release -B build/gcc -DPACELINE_TESTS=OFF \
        -DPACELINE_BENCHMARKS=OFF -DPACELINE_CUDA=OFF
      cmake --build build/gcc
      ;;
    dev) run_preset dev --label-exclude trials ;;
    trials) run_preset dev --label-regex trials ;;
    *) run_preset "$part" ;;
  esac
  echo "== $part: $((SECONDS - begin)) s"
done
