#!/usr/bin/env bash
# Collects into ROOT, an image's, what programs need to run, and nothing else:
# themselves, the libraries that the dynamic linker would load, the authorities
# that this machine trusts, and a user.
#
#   collect_root.sh ROOT FILE[=PATH]...
#
# Programs and modules of this machine, and their paths in the image, which are
# the same if not said.
set -euo pipefail

[[ $# -ge 2 && ! -e "$1" ]] || {
  echo "collect_root.sh: usage: collect_root.sh NEW_FOLDER FILE..." >&2
  exit 2
}
root=$1
shift

# copy FILE [PATH]: to that path under the root, its own if not said, following
# links, so that only names that something asks for are there.
copy() {
  local path=${2:-$1}
  [[ ! -e "$root$path" ]] || return 0
  mkdir -p "$root$(dirname "$path")"
  cp -L --preserve=mode "$1" "$root$path"
}

# Folders as in Debian, where /lib is a link: the linker's own path begins so.
mkdir -p "$root"/{etc,usr/bin,usr/lib,usr/lib64,usr/local/bin}
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
mkdir -m 1777 "$root/tmp"
printf 'paceline:x:65532:65532:paceline:/:/sbin/nologin\n' >"$root/etc/passwd"
printf 'paceline:x:65532:\n' >"$root/etc/group"
# Names of hosts come from files, then from DNS.
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"

for named in "$@"; do
  file=${named%%=*}
  copy "$file" "${named#*=}"
  needed=$(ldd "$file") || {
    echo "collect_root.sh: $file is no program or library: $needed" >&2
    exit 1
  }
  if grep "not found" <<<"$needed" >&2; then
    echo "collect_root.sh: $file needs libraries that are not there" >&2
    exit 1
  fi
  while read -r library; do
    copy "$(realpath -s "$library")"
  done < <(awk '/=> \// { print $3 } $1 ~ /^\// { print $1 }' <<<"$needed")
done
# glibc loads these by name.
for name in libnss_dns.so.2 libnss_files.so.2 libresolv.so.2; do
  path=$(ldconfig -p | awk -v name="$name" '$1 == name && !n++ { print $NF }')
  [[ -z "$path" ]] || copy "$path"
done

# By whom the certificate of a store of checkpoints is signed.
copy /etc/ssl/certs/ca-certificates.crt

# The linker finds them where they are; a GPU runtime that adds the driver's
# libraries asks for its cache once more, and must find them too.
(cd "$root" && find usr -name '*.so*' -printf '/usr/%P\n') | xargs -n1 dirname | sort -u \
  >"$root/etc/ld.so.conf"
ldconfig -r "$root"
