#!/bin/sh
# tags:
# What the compiler or the linker must refuse, and in which words:
# sh tests/core/refused.sh CC FLAGS DIR
# With -DFEW=1 among FLAGS the order of headers by gcc alone, which starts faster,
# and fewer objects, by clang alone, which compiles faster: preprocessors and
# linkers are alike.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
flags=$2
dir=$3
mkdir -p "$dir"
cd "$dir" || exit 1
dir=$(pwd)
script=refused
. "$root/tests/support/check.sh"

# first WHAT WORDS COMMAND ...: it fails, and the first error has the words
first() {
    what=$1
    words=$2
    shift 2
    if "$@" > said 2>&1; then
        echo "it is accepted" > said
        count "$what" 1
    else
        grep -m 1 'error' said | grep -q -e "$words"
        count "$what" $?
    fi
}

accepted() {
    what=$1
    shift
    "$@" > said 2>&1
    count "$what" $?
}

# headers NAME ...: a file that implements them in this order
headers() {
    echo "#define ADREV_TRACE 1"
    echo "#define ADREV_IMPLEMENTATION"
    for name in "$@"; do
        echo "#include \"adrev_$name.h\""
    done
}

few=
case $flags in *-DFEW*) few=1 ;; esac

# --- headers in an order in which one would not find another ---------------
orders() {
    preprocess="$cc -std=c11 -E -o /dev/null -I$root"
    while read -r words order; do
        # shellcheck disable=SC2086  # lists
        headers $order > order.c
        # shellcheck disable=SC2086
        if [ "$words" = - ]; then
            accepted "$order" $preprocess order.c
        else
            first "$order" "order: adrev_$words.h before" $preprocess order.c
        fi
    done << 'END'
function bulk function
function loop function
function loop struct function parallel
parallel bulk parallel
parallel loop parallel
parallel function parallel
parallel function loop parallel
parallel tensor parallel
- parallel function bulk loop struct
- struct function loop
- parallel loop
- function loop function
- parallel tensor
END

    for name in parallel function tensor bulk loop; do
        echo "#include \"adrev_$name.h\"" > fixed.c
        # shellcheck disable=SC2086
        first "ADREV_FIXED and adrev_$name.h" 'error.*ADREV_FIXED' \
            $preprocess -DADREV_FIXED=1 fixed.c
    done
}
case "$few $cc" in "1 "*clang*) ;; *) orders ;; esac

# --- older standards -------------------------------------------------------
echo '#include "adrev.h"' > standard.c
for std in c90 gnu90 c99 gnu99; do
    first "-std=$std" 'needs C11.*-std=c11' \
        "$cc" -std=$std -fsyntax-only -I"$root" standard.c
done
for std in c11 gnu11 c17; do
    accepted "-std=$std" "$cc" -std=$std -fsyntax-only -I"$root" standard.c
done

case "$few $cc" in
    "1 "*gcc*)
        echo "refused: $passed passed, $failed failed"
        exit $((failed != 0)) ;;
esac

# --- files that do not agree on what a number is ---------------------------
echo '#define ADREV_IMPLEMENTATION
#include "adrev.h"' > library.c
echo '#include "adrev.h"
ad_rev half(ad_rev x);
ad_rev half(ad_rev x) { return ad_rec(ad_div(x, 2)); }' > records.c
echo '#include "adrev.h"
ad_rev half(ad_rev x);
int main(void)
{
#if ADREV_FIXED
    static double memory[500];
    ad_tape *t = ad_tape_in(memory, sizeof memory);
#else
    ad_tape *t = ad_tape_new();
#endif
    ad_real g = 0;
    ad_use(t);
    ad_rev x = ad_input(3);
    ad_status s = ad_gradient(t, half(x), 1, &x, &g);
    ad_tape_free(t);
    return s != ADREV_OK || g * 2 != 1;
}' > sweeps.c

# objects NAME SWITCHES: of the three files
objects() {
    for file in library records sweeps; do
        # shellcheck disable=SC2086  # flags are lists
        "$cc" -std=c11 $flags $2 -I"$root" -c $file.c \
            -o "$file-$1.o" || exit 1
    done
}
objects double ""
objects float -DADREV_REAL=float
objects plain -DADREV_NO_THREADS
objects fixed -DADREV_FIXED=1
if [ -z "$few" ]; then
    objects both "-DADREV_NO_THREADS -DADREV_REAL=float"
    objects fixed2 -DADREV_FIXED=2
fi
objects other "-DADREV_MARKS=4 -DADREV_DEBUG=1 -DADREV_TRACE=1"

# program LIBRARY RECORDS SWEEPS: of objects with these names
program() {
    # shellcheck disable=SC2086  # flags are a list
    "$cc" $flags "library-$1.o" "records-$2.o" "sweeps-$3.o" -o program -lm \
        && ./program
}

for name in float plain fixed ${few:-double both fixed2}; do
    [ "$name" = 1 ] || accepted "$name in all files" program "$name" "$name" "$name"
done
[ -n "$few" ] || accepted "ADREV_FIXED of either kind" program fixed2 fixed fixed
accepted "switches of one file" program double other double
accepted "switches of another file" program other double double

while read -r words library records sweeps; do
    case "$few $library $records $sweeps" in 1*both*) continue ;; esac
    program "$library" "$records" "$sweeps" > said 2>&1
    [ $? != 0 ] && grep -q -e "undefined.*adx_${words}_in_all_files" said
    count "library $library, recording $records, sweep $sweeps" $?
done << 'END'
ADREV_REAL_float double float double
ADREV_REAL_float double double float
ADREV_REAL_double float double float
ADREV_REAL_double float float double
ADREV_REAL_double plain double plain
ADREV_REAL_double plain plain double
ADREV_REAL_double_and_ADREV_NO_THREADS double plain double
ADREV_REAL_double_and_ADREV_NO_THREADS double double plain
ADREV_REAL_float_and_ADREV_NO_THREADS plain plain both
ADREV_REAL_double_and_ADREV_FIXED double fixed double
ADREV_REAL_double_and_ADREV_FIXED double double fixed
ADREV_REAL_double fixed double fixed
END

echo "refused: $passed passed, $failed failed"
[ $failed = 0 ]
