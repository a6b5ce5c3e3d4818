#!/bin/sh
# Builds the Debian packages in a copy of the sources, and asks lintian:
#                                                  sh package/deb.sh FOLDER
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/.." && pwd)
for tool in dpkg-buildpackage dh lintian; do
    command -v $tool > /dev/null 2>&1 \
        || { echo "deb: skipped, $tool is not installed"; exit 0; }
done
rm -rf "$1"
mkdir -p "$1/adrev" || exit 1
folder=$(cd "$1" && pwd)
(cd "$root" && tar -c --exclude=./build --exclude=./.git --exclude-vcs .) \
    | tar -x -C "$folder/adrev" || exit 1
cd "$folder/adrev" || exit 1
missing=$(dpkg-checkbuilddeps 2>&1) \
    || { echo "deb: skipped, $missing"; exit 0; }
dpkg-buildpackage -us -uc > ../log 2>&1 || { tail -n 30 ../log; exit 1; }
lintian --fail-on error,warning ../adrev_*.changes || exit 1
ls "$folder"/*.deb
