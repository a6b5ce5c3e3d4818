#!/bin/sh
# Runs a plan:                          sh tests/run.sh JOBS PLAN
#
# A plan has a line for each group of builds,
#
#     COMPILER | FLAGS | TEST ...       `all` stands for every tests/*/*.c,
#                                       `all but TEST ...` for all others
#
# A test says in its first lines which flags and units it needs besides:
#
#     // flags: -DADREV_TRACE=1
#     // with: errors_plain.c
#     // needs: xxhash.h quadmath.h
#     // libs: -lquadmath
#     // plan: listed
#
# `needs` are headers without which it is skipped by name; a test that is
# `listed` runs only where a plan names it, not for `all`.
#
# Every build is strict, runs, and prints `name: N passed, M failed`. The
# last line is the sum. A build that fails counts as a failure; a compiler
# that is not there is skipped by name.
# SPDX-License-Identifier: MIT-0

jobs=$1
plan=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
out=$root/build/$(basename "$plan" .txt)
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion"
strict="$strict -DADREV_STRICT=1"       # warnings about the headers, too
headers=$root/${HEADERS:-.}             # HEADERS=src: the rooms they are made of

field() {
    sed -n "1,6s|^// $2: *||p" "$1"
}

# Where a test or a unit stands: names are unique.
path() { find "$here" -name "$1" | head -n 1; }

# one NUMBER COMPILER FLAGS TEST: output to $out/NUMBER.log
one() {
    log=$out/$1.log
    cc=$2
    flags=$3
    name=$4
    case $name in
        *.sh)
            sh "$(path "$name")" "$cc" "$flags" "$out/$1" > "$log" 2>&1
            grep -q ': [0-9]* passed, [0-9]* failed' "$log" \
                || echo "$name: 0 passed, 1 failed" >> "$log"
            return ;;
    esac
    std=-std=c11
    source=$(path "$name.c")
    case $flags in *-std=*) std= ;; esac
    for header in $(field "$source" needs); do
        if ! echo "#include <$header>" \
            | $cc -fsyntax-only -x c - > /dev/null 2>&1; then
            { echo "$name: skipped, $header is not installed"
              echo "$name: 0 passed, 0 failed"; } > "$log"
            return
        fi
    done
    units=
    for unit in $(field "$source" with); do
        units="$units $(path "$unit")"
    done
    # shellcheck disable=SC2086  # flags and units are lists
    if $cc $std $strict -Werror $flags $(field "$source" flags) -I"$headers" \
        -I"$here/support" "$source" $units -o "$out/$1.bin" $(field "$source" libs) -lm \
        > "$log" 2>&1; then
        (cd "$root" && timeout 300 "$out/$1.bin") > "$log" 2>&1
        status=$?
        rm -f "$out/$1.bin"
        grep -q ': [0-9]* passed, [0-9]* failed' "$log" \
            || echo "$name: 0 passed, 1 failed (status $status)" >> "$log"
    else
        echo "$name: 0 passed, 1 failed (does not build)" >> "$log"
    fi
}

if [ "$1" = one ]; then         # called back by xargs below
    shift
    out=$1
    shift
    one "$@"
    exit 0
fi

rm -rf "$out"
mkdir -p "$out"
number=0
: > "$out/list"
while IFS='|' read -r cc flags tests; do
    case $cc in '#'* | '') continue ;; esac
    cc=$(echo "$cc" | tr -d ' ')
    if ! command -v "$cc" > /dev/null 2>&1; then
        echo "skipped: $cc is not installed"
        continue
    fi
    case $tests in
        *" all"*)
            but=" ${tests#*all} "
            tests=$(cd "$here" && grep -l 'int main' */*.c \
                | grep -v '^fuzz/' | xargs grep -L '^// plan: listed' \
                | sed 's|.*/||; s|\.c$||' | while read -r name; do
                      case $but in *" $name "*) ;; *) echo "$name" ;; esac
                  done) ;;
    esac
    for name in $tests; do
        number=$((number + 1))
        printf '%s\0%s\0%s\0%s\0' "$number" "$cc" "$flags" "$name" \
            >> "$out/list"
        echo "$cc $flags" | tr -s ' ' > "$out/$number.what"
    done
done < "$plan"

xargs -0 -n 4 -P "$jobs" sh "$here/run.sh" one "$out" < "$out/list"

# Failures are shown whole; the rest is a count per group of builds.
i=0
while [ $i -lt $number ]; do
    i=$((i + 1))
    if ! grep -q ', 0 failed' "$out/$i.log"; then
        echo "--- $(cat "$out/$i.what")"
        head -n 40 "$out/$i.log"
    else
        grep ': skipped, ' "$out/$i.log"
    fi
    sed -n 's/^\([^ ]*\): \([0-9]*\) passed, \([0-9]*\) failed.*/\2 \3/p' \
        "$out/$i.log" | sed "s|\$| $(cat "$out/$i.what")|"
done > "$out/report"
grep -v '^[0-9][0-9]* [0-9][0-9]* ' "$out/report"
grep '^[0-9][0-9]* [0-9][0-9]* ' "$out/report" | awk '
    { passed += $1; failed += $2; $1 = $1; p = $1; f = $2
      sub(/^[0-9]* [0-9]* /, ""); if (!($0 in n)) order[++k] = $0
      n[$0]++; ok[$0] += p; bad[$0] += f }
    END {
        for (i = 1; i <= k; i++)
            printf "%-60s %3d programs %9d passed %5d failed\n",
                   order[i], n[order[i]], ok[order[i]], bad[order[i]]
        printf "%d passed, %d failed\n", passed, failed
        exit failed != 0
    }'
