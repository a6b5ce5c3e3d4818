#!/bin/sh
# tags:
# Random expressions:       sh tests/core/expressions.sh CC FLAGS OUT [CASES SEED]
# With -DFEW=1 among FLAGS 25 cases, otherwise 70, and what runs them in small
# blocks is compiled without optimisation.
#
# expressions_print.c prints them as C, expressions_run.c runs them as they are
# written, in steps and forward. With small blocks, where statements often do
# not fit, they must have the same bits.
#
# What is printed mixes float and double on purpose: -Wdouble-promotion is off.
# SPDX-License-Identifier: MIT-0

cc=$1
out=$3
case $2 in *-DFEW*) usual=25 small=-O0 ;; *) usual=70 small= ;; esac
cases=${4:-$usual}
seed=${5:-1}
root=$(cd "$(dirname "$0")/../.." && pwd)
flags="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion"
flags="$flags -Werror -DADREV_STRICT=1 -I$root -I$root/tests/support $2"
case $2 in *-std=*) ;; *) flags="-std=c11 $flags" ;; esac
mkdir -p "$out"

fail() {
    head -n 20 "$out/log"
    echo "expressions: $1"
    echo "expressions: 0 passed, 1 failed"
    exit 1
}

# build FLAGS NAME
build() {
    # shellcheck disable=SC2086  # flags are a list
    $cc $flags $1 "$root/tests/core/expressions_run.c" "$out/code.o" -o "$out/$2" \
        -lm -pthread > "$out/log" 2>&1 || fail "$2 does not build"
}

# shellcheck disable=SC2086  # flags are a list
$cc $flags -O0 "$root/tests/core/expressions_print.c" -o "$out/print" \
    > "$out/log" 2>&1 || fail "what prints does not build"
"$out/print" "$cases" "$seed" > "$out/code.c" 2> "$out/log" \
    || fail "nothing was printed"
# shellcheck disable=SC2086  # flags are a list
$cc $flags -Wno-double-promotion -c "$out/code.c" -o "$out/code.o" > "$out/log" 2>&1 \
    || fail "what was printed does not build"
build "" usual
build "$small -UADREV_BLOCK -DADREV_BLOCK=1" small
timeout 100 "$out/usual" > "$out/usual.log"
timeout 100 "$out/small" > "$out/small.log"

passed=0
failed=0
for log in "$out/usual.log" "$out/small.log"; do
    grep -v '^decided: \|^bits: \| passed, ' "$log"
    line=$(sed -n 's/^expressions: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' \
        "$log")
    # shellcheck disable=SC2086  # two numbers
    set -- ${line:-0 1}
    passed=$((passed + $1))
    failed=$((failed + $2))
done
if [ "$(grep '^bits: ' "$out/usual.log")" \
    = "$(grep '^bits: ' "$out/small.log")" ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "expressions: small blocks have other bits"
fi

echo "expressions: $passed passed, $failed failed"
[ $failed -eq 0 ]
