#!/bin/sh
# Every partial of the operator table, and every sum in the rooms that compute
# derivatives, in turn multiplied by 1.0001: a test that reaches it must fail.
#                                              sh tests/mutate.sh JOBS [EVERY]
#
# Headers have all mutants at once (tests/mutate.awk), and each test is compiled
# once; which mutant is wrong is said when it runs. Partials are for the tests
# of the rows, sums for those of the statements. With EVERY only each EVERY-th
# mutant is tried. A sum that no test reaches is no failure.
# SPDX-License-Identifier: MIT-0

jobs=$1
every=${2:-1}
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/mutants
headers="adrev parallel function assemble bulk loop"
rooms="number tape sweep array parallel function assemble bulk loop"
row_tests="operations function_ops"
sum_tests="external arrays numbers jacobian_rows dualrev fixed forks
           function_arrays function sparse dense maps assemble bulk checkpoint
           scan_second recorded_paths"
cc=$(command -v clang || command -v gcc)
flags="-std=c11 -w -DCHECK_FIRST=1 -DFEW=1 -include $out/mutant.h -I$out
       -I$root/tests/support -pthread"

# build NAME: a test, and which mutants it reaches while none is wrong.
if [ "$jobs" = build ]; then
    source=$(find "$root/tests" -name "$2.c")
    # What is of adrev.h alone has no hooks, what is of loops alone replays
    # nothing, and running sums are only marked where a compiler optimises.
    unit=
    level=-O0
    case " $row_tests " in
        *" $2 "*) level="-O0 -DMUTANT_CELLS=1" ;;
        *) grep -q '^#include "adrev_' "$source" || level=-O1 ;;
    esac
    if grep -q '^#include "implementation.h"' "$source" && [ "$level" = -O0 ] \
        && { ! grep -q '^#include "adrev_loop.h"' "$source" \
            || grep -q '^#include "adrev_function.h"' "$source"; }; then
        unit="-DTESTS_UNIT $out/unit.o"
    fi
    # shellcheck disable=SC2046,SC2086  # flags are a list
    if "$cc" $flags $level $(sed -n '1,6s|^// flags: *||p' "$source") "$source" \
        "$out/mutant.o" $unit -o "$out/$2" -lm > "$out/$2.log" 2>&1 \
        && (cd "$root" && REACHED="$out/$2.reached" "$out/$2" \
            > "$out/$2.log" 2>&1); then
        exit 0
    fi
    rm -f "$out/$2.reached"
    echo "$2 fails before anything is wrong:"
    tail -n 5 "$out/$2.log"
    exit 1
fi

# one NUMBER: killed, survived, or not reached. Whole numbers are no mutants.
if [ "$jobs" = one ]; then
    what=$(sed -n "s/^$2 //p" "$out/list")
    case $what in
        row*) tests=$row_tests ;;
        *) tests=$sum_tests ;;
    esac
    fate="not reached"
    for test in $tests; do
        if grep -qsx "$2 whole" "$out/$test.reached"; then
            exit 0
        fi
        grep -qsx "$2" "$out/$test.reached" || continue
        fate=survived
        (cd "$root" && MUTANT=$2 timeout 300 "$out/$test") \
            > "$out/$2.log" 2>&1 || { fate=killed; break; }
    done
    rm -f "$out/$2.log"
    echo "$fate $what"
    exit 0
fi

rm -rf "$out"
mkdir -p "$out"
: > "$out/list"
cp "$root"/adrev*.h "$out"
for header in $headers; do
    [ "$header" = adrev ] || header=adrev_$header
    awk -v first=$(($(wc -l < "$out/list") + 1)) -v rooms="$rooms" \
        -v list="$out/new" -f "$root/tests/mutate.awk" "$root/$header.h" \
        > "$out/$header.h"
    [ ! -f "$out/new" ] || cat "$out/new" >> "$out/list"
    rm -f "$out/new"
    echo "#include \"$header.h\"" >> "$out/headers"
done
count=$(wc -l < "$out/list")

# Which mutant is wrong, and which have been reached.
cat > "$out/mutant.h" << END
extern int mutant_wrong;
extern char mutant_reached[$count + 1];
extern char mutant_whole[$count + 1];
#define MUTANT(k) (mutant_reached[k] = 1, mutant_wrong == k ? 1.0001 : 1.0)
#ifdef MUTANT_CELLS  // then no compiler knows which partials are 1
#define MUTANT_CELL(k) MUTANT(k)
#else
#define MUTANT_CELL(k) 1
#endif
#define MUTANT_SUM(x, k) __builtin_choose_expr(                           \\
    _Generic((x), double: 1, long double: 1, default: 0) || sizeof(x) > 16, \\
    MUTANT(k), (mutant_whole[k] = 1, 1))
END
cat > "$out/mutant.c" << END
#include <stdio.h>
#include <stdlib.h>
int mutant_wrong;
char mutant_reached[$count + 1];
char mutant_whole[$count + 1];
static void tell(void)
{
    FILE *f = fopen(getenv("REACHED"), "w");
    for (int k = 1; k <= $count; k++) {
        if (mutant_reached[k])
            fprintf(f, "%d\n", k);
        if (mutant_whole[k])
            fprintf(f, "%d whole\n", k);
    }
    fclose(f);
}
__attribute__((constructor)) static void begin(void)
{
    if (getenv("MUTANT"))
        mutant_wrong = atoi(getenv("MUTANT"));
    if (getenv("REACHED"))
        atexit(tell);
}
END
{ echo '#define ADREV_IMPLEMENTATION'
  echo '#define ADREV_TRACE 1'
  cat "$out/headers"; } > "$out/unit.c"
# shellcheck disable=SC2086  # flags are a list
"$cc" -c "$out/mutant.c" -o "$out/mutant.o" \
    && "$cc" $flags -c "$out/unit.c" -o "$out/unit.o" || exit 2

# shellcheck disable=SC2086  # lists
printf '%s\n' $row_tests $sum_tests \
    | xargs -n 1 -P "$jobs" sh "$0" build || exit 1
cut -d ' ' -f 1 "$out/list" | awk -v n="$every" 'NR % n == 0' \
    | xargs -n 1 -P "$jobs" sh "$0" one | sort > "$out/result"
grep -v -e '^killed' -e '^not reached sum' "$out/result"
echo "$(grep -c '^not reached sum' "$out/result") sums are not reached, among" \
    "them sums of whole numbers: $out/result"
killed=$(grep -c '^killed' "$out/result")
failed=$(grep -vc -e '^killed' -e '^not reached sum' "$out/result")
echo "$killed passed, $failed failed"
[ "$failed" = 0 ]
