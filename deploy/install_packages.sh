#!/usr/bin/env bash
# Installs the Debian packages that are missing. Does nothing when all are
# there. Works as root or with sudo.
#
#   install_packages.sh               what building everything needs
#   install_packages.sh --programs    what building the programs needs
#   install_packages.sh --release     what building a release's archives needs
#   install_packages.sh --with-lint   what building, all tests and lint need
set -euo pipefail
# shellcheck source=deploy/progress.sh
source "$(dirname "${BASH_SOURCE[0]}")/progress.sh"

packages=(
  g++ cmake ninja-build ccache pkg-config git ca-certificates
  protobuf-compiler protobuf-compiler-grpc
  libprotobuf-dev libgrpc-dev libgrpc++-dev libabsl-dev
  libopenblas-dev libcli11-dev libspdlog-dev libfmt-dev nlohmann-json3-dev
  prometheus-cpp-dev libboost-dev libcpp-httplib-dev zlib1g-dev
  libssl-dev libsqlite3-dev libyaml-cpp-dev libpq-dev
  libcurl4-openssl-dev
)
if [[ "${1:-}" =~ ^--(release|with-lint)$ ]]; then
  # patchelf tells programs where their libraries are, dpkg-dev finds out on which
  # packages they depend.
  packages+=(patchelf dpkg-dev)
  # What builds the wheel of the Python package.
  packages+=(python3 python3-setuptools python3-wheel python3-pip)
fi
if [[ ! "${1:-}" =~ ^--(programs|release)$ ]]; then
  packages+=(libgtest-dev libgmock-dev libbenchmark-dev)
fi
if [[ "${1:-}" != --programs ]]; then
  # It fetches what draws `paceline simulate --plot`. Some packages of nodejs
  # have npm in them and conflict with Debian's.
  command -v npm >/dev/null || packages+=(npm)
fi
if [[ "${1:-}" == --with-lint ]]; then
  packages+=(
    clang lld clang-format clang-tidy shellcheck
    # It knows what a compose file may say.
    docker-compose
    # Its promtool, and what scrapes a cluster and sends its alerts.
    prometheus prometheus-alertmanager
    # Two coordinators agree in it on who leads.
    postgresql
    # What the page of a cluster is looked at with.
    chromium chromium-driver
    # Clients of other languages, and the page of the API.
    python3 python3-grpcio python3-numpy python3-protobuf
    # What the tests of the Python package run with.
    python3-torch python3-pytest python3-yaml
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
  # It asks for the password here, where nothing is drawn over the question.
  sudo -v
fi

# The package lists of a fresh machine are empty or old.
install_missing() {
  "${as_root[@]}" apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends -o APT::Status-Fd=1 "${missing[@]}"
}

echo "paceline: ${missing[*]}" >&2
run_step "installing ${#missing[@]} packages and what they need" \
  "$(mktemp -t paceline-packages.XXXXXX)" install_missing
