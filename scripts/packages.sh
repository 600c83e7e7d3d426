#!/usr/bin/env bash
# packages.sh [DIRECTORY]: builds the Debian packages into DIRECTORY (build/packages): DIRECTORY/*.deb.
#
# The packages are built in a copy of the sources, DIRECTORY/source, by dpkg-buildpackage with packaging/debian. They do
# not depend on DIRECTORY: scripts/reproducible.sh builds twice and compares.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
directory=${1:-build/packages}
jobs=${MERGEDB_JOBS:-$(nproc)}

if ! command -v dh >/dev/null; then
  echo "packages.sh: debhelper is missing; as root: apt-get install debhelper" >&2
  exit 1
fi
mkdir -p "$directory/source"
rm -f "$directory"/*.deb "$directory"/*.buildinfo "$directory"/*.changes
# The build folder stays, so a second build compiles only what changed.
find "$directory/source" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
cp -a CMakeLists.txt LICENSE README.md CHANGELOG.md cmake include src tools "$directory/source"
mkdir "$directory/source/docs"
cp -a docs/grafana "$directory/source/docs/grafana"  # mergedb-tools installs the dashboard
cp -a packaging/debian "$directory/source/debian"
cd "$directory/source"
# noautodbgsym: no packages with debug information; DEB_BUILD_OPTIONS= makes them. --no-pre-clean: dh_clean would remove
# the build folder.
DEB_BUILD_OPTIONS="parallel=$jobs ${DEB_BUILD_OPTIONS-noautodbgsym}" dpkg-buildpackage --build=binary --unsigned-changes --no-sign --no-pre-clean
cd - >/dev/null
ls -l "$directory"/*.deb
