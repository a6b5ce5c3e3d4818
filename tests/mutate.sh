#!/bin/sh
# Every partial of the operator table, and every sum in the array statements,
# in turn multiplied by 1.0001: the tests of the rows, or of the statements,
# must fail each time.                          sh tests/mutate.sh JOBS
# SPDX-License-Identifier: MIT-0

jobs=$1
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/mutants

# one NUMBER: killed or survived
if [ "$jobs" = one ]; then
    dir=$out/$2
    log=$dir/log
    mkdir "$dir/tests"
    cp "$root"/tests/core/*.c "$root"/tests/array/*.c "$root"/tests/support/*.h \
        "$root"/tests/function/function_ops.c "$dir/tests"
    cp "$root"/adrev_*.h "$dir"
    fate=survived
    for test in $(cat "$dir/tested"); do
        gcc -std=c11 -O0 -I"$dir" -I"$dir/tests" "$dir/tests/$test.c" \
            -o "$dir/run" -lm -pthread > "$log" 2>&1 \
            || { fate=broken; break; }
        "$dir/run" > "$log" 2>&1 || { fate=killed; break; }
    done
    echo "$fate $(cat "$dir/what")"
    rm -rf "$dir/run" "$dir"/adrev*.h "$dir/tests"
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
                dir = out "/row" ++mutants
                system("mkdir -p " dir)
                for (i = 1; i <= NR; i++)
                    print i == rows[r] ? text : line[i] > (dir "/adrev.h")
                close(dir "/adrev.h")
                print name ", partial " k - 3 ": " old > (dir "/what")
                close(dir "/what")
                print "operations function_ops" > (dir "/tested")
                close(dir "/tested")
            }
    }' "$root/adrev.h"

# In the rooms of array/, a sum is a line with +=, and what it adds may end on a
# later one. Pointers, ids and counters are no sums, nor are products with 0.
awk -v out="$out" '
    { line[NR] = $0 }
    /=== array\// && !from { from = NR }
    /=== check\// && !end { end = NR }
    function is_sum(text) {
        return text ~ / \+=( |$)/ && text !~ /for \(|^ *\/\/|\* 0;|\.cs;/ \
            && text !~ / (at|room|bytes|l|lb|id|to|a|b|x|seq|list|[*]*fault.*|row.*|piece.v) \+= /
    }
    END {
        for (r = from; r < end; r++) {
            if (!is_sum(line[r]))
                continue
            for (last = r; line[last] !~ /;( *\\)?$/; last++)
                ;
            dir = out "/sum" ++mutants
            system("mkdir -p " dir)
            for (i = 1; i <= NR; i++) {
                text = line[i]
                if (i == r)
                    sub(/ \+=/, " += ADX_K(1.0001) * (", text)
                if (i == last)
                    sub(/;( *\\)?$/, ")&", text)
                print text > (dir "/adrev.h")
            }
            close(dir "/adrev.h")
            print "line " r ": " line[r] > (dir "/what")
            close(dir "/what")
            print "arrays external" > (dir "/tested")
            close(dir "/tested")
        }
    }' "$root/adrev.h"

(cd "$out" && ls -d row* sum*) | xargs -n 1 -P "$jobs" sh "$0" one | sort > "$out/result"
grep -v '^killed' "$out/result"
killed=$(grep -c '^killed' "$out/result")
other=$(grep -vc '^killed' "$out/result")
echo "$killed passed, $other failed"
[ "$other" = 0 ]
