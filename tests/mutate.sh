#!/bin/sh
# Every partial of the operator table in turn multiplied by 1.0001: the test of
# the rows must fail each time.                 sh tests/mutate.sh JOBS
# SPDX-License-Identifier: MIT-0

jobs=$1
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/mutants

# one NUMBER: killed or survived
if [ "$jobs" = one ]; then
    dir=$out/$2
    log=$dir/log
    mkdir "$dir/tests"          # the tests include ../adrev.h
    cp "$root"/tests/ops.c "$root"/tests/*.h "$dir/tests"
    if ! gcc -std=c11 -O0 "$dir/tests/ops.c" -o "$dir/ops" -lm \
        > "$log" 2>&1; then
        echo "broken $(cat "$dir/what")"
    elif "$dir/ops" > "$log" 2>&1; then
        echo "survived $(cat "$dir/what")"
    else
        echo "killed $(cat "$dir/what")"
    fi
    rm -rf "$dir/ops" "$dir/adrev.h" "$dir/tests"
    exit 0
fi

rm -rf "$out"
mkdir -p "$out"

# A row is cut at its top-level commas; fields 4, 5 and 6 are the partials.
awk -v out="$out" '
    { line[NR] = $0 }
    /define ADREV_OPS/ { table = 1 }
    /Piecewise constant/ { table = 0 }
    table && /^    ROW\(/ { rows[++count] = NR }
    function cut(text,   i, c, depth, n) {
        n = 1
        field[1] = ""
        for (i = 1; i <= length(text); i++) {
            c = substr(text, i, 1)
            depth += (c == "(") - (c == ")")
            if (c == "," && depth == 1) {
                field[++n] = ""
                continue
            }
            field[n] = field[n] c
        }
        return n
    }
    function trimmed(text) { gsub(/^ +| +$/, "", text); return text }
    END {
        for (r = 1; r <= count; r++)
            for (k = 4; k <= 6; k++) {
                n = cut(line[rows[r]])
                if (trimmed(field[k]) == "0")
                    continue
                name = field[1]
                sub(/ *ROW\( */, "", name)
                old = trimmed(field[k])
                field[k] = " (" old ") * ADX_K(1.0001)"
                text = field[1]
                for (i = 2; i <= n; i++)
                    text = text "," field[i]
                dir = out "/" ++mutants
                system("mkdir -p " dir)
                for (i = 1; i <= NR; i++)
                    print i == rows[r] ? text : line[i] > (dir "/adrev.h")
                close(dir "/adrev.h")
                print name ", partial " k - 3 ": " old > (dir "/what")
                close(dir "/what")
            }
    }' "$root/adrev.h"

ls "$out" | xargs -n 1 -P "$jobs" sh "$0" one | sort > "$out/result"
grep -v '^killed' "$out/result"
killed=$(grep -c '^killed' "$out/result")
other=$(grep -vc '^killed' "$out/result")
echo "$killed passed, $other failed"
[ "$other" = 0 ]
