#!/usr/bin/env bash
# Tries a release where nothing of it was built: in bare roots of Debian, made by
# debootstrap, without any package for developers.
#
#   tests/deploy/try_release.sh DIST SUITE...
#
# DIST is what deploy/release.sh has made, SUITE is bookworm, trixie or sid. In each
# root the archive trains a job, and its weights are exported. In the root of the
# release that the Debian package is for it is installed, its services' commands
# are run by hand (nothing boots systemd here), and it is removed and purged.
# Needs root, debootstrap and a mirror of Debian; build/roots keeps the bare roots.
set -euo pipefail
[[ $# -ge 2 ]] || {
  echo "tests/deploy/try_release.sh: usage: try_release.sh DIST SUITE..." >&2
  exit 2
}
dist=$(realpath "$1")
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [[ $EUID -ne 0 ]] || ! command -v debootstrap >/dev/null; then
  echo "SKIPPED: this needs root and debootstrap" >&2
  exit 77
fi
archives=("$dist"/paceline-*-linux-*.tar.gz)
archive=''
for file in "${archives[@]}"; do
  [[ "$file" == *-image-* ]] || archive=$file
done
[[ -f "$archive" ]] || {
  echo "tests/deploy/try_release.sh: there is no archive in $dist" >&2
  exit 2
}

root=''
leave() {
  [[ -n "$root" ]] || return 0
  # Something may run in it still, after a failure.
  umount --lazy "$root/proc" "$root/dev" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap leave EXIT

within() {
  # Some processors need a setting of OpenBLAS, which the environment has.
  chroot "$root" /usr/bin/env HOME=/root DEBIAN_FRONTEND=noninteractive bash -euc "$1"
}

# The archive's programs train a job and export its weights.
try_archive() {
  mkdir "$root/opt/paceline"
  tar -xf "$archive" -C "$root/opt/paceline" --strip-components=1
  # shellcheck disable=SC2016  # It is a script of its own.
  within '
    cd /tmp
    if dpkg --list | grep -- "-dev "; then exit 1; fi
    /opt/paceline/bin/paceline --version
    /opt/paceline/bin/paceline local --workers 2 --servers 2 --paradigm bsp --run-dir run 2>run.log ||
      { cat run.log; exit 1; }
    checkpoint=$(ls -d run/*/checkpoints/*/final-*)
    /opt/paceline/bin/paceline checkpoint verify "$checkpoint"
    /opt/paceline/bin/paceline checkpoint export "$checkpoint" -o weights.safetensors'
}

# The Debian package, from installing to purging.
try_package() {
  cp "$1" "$root/tmp/paceline.deb"
  # No daemon of another package is to start in here.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  # shellcheck disable=SC2016  # It is a script of its own.
  within '
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends /tmp/paceline.deb >/tmp/apt.log 2>&1 ||
      { cat /tmp/apt.log; exit 1; }
    getent passwd paceline
    # What systemd would do: the folders, the user, the command of the unit.
    install -d -o paceline -g paceline /var/lib/paceline/{coordinator,checkpoints,data}
    start() {
      set -a; NAME=$2 INSTANCE_FLAGS=${4:-}; . "/etc/paceline/$3.env"; set +a
      command=$(sed -n "s/^ExecStart=//p" "/usr/lib/systemd/system/$1")
      command=${command//%S//var/lib}
      setpriv --reuid=paceline --regid=paceline --clear-groups bash -c "exec ${command}" \
        >"/tmp/$2.log" 2>&1 &
    }
    trap "kill \$(jobs -p)" EXIT
    start paceline-coordinator.service coordinator coordinator
    start paceline-server.service s0 server
    start paceline-worker@.service w0 worker
    start paceline-worker@.service w1 worker
    start paceline-worker@.service e0 worker --evaluator
    export PACELINE_ADDRESS=127.0.0.1:7070
    cd /tmp
    timeout 30 bash -c "until paceline worker list 2>/dev/null | grep -q w1; do :; done" ||
      { cat /tmp/*.log; exit 1; }
    paceline job create -f /usr/share/doc/paceline/examples/synthetic-lenet5.yaml
    paceline job wait synthetic-lenet5 --for=state=SUCCEEDED --timeout=3m ||
      { cat /tmp/*.log; exit 1; }
    paceline checkpoint export /var/lib/paceline/checkpoints/*/final-* -o job.safetensors
    trap - EXIT
    kill $(jobs -p) && wait
    apt-get remove -y -qq paceline >/dev/null
    [ -f /etc/paceline/server.env ] && [ ! -e /usr/bin/paceline ]
    rm -r /var/lib/paceline
    dpkg --purge paceline
    left=$(find /etc /usr /var -xdev -name "*paceline*" -not -path "/var/cache/*")
    [ -z "$left" ] || { echo "left behind: $left"; exit 1; }
    ! getent passwd paceline'
}

for suite; do
  bare=build/roots/$suite
  if [[ ! -f "$bare/complete" ]]; then
    rm -rf "$bare"
    mkdir -p build/roots
    debootstrap --variant=minbase "$suite" "$bare" >"build/roots/$suite.log"
    touch "$bare/complete"
  fi
  root=$(mktemp -d -t "paceline-$suite.XXXXXX")
  chmod 755 "$root"
  cp -a "$bare/." "$root/"
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  echo "== $suite, Debian $(cat "$root/etc/debian_version"): the archive"
  try_archive
  packages=("$dist"/paceline_*"~${suite}_"*.deb)
  if [[ -f ${packages[0]} ]]; then
    echo "== $suite: the Debian package"
    try_package "${packages[0]}"
  else
    echo "== $suite: SKIPPED the Debian package: it is for another release"
  fi
  leave
  root=''
done
