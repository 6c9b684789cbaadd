#!/usr/bin/env bash
# Checks and times the CUDA backend on a machine with a card. Needs the CUDA
# toolkit and a C++ compiler, and no network; `jobs` needs paceline's programs.
#
#   tests/gpu/run_on_gpu.sh [PART]...
#   tests/gpu/run_on_gpu.sh --check
#
#   build        what the others run, but for `jobs`
#   conformance  every operation beside its CPU twin, in fp32, TF32 and bf16
#   models       whole models' gradients, and their losses after 10 steps
#   sanitize     conformance under compute-sanitizer, where there is one
#   speed        images a second of a training step, beside eager PyTorch's on
#                the same card where python3 has it
#   floor        how near a step is to what the card's matrix and copy rates allow
#   overlap      a step of 25 M parameters with its exchange over without it
#   jobs         jobs of whole clusters on the card, under six paradigms, and on a
#                card beside CPUs; the programs are in $PACELINE_BIN, or else in
#                build/release/bin
#
# All of them unless some are given; without `build`, as they were built last.
# Ends with 1 if something is wrong. To build on another machine than one with
# the card, set PACELINE_GPU_ARCH (as sm_90) and PACELINE_CPU_ARCH (as x86-64-v3),
# and copy build/run_on_gpu.
#
# --check needs no card: the host's part must build with a machine's own headers
# and those of toolkit_only, and every file that the script names be there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

include=(-I tests/gpu/toolkit_only -I .)
cuda=(gpu/cuda/*.cu gpu/cuda/*.cc)
program=(gpu/*.cc gpu/cpu/*.cc services/worker/model/*.cc
  services/worker/data/{dataset,normalize,synthetic}.cc
  common/job/names.cc common/job/normalization.cc common/permutation.cc
  common/tensor/{dtype,int8_groups}.cc
  tests/gpu/{step_check,twins,twin_cases,wrapped_backend}.cc
  tests/services/worker/model/{pushed_gradients,sgd}.cc
  tests/gpu/toolkit_only/{main,measured_backend,no_image_files,overlap}.cc)
torch_step=tests/gpu/torch_step.py

export out=build/run_on_gpu
mkdir -p "$out"

# compile SOURCE COMMAND...: its object, under $out.
# shellcheck disable=SC2317  # xargs calls it.
compile() {
  local source=$1
  shift
  "$@" -c "$source" -o "$out/${source//\//_}.o"
}
export -f compile
# compile_all COMMAND -- SOURCES...: as many at a time as there are cores.
compile_all() {
  local command=()
  while [[ $1 != -- ]]; do
    command+=("$1")
    shift
  done
  shift
  printf '%s\0' "$@" |
    xargs -0 -P "$(nproc)" -I '{}' bash -c "compile '{}' ${command[*]}"
}
objects() {
  for source in "$@"; do echo "$out/${source//\//_}.o"; done
}

# build_module: the CUDA backend, which the program loads.
build_module() {
  local arch=${PACELINE_GPU_ARCH:-native} made
  export PATH=$PATH:/usr/local/cuda/bin
  command -v nvcc >/dev/null || {
    echo "run_on_gpu.sh: there is no nvcc in the PATH or in /usr/local/cuda/bin" >&2
    exit 2
  }
  compile_all nvcc -std=c++20 -O3 "-arch=$arch" --expt-relaxed-constexpr \
    -Xcompiler -fPIC "${include[@]}" -- "${cuda[@]}"
  mapfile -t made < <(objects "${cuda[@]}")
  nvcc -shared "-arch=$arch" "${made[@]}" -lcublas -o "$out/libpaceline_cuda.so"
}

# build_program COMPILER...: what calls it, and the CPU twin.
build_program() {
  local made
  compile_all "$@" -std=c++20 -ffp-contract=off -fopenmp -DPACELINE_HAS_CUDA \
    "${include[@]}" -- "${program[@]}"
  mapfile -t made < <(objects "${program[@]}")
  g++ -fopenmp "${made[@]}" -ldl "-Wl,-rpath,\$ORIGIN" -o "$out/run_on_gpu"
}

if [[ "${1:-}" == --check ]]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
  ls "${cuda[@]}" "$torch_step" >/dev/null
  if [[ -d /usr/include/absl ]]; then
    headers=$(g++ -std=c++20 -DPACELINE_HAS_CUDA "${include[@]}" -M "${program[@]}")
    if grep -oE '(^| )/[^ ]*/(absl/[^ ]*|zlib\.h)' <<<"$headers" | sort -u >&2; then
      echo "run_on_gpu.sh: a machine with the toolkit alone has not these headers" >&2
      exit 1
    fi
  fi
  ccache=()
  ! command -v ccache >/dev/null || ccache=(ccache)
  build_program "${ccache[@]}" g++ -O0
  exit 0
fi

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] ||
  parts=(build conformance models sanitize speed floor overlap jobs)

# run_jobs: what a user runs.
run_jobs() {
  local bin=${PACELINE_BIN:-build/release/bin} shapes
  if [[ ! -x "$bin/paceline" ]]; then
    echo "SKIPPED: there is no $bin/paceline"
    return
  fi
  shapes=(--model resnet20 --data synthetic:color-shapes --batch-size 128)
  "$bin/paceline" local --device cuda "${shapes[@]}" --slowdown 1,1,1,4 \
    --max-seconds 4 --paradigm bsp --paradigm asp --paradigm ssp \
    --paradigm dssp --paradigm cgp --paradigm saps --run-dir "$out/jobs" &&
    "$bin/paceline" local --device cuda --device cpu --device cpu --workers 3 \
      --threads 4 "${shapes[@]}" --max-seconds 6 --paradigm bsp \
      --paradigm bsp,batching=balanced --paradigm cgp --run-dir "$out/mixed"
}

status=0
for part in "${parts[@]}"; do
  echo "-- $part"
  case $part in
    build)
      build_module
      build_program g++ -O3 "-march=${PACELINE_CPU_ARCH:-native}"
      ;;
    jobs)
      run_jobs || status=1
      ;;
    conformance | models | floor | overlap)
      "$out/run_on_gpu" "$part" || status=1
      ;;
    sanitize)
      if ! command -v compute-sanitizer >/dev/null; then
        echo "SKIPPED: there is no compute-sanitizer"
        continue
      fi
      for tool in memcheck racecheck initcheck; do
        echo "   $tool"
        compute-sanitizer --tool "$tool" --error-exitcode 1 \
          "$out/run_on_gpu" conformance | tail -n 3 || status=1
      done
      ;;
    speed)
      "$out/run_on_gpu" speed | tee "$out/speed"
      if python3 -c 'import torch' 2>/dev/null; then
        python3 "$torch_step" | tee -a "$out/speed"
        awk '{ rate[$1, $2, $3] = $4; key[$2 " " $3] = 1 }
             END { for (k in key) { split(k, p, " ")
                     ours = rate["paceline", p[1], p[2]]
                     theirs = rate["torch", p[1], p[2]]
                     if (theirs > 0) printf "%-14s %s  paceline %8.0f  torch %8.0f  ratio %.2f\n", p[1], p[2], ours, theirs, ours / theirs } }' \
          "$out/speed" | sort
      else
        echo "SKIPPED: python3 has no torch to compare with"
      fi
      ;;
    *)
      echo "run_on_gpu.sh: there is no part \"$part\"" >&2
      exit 2
      ;;
  esac
done
exit "$status"
