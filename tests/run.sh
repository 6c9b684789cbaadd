#!/usr/bin/env bash
# Installs what is missing, builds, and runs tests.
#
#   tests/run.sh          lint and dev: what to run before a commit
#   tests/run.sh all      lint, release, trials, tidy, asan and tsan: what CI runs
#   tests/run.sh PART...  those parts:
#
#   lint     format, layers, sizes, the chart
#   dev      all tests but the trials, built by clang, which checks the lock
#            annotations
#   release  the programs and benchmarks as users build them, by GCC, whose
#            compiler warns of other things than clang, and the tests that asan
#            leaves out: the Python package, own models, clients, the standby,
#            the page, monitoring, images, long runs of the pure core, and each
#            benchmark once
#   trials   bad days of whole clusters, in their short form, built as release
#   tidy     clang-tidy
#   asan     the tests in C++ and of the processes and commands, and the fuzzers'
#            seeds, built by clang under Address- and UndefinedBehaviorSanitizer
#   tsan     the tests that link no gRPC and have threads under ThreadSanitizer,
#            built by GCC
#   files    every file compiles alone, which a unity build does not show
#
# asan and release together are all tests of dev: `all` builds the tests in C++
# once for each sanitizer, and not a third time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/jobs.sh
source deploy/jobs.sh

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(lint dev)
[[ "${parts[*]}" != all ]] || parts=(lint release trials tidy asan tsan)
for part in "${parts[@]}"; do
  [[ "$part" =~ ^(lint|dev|release|trials|tidy|asan|tsan|files)$ ]] || {
    echo "tests/run.sh: '$part' is none of all, lint, dev, release, trials, tidy, asan, tsan, files" >&2
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

# run_tests FOLDER [ARG...]: builds what is configured there and runs its tests,
# with these arguments for ctest. What a sanitizer has said is printed last: it is
# far up in what the test printed.
run_tests() {
  cmake --build "$1"
  # A job in the background of a script ignores SIGINT, and so would all that
  # it starts.
  env --default-signal=INT,HUP \
    ctest --test-dir "$1" --output-on-failure --no-tests=error "${@:2}" || {
    grep -hE -A 15 "(ERROR|WARNING): [A-Za-z]+Sanitizer|runtime error:" \
      "$1/Testing/Temporary/LastTest.log" | cut -c1-250 | head -n 60 >&2
    return 1
  }
}

# run_unsanitized [ARG...]: as run_tests, in a folder of its own: somebody may have
# the preset's configured otherwise.
run_unsanitized() {
  configure release -B build/unsanitized -DPACELINE_TESTS=UNSANITIZED \
    -DPACELINE_CUDA_ARCHITECTURES=90
  run_tests build/unsanitized "$@"
}

for part in "${parts[@]}"; do
  echo "== $part"
  begin=$SECONDS
  case $part in
    lint) tests/lint.sh ;;
    tidy) tests/lint.sh --tidy ;;
    files) tests/lint.sh --each-file ;;
    release) run_unsanitized --label-exclude trials ;;
    trials) run_unsanitized --label-regex trials ;;
    dev)
      configure dev
      run_tests build/dev --label-exclude trials
      ;;
    *)
      configure "$part"
      run_tests "build/$part"
      ;;
  esac
  echo "== $part: $((SECONDS - begin)) s"
done
