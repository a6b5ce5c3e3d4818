#!/bin/sh
# Both stages of example 13:    sh examples/13_kalman.sh DIR COMPILER FLAG ...
#
# Builds and runs 13_kalman in DIR, which writes 13_kalman_model.h; then builds
# 13_kalman_firmware with it as C99, runs that, and says how large the filter is
# with its model, as machine code.
#
# SPDX-License-Identifier: MIT-0

set -e
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-build}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- gcc -std=c11 -Os
mkdir -p "$out"
"$@" -I"$here/.." "$here/13_kalman.c" -o "$out/13_kalman" -lm
"$out/13_kalman" "$out/13_kalman_model.h"
set -- "$@" -std=c99 -I"$out" "$here/13_kalman_firmware.c"
"$@" -o "$out/13_kalman_firmware" -lm
"$out/13_kalman_firmware"
"$@" -c -o "$out/13_kalman_firmware.o"
echo "C of the model: $(wc -c < "$out/13_kalman_model.h") bytes"
if command -v size > /dev/null; then
    size "$out/13_kalman_firmware.o" | awk 'NR == 2 {
        print "machine code of the program: " $1 " bytes, data " $2 + $3 }'
fi
rm -f "$out/13_kalman_firmware.o"
