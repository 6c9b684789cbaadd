# shellcheck shell=bash
# Sourced, in the repository's folder, by what makes a release. All archives have
# these facts in common:
#
#   version    what CMakeLists.txt says, and nothing else does
#   platform   of the programs, linux-x86_64
#   revision   the commit, with -dirty if files differ from it
#   SOURCE_DATE_EPOCH   the time of every file: the commit's, unless the caller
#                       has set it, so that the same commit gives the same bytes

version=$(sed -n 's/^project(paceline VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[[ -n "$version" ]] || {
  echo "paceline: CMakeLists.txt says no version" >&2
  exit 1
}
platform=linux-$(uname -m)
revision=unknown
if git rev-parse --git-dir >/dev/null 2>&1; then
  revision=$(git describe --always --abbrev=40 --match '' --dirty)
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat -c %Y CMakeLists.txt)}
export SOURCE_DATE_EPOCH version platform revision

# pack FOLDER NAME ARCHIVE: the folder NAME below FOLDER as a .tar.gz that has
# the same bytes whenever and by whomever it is made.
pack() {
  tar --create --directory "$1" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$SOURCE_DATE_EPOCH" --format=posix \
    --pax-option='exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime' "$2" |
    gzip -9 --no-name >"$3"
}
