#!/usr/bin/env bash
# Within an image's build: compiles the release preset with the given options
# of CMake and installs it into /usr/local.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/jobs.sh
source deploy/jobs.sh

# A cache that the builder mounts serves every checkout; the language of its
# messages is part of what it knows a compilation by.
export CCACHE_DIR=/ccache LANG=C.UTF-8
cmake --preset release -DPACELINE_TESTS=OFF -DPACELINE_BENCHMARKS=OFF \
  -DPACELINE_STATIC_OPENBLAS=ON "$@"
cmake --build --preset release
cmake --install build/release --strip
