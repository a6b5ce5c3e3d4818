# shellcheck shell=sh
# common.sh - what run.sh and alone.sh begin with. To be read by them, with the
# compiler as cc: sets root and out, a folder for what is built. Without that
# compiler there is nothing to measure.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/bench-$cc
if ! command -v "$cc" > /dev/null 2>&1; then
    echo "skipped: $cc is not installed"
    exit 0
fi
mkdir -p "$out"
