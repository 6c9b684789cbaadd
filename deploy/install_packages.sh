#!/usr/bin/env bash
# Installs the Debian packages that building and testing need and that are
# missing. Does nothing when all are there. Works as root or with sudo.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkg-config git ca-certificates
  protobuf-compiler protobuf-compiler-grpc
  libprotobuf-dev libgrpc-dev libgrpc++-dev libabsl-dev
  libopenblas-dev libcli11-dev libspdlog-dev libfmt-dev nlohmann-json3-dev
  prometheus-cpp-dev libcivetweb-dev libcpp-httplib-dev zlib1g-dev
  libssl-dev libsqlite3-dev libyaml-cpp-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)
# It fetches what draws `paceline simulate --plot`. Some packages of nodejs have
# npm in them and conflict with Debian's.
command -v npm >/dev/null || packages+=(npm)
if [[ "${1:-}" == "--with-lint" ]]; then
  packages+=(
    clang clang-format clang-tidy shellcheck
    # It knows what a compose file may say.
    docker-compose
    # Its promtool, and what scrapes a cluster and sends its alerts.
    prometheus prometheus-alertmanager
    # Clients of other languages, and the page of the API.
    python3 python3-grpcio python3-numpy python3-protobuf
  )
fi

fail() {
  echo "paceline: $*" >&2
  exit 1
}

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ "$status" == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

command -v apt-get >/dev/null ||
  fail "these packages are missing and there is no apt-get to install them: ${missing[*]}"
as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null ||
    fail "run as root, or install sudo: these packages are missing: ${missing[*]}"
  as_root=(sudo)
fi

echo "paceline: installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}
# The package lists of a fresh machine are empty or old.
if ! { "${as_root[@]}" apt-get update && install; } >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  fail "apt-get could not install the missing packages; its last lines are above"
fi
