#!/bin/sh
# tags:
# adrev.h for a freestanding program that has <math.h> alone: no other header of
# a C library, no malloc, no threads. Such an implementation is then linked with
# a test of the suite, which must pass.
#     sh tests/core/freestanding.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
dir=$3
mkdir -p "$dir/include"
cd "$dir" || exit 1
dir=$(pwd)
script=freestanding
. "$root/tests/support/check.sh"
switches="-ffreestanding -DADREV_NO_STDLIB -DADREV_NO_THREADS"
strict="-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    -Wdouble-promotion -DADREV_STRICT=1 -Werror"

# The compiler's own headers: stddef, stdint, stdbool, stdarg, stdatomic.
own=$("$cc" -print-file-name=include)
[ -f "$own/stddef.h" ] || own=$("$cc" -print-resource-dir)/include

# Of <math.h> what the operations call, in double and float.
functions() {
    sed -n "/^#define $1(ROW)/,/[^\\\\]\$/p" "$root/src/core/operations.h" \
        | grep -o 'ROW([a-z0-9]*)' | sed 's/ROW(\(.*\))/\1/' | grep -v '^ROW$'
}
{
    printf '#pragma once\n#define INFINITY __builtin_inff()\n'
    printf '#define HUGE_VAL __builtin_huge_val()\n'
    printf '#define NAN __builtin_nanf("")\n'
    for name in isnan isinf isfinite signbit isless isgreater; do
        echo "#define $name(...) __builtin_$name(__VA_ARGS__)"
    done
    for end in "double " "float f" "long_double l"; do
        type=$(echo "${end% *}" | tr _ ' ')
        end=${end#* }
        for name in $(functions ADX_LIBM1) lgamma; do
            echo "$type $name$end($type);"
        done
        for name in $(functions ADX_LIBM2); do
            echo "$type $name$end($type, $type);"
        done
        echo "$type fma$end($type, $type, $type);"
        echo "$type ldexp$end($type, int); $type frexp$end($type, int *);"
    done
    echo "double jn(int, double); double yn(int, double);"
} > include/math.h

cat > library.c << 'END'
#define ADREV_IMPLEMENTATION
#include "adrev.h"
END

# shellcheck disable=SC2086  # flags are lists
alone() {
    "$cc" $strict $2 $switches -nostdinc -isystem "$own" -I"$dir/include" \
        -I"$root" -c library.c -o "$1"
}

# shellcheck disable=SC2086  # flags are lists
passes() {
    "$cc" -std=c11 $2 $switches -DTESTS_UNIT -I"$root" -I"$root/tests/support" \
        "$root/tests/core/$1.c" library.o -o "$1" -lm && ./"$1"
}

check "without a C library" alone library.o "$2"
check "numbers.c" passes numbers "$2"
check "ADREV_FIXED" alone fixed.o "$2 -DADREV_FIXED=1 -DADREV_REAL=float"

# Nor does it call anything but <math.h> and what is promised.
nm fixed.o | awk '$1 == "U" { print $2 }' | sort > calls
{ for name in $(functions ADX_LIBM1) $(functions ADX_LIBM2) fma ldexp frexp \
      lgamma; do
      printf '%s\n%sf\n%sl\n' "$name" "$name" "$name"
  done
  printf '%s\n' jn yn memcpy memmove memset memcmp strcmp strncmp strlen
} | sort -u > may
comm -23 calls may > said
[ ! -s said ]
count "calls of something else" $?

echo "freestanding: $passed passed, $failed failed"
[ $failed = 0 ]
