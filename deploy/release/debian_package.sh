#!/usr/bin/env bash
# Makes the Debian package of programs that are built on this release of Debian,
# and a second one, paceline-cuda, if they have the CUDA backend.
#
#   debian_package.sh PROGRAMS TARBALL FOLDER
#
# PROGRAMS has them, stripped and without a run path: they load the libraries of
# the packages that the package depends on. TARBALL is what tarball.sh has made of
# them; the backend is taken from it, with NVIDIA's libraries. What else is in the
# packages is in deploy/debian. Writes FOLDER/paceline_VERSION_ARCHITECTURE.deb.
set -euo pipefail
programs=$(realpath "$1")
tarball=$(realpath "$2")
out=$(realpath "$3")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/release/facts.sh
source deploy/release/facts.sh

work=$(mktemp -d -t paceline-debian.XXXXXX)
trap 'rm -rf "$work"' EXIT
umask 022
# Packages of libraries differ between releases of Debian, and so does this one.
# shellcheck source=/dev/null
codename=$(source /etc/os-release && echo "${VERSION_CODENAME:-unknown}")
package_version=$version-1~$codename
architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-paceline} <${DEBEMAIL:-paceline@localhost}>"

# depends ROOT: on which packages the programs and libraries in it depend.
depends() {
  local file elf=()
  while read -r file; do
    elf+=(-e "$file")
  done < <(find "$1/usr/bin" "$1/usr/lib" -type f \( -path '*/bin/*' -o -name '*.so*' \) 2>/dev/null)
  # It asks for a source package around it.
  mkdir -p "$work/debian"
  printf 'Source: paceline\n\nPackage: paceline\nArchitecture: any\n' >"$work/debian/control"
  # Libraries beside a folder DEBIAN it knows as the package's own.
  mkdir -p "$1/DEBIAN"
  (cd "$work" && dpkg-shlibdeps -O -S"$1" -l"$1/usr/lib/paceline" "${elf[@]}" 2>"$work/shlibdeps.log") |
    sed 's/^shlibs:Depends=//' || {
    cat "$work/shlibdeps.log" >&2
    return 1
  }
}

# build ROOT CONTROL: the package of what is in ROOT. dpkg-deb takes the files'
# times from SOURCE_DATE_EPOCH where they are younger.
build() {
  local root=$1 needed name
  needed=$(depends "$root")
  sed -e "s/@VERSION@/$package_version/" -e "s/@ARCHITECTURE@/$architecture/" \
    -e "s/@DEPENDS@/$needed/" -e "s/@MAINTAINER@/$maintainer/" \
    -e "s/@SIZE@/$(du -sk --apparent-size "$root/usr" | cut -f1)/" \
    "$2" >"$root/DEBIAN/control"
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  name=$(sed -n 's/^Package: //p' "$2")_${package_version}_$architecture.deb
  dpkg-deb --root-owner-group -Zxz --build "$root" "$out/$name" >/dev/null
}

root=$work/root
install -D -m 755 -t "$root/usr/bin" "$programs"/*
install -D -m 644 -t "$root/usr/lib/systemd/system" deploy/debian/*.service
install -D -m 644 -t "$root/etc/paceline" deploy/debian/*.env
share=$root/usr/share
install -D -m 644 -t "$share/doc/paceline" deploy/debian/copyright docs/install.md
install -D -m 644 -t "$share/doc/paceline/examples" deploy/examples/*.yaml
gzip -9 --no-name >"$share/doc/paceline/changelog.Debian.gz" <<TEXT
paceline ($package_version) $codename; urgency=medium

  * Built from commit $revision. CHANGELOG.md.gz says what is new.

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
TEXT
gzip -9 --no-name <CHANGELOG.md >"$share/doc/paceline/CHANGELOG.md.gz"
mkdir -p "$share/bash-completion/completions" "$share/zsh/vendor-completions"
"$programs/paceline" completion bash >"$share/bash-completion/completions/paceline"
"$programs/paceline" completion zsh >"$share/zsh/vendor-completions/_paceline"
install -D -m 755 -t "$root/DEBIAN" deploy/debian/{postinst,prerm,postrm}
(cd "$root" && find etc -type f -printf '/%p\n' | sort) >"$root/DEBIAN/conffiles"

cuda=$work/cuda
mkdir -p "$cuda/usr/lib/paceline" "$cuda/usr/share/doc/paceline-cuda"
tar --extract --file "$tarball" --directory "$work" --wildcards \
  '*/lib/paceline/*' '*/doc/paceline/licenses/*'
unpacked=("$work"/*/lib/paceline)
if [[ -e ${unpacked[0]}/libpaceline_cuda.so ]]; then
  mv "${unpacked[0]}"/lib{paceline_cuda,cublas}* "$cuda/usr/lib/paceline/"
  mv "${unpacked[0]}/../../share/doc/paceline/licenses/nvidia-cuda" \
    "$cuda/usr/share/doc/paceline-cuda/copyright"
  # Where the programs find the backend.
  patchelf --set-rpath "\$ORIGIN/../lib/paceline" "$root"/usr/bin/*
  build "$cuda" deploy/debian/control-cuda
fi
build "$root" deploy/debian/control
