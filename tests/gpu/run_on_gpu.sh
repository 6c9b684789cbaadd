#!/usr/bin/env bash
# Checks and times the CUDA backend on a machine with a card. Needs the CUDA
# toolkit and a C++ compiler, nothing else and no network.
#
#   tests/gpu/run_on_gpu.sh [conformance|models|sanitize|speed|floor|overlap]...
#   tests/gpu/run_on_gpu.sh --check
#
#   conformance  every operation beside its CPU twin, in fp32, TF32 and bf16
#   models       whole models' gradients, and their losses after 10 and 100 steps
#   sanitize     conformance under compute-sanitizer, where there is one
#   speed        images a second of a training step, beside eager PyTorch's on
#                the same card where python3 has it
#   floor        how near a step is to what the card's matrix and copy rates allow
#   overlap      a step of 25 M parameters with its exchange over without it
#
# All of them unless some are given. Ends with 1 if something is wrong.
#
# --check builds nothing and needs no card: every file that the script names must
# be there, and every header that the host's part includes, Abseil's among those
# of toolkit_only. What only a compiler or a linker finds it does not see.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

include=(-I tests/gpu/toolkit_only -I .)
cuda=(gpu/cuda/*.cu gpu/cuda/*.cc)
program=(gpu/*.cc gpu/cpu/*.cc services/worker/model/*.cc
  services/worker/data/{dataset,normalize,synthetic}.cc
  common/job/names.cc common/permutation.cc common/tensor/dtype.cc
  tests/gpu/{step_check,twins,twin_cases,wrapped_backend}.cc
  tests/services/worker/model/{pushed_gradients,sgd}.cc
  tests/gpu/toolkit_only/{main,measured_backend,no_image_files,overlap}.cc)
torch_step=tests/gpu/torch_step.py

if [[ "${1:-}" == --check ]]; then
  ls "${cuda[@]}" "$torch_step" >/dev/null
  headers=$(g++ -std=c++20 -DPACELINE_HAS_CUDA "${include[@]}" -M "${program[@]}")
  if grep -oE '(^| )/[^ ]*/(absl/[^ ]*|zlib\.h)' <<<"$headers" | sort -u >&2; then
    echo "run_on_gpu.sh: a machine with the toolkit alone has not these headers" >&2
    exit 1
  fi
  exit 0
fi

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(conformance models sanitize speed floor overlap)
export PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || {
  echo "run_on_gpu.sh: there is no nvcc in the PATH or in /usr/local/cuda/bin" >&2
  exit 2
}

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
# build COMMAND -- SOURCES...: all objects, as many at a time as there are cores.
build() {
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

echo "-- build"
arch=${PACELINE_GPU_ARCH:-native}
build nvcc -std=c++20 -O3 "-arch=$arch" --expt-relaxed-constexpr \
  -Xcompiler -fPIC "${include[@]}" -- "${cuda[@]}"
mapfile -t cuda_objects < <(objects "${cuda[@]}")
nvcc -shared "-arch=$arch" "${cuda_objects[@]}" -lcublas \
  -o "$out/libpaceline_cuda.so"
build g++ -std=c++20 -O3 -march=native -ffp-contract=off -fopenmp \
  -DPACELINE_HAS_CUDA "${include[@]}" -- "${program[@]}"
mapfile -t program_objects < <(objects "${program[@]}")
g++ -fopenmp "${program_objects[@]}" -ldl "-Wl,-rpath,\$ORIGIN" \
  -o "$out/run_on_gpu"

status=0
for part in "${parts[@]}"; do
  echo "-- $part"
  case $part in
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
