#!/usr/bin/env bash
# Makes the archive of programs and the libraries that they load, which works
# wherever it is unpacked.
#
#   tarball.sh PROGRAMS MODULES NAME FOLDER
#
# PROGRAMS has them, stripped, MODULES the CUDA backend or nothing. Writes
# FOLDER/NAME.tar.gz, all of it below a folder NAME, and FOLDER/NAME.spdx.json.
set -euo pipefail
programs=$(realpath "$1")
modules=$(realpath "$2")
name=$3
out=$(realpath "$4")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/release/facts.sh
source deploy/release/facts.sh

work=$(mktemp -d -t paceline-tarball.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/$name
mkdir -p "$root/lib/paceline"
cp -r "$programs" "$root/bin"
find "$modules" -type f -exec cp -t "$root/lib/paceline" {} +
mapfile -t own < <(cd "$root" && find bin lib -type f | sort)

deploy/release/carry_libraries.py "$root" >"$work/carried"
install -m 644 -t "$root/share/doc/paceline" LICENSE CHANGELOG.md docs/install.md
install -D -m 644 -t "$root/share/paceline/examples" deploy/examples/*.yaml
mkdir -p "$root/share/bash-completion/completions" "$root/share/zsh/site-functions"
"$root/bin/paceline" completion bash >"$root/share/bash-completion/completions/paceline"
"$root/bin/paceline" completion zsh >"$root/share/zsh/site-functions/_paceline"
find "$root/lib" "$root/share" -type f -exec chmod 644 {} +

deploy/release/sbom.py "$name" "$root" "${own[@]}" <"$work/carried" >"$out/$name.spdx.json"
cp "$out/$name.spdx.json" "$root/share/doc/paceline/sbom.spdx.json"
pack "$work" "$name" "$out/$name.tar.gz"
