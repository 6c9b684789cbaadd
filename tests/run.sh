#!/usr/bin/env bash
# Installs what is missing, builds, and runs tests.
#
#   tests/run.sh          lint and dev: what to run before a commit
#   tests/run.sh all      lint, release, trials, asan, tsan and tidy: what CI runs
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
#
# Most tests wait more than they compute. So `all` builds the next parts, with what
# tests leave of the machine, while those of the part before run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/jobs.sh
source deploy/jobs.sh

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

# build PART: all that can be done of it beside tests.
build() {
  case $1 in
    # In a folder of its own: somebody may have the preset's configured otherwise.
    release | trials)
      configure release -B build/unsanitized -DPACELINE_TESTS=UNSANITIZED \
        -DPACELINE_CUDA_ARCHITECTURES=90
      cmake --build build/unsanitized
      ;;
    dev | asan | tsan)
      configure "$1"
      cmake --build "build/$1"
      ;;
    tidy) tests/lint.sh --tidy ;;
  esac
}

# run_tests FOLDER [ARG...]: with these arguments for ctest. What a sanitizer has
# said is printed last: it is far up in what the test printed.
run_tests() {
  # A job in the background of a script ignores SIGINT, and so would all that
  # it starts.
  env --default-signal=INT,HUP \
    ctest --test-dir "$1" --output-on-failure --no-tests=error "${@:2}" || {
    grep -hE -A 15 "(ERROR|WARNING): [A-Za-z]+Sanitizer|runtime error:" \
      "$1/Testing/Temporary/LastTest.log" | cut -c1-250 | head -n 60 >&2
    return 1
  }
}

# check PART: what is built.
check() {
  case $1 in
    lint) tests/lint.sh ;;
    files) tests/lint.sh --each-file ;;
    release) run_tests build/unsanitized --label-exclude trials ;;
    trials) run_tests build/unsanitized --label-regex trials ;;
    dev) run_tests build/dev --label-exclude trials ;;
    asan | tsan) run_tests "build/$1" ;;
  esac
}

# build_ahead PART...: one after the other, in the background and with the lowest
# priority. What each has printed is in build/PART-build.log, and its exit status in
# build/PART-built.
build_ahead() {
  rm -f build/*-built
  # Linux divides the processor between sessions first (sched(7), autogroup).
  # shellcheck disable=SC2016
  setsid nice -n 19 bash -c '
    echo 19 >/proc/self/autogroup
    for part; do
      status=0
      tests/run.sh --build "$part" >"build/$part-build.log" 2>&1 || status=$?
      echo "$status" >"build/$part-built"
    done' build_ahead "$@" 2>/dev/null &
  ahead=$!
  trap 'kill -- "-$ahead" 2>/dev/null || true' EXIT
}

# await_build PART: that build_ahead is at, or will come to.
await_build() {
  until [[ -s "build/$1-built" ]]; do
    kill -0 "$ahead" 2>/dev/null || [[ -s "build/$1-built" ]] || {
      echo "tests/run.sh: who builds $1 has gone" >&2
      return 1
    }
    sleep 1
  done
  [[ "$(<"build/$1-built")" == 0 ]] || {
    { grep -E -A 8 "error:|FAILED:|warning:|CMake Error" "build/$1-build.log" ||
      true; } | tail -n 60 >&2
    tail -n 20 "build/$1-build.log" >&2
    echo "tests/run.sh: $1 failed: build/$1-build.log" >&2
    return 1
  }
}

if [[ "${1:-}" == --build ]]; then
  build "$2"
  exit 0
fi

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(lint dev)
all=false
[[ "${parts[*]}" != all ]] || {
  all=true
  parts=(lint release trials asan tsan tidy)
}
for part in "${parts[@]}"; do
  [[ "$part" =~ ^(lint|dev|release|trials|tidy|asan|tsan|files)$ ]] || {
    echo "tests/run.sh: '$part' is none of all, lint, dev, release, trials, tidy, asan, tsan, files" >&2
    exit 2
  }
done

deploy/install_packages.sh --with-lint
! "$all" || build_ahead release asan tsan tidy

for part in "${parts[@]}"; do
  echo "== $part"
  begin=$SECONDS
  if ! "$all"; then
    build "$part"
  elif [[ ! "$part" =~ ^(lint|trials)$ ]]; then
    await_build "$part"
    echo "== $part: waited $((SECONDS - begin)) s for its build"
  fi
  check "$part"
  echo "== $part: $((SECONDS - begin)) s"
done
