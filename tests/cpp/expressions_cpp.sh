#!/bin/sh
# tags: cpp
# Random expressions in C++ and in C:
#               sh tests/cpp/expressions_cpp.sh CC FLAGS DIR [CASES SEED]
#
# What expressions_print.c prints is compiled as C and, with operators for
# macros, as C++. With clang both have the same bits and as many operands on the
# tape. gcc evaluates the operands of an operator from right to left, and may so
# merge others: there one operand in twenty may be more or less.
# (tests/core/expressions.sh finds out whether they are right.)
# SPDX-License-Identifier: MIT-0

cc=$1
flags=$2
out=$3
cases=${4:-12}
seed=${5:-2}
root=$(cd "$(dirname "$0")/../.." && pwd)
case $cc in clang*) cxx=clang++${cc#clang} ;; *) cxx=g++${cc#gcc} ;; esac
if ! command -v "$cxx" > /dev/null 2>&1; then
    echo "expressions_cpp: skipped, $cxx is not installed"
    echo "expressions_cpp: 0 passed, 0 failed"
    exit 0
fi
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
strict="$strict -DADREV_STRICT=1 -I$root -I$root/tests/support"
mkdir -p "$out"

fail() {
    head -n 20 "$out/log"
    echo "expressions_cpp: $1"
    echo "expressions_cpp: 0 passed, 1 failed"
    exit 1
}

"$cc" -std=c11 -O0 "$root/tests/core/expressions_print.c" -o "$out/print" \
    > "$out/log" 2>&1 || fail "what prints does not build"
"$out/print" "$cases" "$seed" > "$out/c.c" || fail "nothing was printed"
{ echo '#include "expressions_cpp.h"'
  echo 'extern "C" {'
  sed '/^#include/d; s/\bad_\([a-z0-9]*\)(/cpp_\1(/g' "$out/c.c"
  echo '}'
} > "$out/cpp.cpp"
# shellcheck disable=SC2086  # flags are lists
{
    "$cc" -std=c11 $strict $flags -c "$root/tests/core/expressions_run.c" \
        -o "$out/run.o" \
        && "$cc" -std=c11 $strict $flags -c "$out/c.c" -o "$out/c.o" \
        && $cxx -std=c++20 $strict $flags -c "$out/cpp.cpp" -o "$out/cpp.o" \
        && "$cc" $flags "$out/run.o" "$out/c.o" -o "$out/c" -lm \
        && $cxx $flags "$out/run.o" "$out/cpp.o" -o "$out/cpp" -lm
} > "$out/log" 2>&1 || fail "does not build"
timeout 100 "$out/c" > "$out/c.log"
timeout 100 "$out/cpp" > "$out/cpp.log"
grep -q '^bits: ' "$out/c.log" || fail "did not run"
if awk -v gcc="$(case $cc in clang*) echo 0 ;; *) echo 1 ;; esac)" '
        /^bits: / { bits[++n] = $2; count[n] = $3 }
        END { off = count[1] - count[2]
              exit !(n == 2 && count[1] > 0 \
                     && (bits[1] == bits[2] && off == 0 \
                         || gcc && off * off * 400 <= count[1] ^ 2)) }' \
    "$out/c.log" "$out/cpp.log"; then
    echo "expressions_cpp: $cases passed, 0 failed"
else
    echo "C:   $(grep '^bits: ' "$out/c.log")"
    echo "C++: $(grep '^bits: ' "$out/cpp.log")"
    echo "expressions_cpp: 0 passed, 1 failed"
    exit 1
fi
