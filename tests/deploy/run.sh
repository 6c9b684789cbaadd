#!/usr/bin/env bash
# Checks the chart in helm/paceline and its dashboards, without a cluster:
# renders it, compares what comes out with Kubernetes', the Prometheus
# operator's and Grafana's own types, and sees that wrong values are refused.
#
#   tests/deploy/run.sh [node --test's options]
#
# Fetches helm and the types with npm, once, into build/deploy-tests.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

export PACELINE_DEPLOY_TESTS=$root/build/deploy-tests
complete=$PACELINE_DEPLOY_TESTS/.complete
if ! cmp -s "$here/package-lock.json" "$complete"; then
  echo "deploy tests: fetching helm and types" >&2
  rm -rf "$PACELINE_DEPLOY_TESTS"
  mkdir -p "$PACELINE_DEPLOY_TESTS"
  cp "$here/package.json" "$here/package-lock.json" "$PACELINE_DEPLOY_TESTS/"
  # No package needs its install script, so none may run one. Not "npm ci": it
  # wants optional packages for other platforms, which a mirror may not have.
  (cd "$PACELINE_DEPLOY_TESTS" &&
    npm install --no-save --ignore-scripts --no-audit --no-fund \
      --loglevel=error)
  cp "$here/package-lock.json" "$complete"
fi

work=$PACELINE_DEPLOY_TESTS/run
rm -rf "$work"
mkdir -p "$work"
cp "$here"/*.mjs "$work/"
cd "$work"
export PACELINE_ROOT=$root
exec node --test "$@" ./*.test.mjs
