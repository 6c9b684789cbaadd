#!/usr/bin/env bash
# Runs trials: bad days of whole clusters of real processes.
#
#   tests/trials/run.sh                     all of them, in their short form
#   tests/trials/run.sh NAME...             some: soak, full_logs, ...
#   tests/trials/run.sh soak --minutes 30   the long form of one that can last
#   tests/trials/run.sh failovers --kills 1000 --stops 100
#                                           so many of a kind of fault
#
# --preset PRESET takes the programs of another build than `release`. Ends with
# the number of trials that found something.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/jobs.sh
source deploy/jobs.sh

preset=release
names=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --minutes | --preset | --kills | --worker-kills | --coordinator-kills | \
      --stops | --upgrades | --losses | --cuts | --half-opens | --throttles | --seed | --lease | --step)
      [[ $# -gt 1 ]] || {
        echo "tests/trials/run.sh: $1 wants a value" >&2
        exit 2
      }
      case $1 in
        --preset) preset=$2 ;;
        --minutes) export PACELINE_TRIAL_MINUTES=$2 ;;
        *)
          variable=${1#--}
          variable=${variable//-/_}
          export "PACELINE_${variable^^}=$2"
          ;;
      esac
      shift
      ;;
    -*)
      echo "tests/trials/run.sh: there is no option $1" >&2
      exit 2
      ;;
    *) names+=("$1") ;;
  esac
  shift
done

# A trial has a main(); what only helps others has none.
if [[ ${#names[@]} -eq 0 ]]; then
  for file in tests/trials/*.py; do
    [[ -x $file ]] && names+=("$(basename "$file" .py)")
  done
fi
for name in "${names[@]}"; do
  [[ -x tests/trials/$name.py ]] || {
    echo "tests/trials/run.sh: there is no trial $name" >&2
    exit 2
  }
done

mkdir -p build
cmake --preset "$preset" -DPACELINE_TESTS=ON >"build/$preset-configure.log" 2>&1 || {
  tail -n 20 "build/$preset-configure.log" >&2
  exit 1
}
cmake --build --preset "$preset" --target \
  paceline paceline-coordinator paceline-server paceline-worker \
  broken_disk wall_clock

failed=0
for name in "${names[@]}"; do
  echo "== $name"
  # Not as a job in the background, which would ignore SIGINT.
  env --default-signal=INT,HUP "tests/trials/$name.py" "build/$preset/bin" ||
    [[ $? -eq 77 ]] || failed=$((failed + 1))
done
exit "$failed"
