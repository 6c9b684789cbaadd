#!/usr/bin/env bash
# Makes the wheel of the Python package in services/worker/python.
#
#   wheel.sh FOLDER
#
# Without a network, from a copy of what a clone has, so that nothing is left in
# it. Prints the name of what it has written to FOLDER.
set -euo pipefail
out=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/release/facts.sh
source deploy/release/facts.sh

work=$(mktemp -d -t paceline-wheel.XXXXXX)
trap 'rm -rf "$work"' EXIT
name=paceline-$version-py3-none-any.whl

mkdir -p "$work/clone/services/worker" "$work/dist"
umask 022  # Set for a person, 077 say, it would be the wheel's.
tar --create --mode=u+rwX,go=rX --exclude __pycache__ --exclude _generated --exclude build --exclude '*.egg-info' \
  CMakeLists.txt protos services/worker/python |
  tar --extract --directory "$work/clone"
/usr/bin/python3 -m pip --quiet wheel --no-build-isolation --no-deps --no-index \
  --wheel-dir "$work/dist" "$work/clone/services/worker/python" >"$work/pip.log" 2>&1 || {
  cat "$work/pip.log" >&2
  exit 1
}
cp "$work/dist/$name" "$out/"
echo "$name"
