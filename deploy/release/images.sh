#!/usr/bin/env bash
# Makes archives of the images that Dockerfile.server and Dockerfile.worker
# describe, of programs that are built already.
#
#   images.sh PROGRAMS MODULES FOLDER
#
# PROGRAMS has them, stripped and without a run path. MODULES has the CUDA backend
# and its libraries: then there is an image with it, too; without, it is empty.
# Takes podman or docker, and says so if there is neither. Prints the names of the
# archives that it has written to FOLDER. `docker load` reads them, and `podman load`
# what gunzip makes of them.
set -euo pipefail
programs=$(realpath "$1")
modules=$(realpath "$2")
out=$(realpath "$3")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/release/facts.sh
source deploy/release/facts.sh

engine=$(command -v podman || command -v docker) || {
  echo "paceline: SKIPPED the images: there is neither podman nor docker" >&2
  exit 0
}
work=$(mktemp -d -t paceline-images.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/nothing"

# Bytes that depend on the content alone, which docker cannot.
options=()
[[ "$(basename "$engine")" != podman ]] || options=(--timestamp "$SOURCE_DATE_EPOCH")

# quietly COMMAND...: shows what it printed only if it fails.
quietly() {
  "$@" >"$work/command.log" 2>&1 || {
    cat "$work/command.log" >&2
    echo "paceline: the images cannot be made: \"$1 ${*:2:1}\" failed" >&2
    exit 1
  }
}

# The libraries of an image's root, and where they were on this machine.
libraries_of() {
  find "$1" -type f -name '*.so*' -not -path '*/usr/local/*' -not -name 'ld.so.c*' \
    -printf '%P\n' | sort | while read -r path; do
    printf '%s\t%s\n' "$path" "$(realpath "/$path")"
  done
}

# image NAME DOCKERFILE STAGE [OPTION...]: what its last stage copies from STAGE
# was collected in the folder STAGE, which takes that stage's place.
image() {
  local image=paceline-$1-image-$version-$platform tag=docker.io/paceline/$1:$version
  local root=$work/$3/image own
  quietly "$engine" build --file "$2" "${@:4}" "${options[@]}" \
    --build-context "$3=$work/$3" \
    --build-arg VERSION="$version" --build-arg REVISION="$revision" \
    --build-arg CREATED="$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" \
    --tag "$tag" "$work/nothing"
  quietly "$engine" save --output "$work/$image.tar" "$tag"
  gzip -6 --no-name <"$work/$image.tar" >"$out/$image.tar.gz"
  rm "$work/$image.tar"
  mapfile -t own < <(cd "$root" && find usr/local -type f | sort)
  libraries_of "$root" |
    deploy/release/sbom.py "$image" "$root" "${own[@]}" >"$out/$image.spdx.json"
  echo "$image.tar.gz"
}

in_image=()
for program in paceline paceline-coordinator paceline-server; do
  in_image+=("$programs/$program=/usr/local/bin/$program")
done
mkdir -p "$work"/build/volumes/{store,checkpoints}
quietly deploy/image/collect_root.sh "$work/build/image" "${in_image[@]}"
image server Dockerfile.server build

worker=$programs/paceline-worker=/usr/local/bin/paceline-worker
mkdir "$work/build-cpu"
quietly deploy/image/collect_root.sh "$work/build-cpu/image" "$worker"
image worker-cpu Dockerfile.worker build-cpu --target cpu

if [[ -e "$modules/libpaceline_cuda.so" ]]; then
  mkdir "$work/build-cuda"
  quietly deploy/image/collect_root.sh "$work/build-cuda/image" "$worker" \
    "$modules/libpaceline_cuda.so=/usr/local/lib/paceline/libpaceline_cuda.so"
  image worker Dockerfile.worker build-cuda --target cuda
fi
