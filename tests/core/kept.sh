#!/bin/sh
# tags:
# What a program keeps of adrev where the linker drops what is not used:
# no operation that it does not name, no double arithmetic in a float build, no
# malloc, no text of a table; and tools/kept.sh says what and why.
#     sh tests/core/kept.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
flags=$2
dir=$3
mkdir -p "$dir"
cd "$dir" || exit 1
dir=$(pwd)
script=kept
. "$root/tests/support/check.sh"

# A network of array statements, with one operation.
echo '#include "adrev.h"
static _Alignas(8) char memory[20000];
int main(void)
{
    ad_tape *t = ad_tape_in(memory, sizeof memory);
    ad_real g[6];
    ad_rev x[6];
    ad_rev h[2];
    ad_use(t);
    for (int i = 0; i < 6; i++)
        x[i] = ad_input((ad_real)i / 4);
    ad_matvec(2, 2, x, x + 4, h);
    ad_each(ADREV_OP_sqr, 2, h, NULL, NULL, h);
    ad_rev y = ad_rec(ad_mul(ad_dot(2, h, x), x[5]));
    return ad_gradient(t, y, 6, x, g) != ADREV_OK || ad_use(NULL) != t;
}' > program.c
echo '#define ADREV_IMPLEMENTATION
#include "adrev.h"' > library.c

# program NAME SWITCHES: links it, with a map
program() {
    # shellcheck disable=SC2086  # flags are lists
    "$cc" -std=c11 $flags -Os -ffunction-sections -fdata-sections -no-pie $2 \
        -I"$root" program.c library.c -o "$1" -lm -Wl,--gc-sections \
        -Wl,-Map="$1.map" > said 2>&1 && "./$1" > said 2>&1
}

# lacks NAME PATTERN: the program has no such symbol
lacks() {
    nm "$1" | grep -E " $2" > said
    [ $? = 1 ]
    count "$1 has $2" $?
}

program fixed "-DADREV_FIXED=1 -DADREV_REAL=float"
count "ADREV_FIXED" $?
program grows ""
count "tapes that grow" $?
for name in fixed grows; do
    nm "$name" | grep -q ' adx_loops_sqr$'
    count "$name has the operation that it names" $?
    lacks "$name" 'adx_loops_(sin|pow|gamma_p)$'
    lacks "$name" '(sin|pow|lgamma|exp|log)f?(@|$)'
done
lacks fixed '(malloc|free|printf|puts|__errno_location)(@|$)'
lacks fixed 'adx_traced'
lacks fixed '(ad_op_table|ad_message)$'

# Its table: bytes, name, room, why.
sh "$root/tools/kept.sh" fixed.map > said
grep -qE '^ *[0-9]+  adx_loops_sqr +array/sums +statements$' said
count "the operation stands in the table" $?
grep -qE '^ *[0-9]+  ad_matvec_s +array/products +-$' said
count "and what the program calls" $?
grep -qE '^ *[0-9]+  adx_enter_inputs +tape/entries +ad_inputs$' said
count "and why something is kept" $?
all=$(sed -n 's/^ *\([0-9]*\)  all *$/\1/p' said)
sum=$(awk '$2 == "all" && NF == 3 { n += $1 } END { print n }' said)
[ -n "$all" ] && [ "$all" = "$sum" ]
count "the sums are $sum and $all" $?
sh "$root/tools/kept.sh" no.map > said 2>&1
[ $? = 2 ]
count "a map that is not there" $?

# The same source in double calls nothing for float, and the reverse: in a float
# build no number becomes a double.
# shellcheck disable=SC2086
"$cc" -std=c11 -Os $flags -DADREV_FIXED=1 -DADREV_REAL=float -I"$root" \
    -Wdouble-promotion -Werror -DADREV_STRICT -fsyntax-only library.c \
    > said 2>&1
count "no double in a float build" $?

echo "kept: $passed passed, $failed failed"
[ $failed = 0 ]
