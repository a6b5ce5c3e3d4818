#!/bin/sh
# Man pages of section 3, one for each entry of a header:
#                                       sh tools/manual/man.sh FOLDER
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/../.." || exit 2
here=tools/manual
out=$1
case $out in /*) ;; *) out=$(pwd)/$out ;; esac
mkdir -p "$out" || exit 1
version=$(sed -n 's/^#define ADREV_VERSION  *"\(.*\)"/\1/p' adrev.h)
date=$(date -u -r CHANGELOG.md +%Y-%m-%d)       # of the latest change
for header in adrev*.h adapters/*.h; do
    awk -f $here/entries.awk docs/names.txt "$header" | awk -f $here/comment.awk \
        -f $here/man.awk -v out="$out" -v version="$version" \
        -v date="$date" docs/names.txt docs/operations.md -
done
