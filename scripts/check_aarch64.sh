#!/usr/bin/env bash
# Does every source of src/ compile for aarch64? Nothing is linked or run; the dependencies' headers are this machine's.
# Needs g++-aarch64-linux-gnu. Usage: scripts/check_aarch64.sh [JOBS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
compiler=aarch64-linux-gnu-g++
command -v $compiler >/dev/null || { echo "check-aarch64: apt-get install g++-aarch64-linux-gnu" >&2; exit 1; }
find src -name '*.cc' -print0 | sort -z |
  xargs -0 -P "${1:-2}" -I{} $compiler -std=c++20 -O1 -fsyntax-only -Wall -Wextra -Werror -Wshadow -Wno-restrict \
    -Isrc -Iinclude -idirafter /usr/include -DMERGEDB_PROJECT_VERSION="\"$version\"" {}
echo "aarch64: all of src/ compiles"
