#!/bin/sh
# tags:
# The commands of docs/debugging.md do in gdb what the page says:
#                                       sh tests/check/debugging.sh CC FLAGS DIR
#
# All of them run in one session, on the program of the page. Every line of its
# text blocks must be a part of a line of what gdb prints, in the same order.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
dir=$3
mkdir -p "$dir"
if ! command -v gdb > /dev/null 2>&1; then
    echo "debugging: skipped, gdb is not installed"
    echo "debugging: 0 passed, 0 failed"
    exit 0
fi

blocks() {
    awk -v kind="\`\`\`$1" '/^```/ { on = $0 == kind; next } on' \
        "$root/docs/debugging.md"
}
blocks c > "$dir/page.c"
blocks text > "$dir/want"
{
    echo 'set pagination off'
    echo 'set confirm off'
    blocks gdb
} > "$dir/commands"

cd "$dir" || exit 1
"$cc" -std=c11 -g -O0 -DADREV_DEBUG=1 -I"$root" page.c -o page -lm || exit 1
gdb -nx -batch -x commands page > got 2>&1 < /dev/null
if grep -q 'ptrace: Operation not permitted' got; then
    echo "debugging: skipped, gdb may not trace a program here"
    echo "debugging: 0 passed, 0 failed"
    exit 0
fi
awk 'NR == FNR { want[n++] = $0; next }
     at < n && index($0, want[at]) > 0 {
         # Parts of one line follow one another.
         rest = $0
         while (at < n && (i = index(rest, want[at])) > 0) {
             rest = substr(rest, i + length(want[at]))
             at++
         }
     }
     END {
         if (at < n)
             printf "gdb does not print line %d: %s\n", at + 1, want[at]
         printf "debugging: %d passed, %d failed\n", at, n - at
     }' want got
