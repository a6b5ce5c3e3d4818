#!/bin/sh
# tags: part
# Prints docs/small-machines.md with its tables as they are now, of all programs
# on all boards; and, as messages, what the tape takes with other levels, numbers
# and C libraries. Fails, and says why, if a program does, or if a board is
# skipped. FLAGS are those of firmware.sh, to try it with less.
#     sh tests/firmware/tables.sh CC DIR JOBS [FLAGS]
# SPDX-License-Identifier: MIT-0

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=$2
rm -rf "$dir"
mkdir -p "$dir"

# The longest first; it has the tape with -Os, float and newlib-nano, too.
awk -v cc="$1" -v here="$here" -v dir="$dir" -v more="$4" '{
    printf "sh %s/firmware.sh %s \"-DMORE=1 -DTABLE=1 %s %s\" %s/%d > %s/%d.log 2>&1",
           here, cc, $0, more, dir, NR, dir, NR
    printf "%c", 0
}' << 'END' | xargs -0 -n 1 -P "${3:-1}" sh -c
-Os
-DTAPES=1 -O2
-DTAPES=1 -Os -DDOUBLE
-DTAPES=1 -O2 -DDOUBLE
-DTAPES=1 -Os -DPICOLIBC=1
-DTAPES=1 -O2 -DPICOLIBC=1
-DTAPES=1 -Os -DDOUBLE -DPICOLIBC=1
-DTAPES=1 -O2 -DDOUBLE -DPICOLIBC=1
END
{
    echo "| board | C library | level | number | flash, instructions: rosenbrock" \
         "| quaternion | kalman | network | formulas |"
    echo "|---|---|---|---|---|---|---|---|---|"
    cat "$dir"/[2-8]/table
    grep -hv '^|' "$dir"/[1-8].log
} >&2
! grep -q skipped "$dir"/[1-8].log || exit 1
[ "$(grep -l ': [1-9][0-9]* passed, 0 failed' "$dir"/[1-8].log | wc -l)" = 8 ] \
    || exit 1

# In the document a table is known by its first line.
awk -F ' *[|] *' '
    FILENAME == ARGV[1] {
        boards = boards $0 "\n"
        if ($2 == "M4F" && $3 ~ /^(attitude|training|formulas)$/) {
            sub(/^[|] M4F /, "")
            filter = filter $0 "\n"
        }
        next
    }
    /^[|] board [|] program /   { made = boards }
    /^[|] program [|] variant / { made = filter }
    /^[|]---/ && made != ""     { printf "%s\n%s", $0, made; skip = 1; made = "" }
    !/^[|]/                     { skip = 0 }
    !skip' "$dir/1/table" "$root/docs/small-machines.md"
