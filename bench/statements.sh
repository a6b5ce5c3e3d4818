#!/bin/sh
# What it costs to compile a function of many statements, and what a gradient costs
# that nobody optimised:                 sh bench/statements.sh CC CXX
#
# User seconds and megabytes of the compiler, kilobytes of code. Adept 2 joins where
# ADEPT=DIR holds its include/. Memory where GNU time is installed.
# SPDX-License-Identifier: MIT-0

cc=$1
cxx=$2
. "$(dirname "$0")/common.sh"
cd "$out" || exit 2
$cc -std=c11 -O1 "$root/bench/statements.c" -o statements || exit 1

# measure LABEL COMPILER FLAGS FILE
measure() {
    if [ -x /usr/bin/time ]; then
        # shellcheck disable=SC2086  # flags are a list
        used=$(/usr/bin/time -f '%U %M' $2 $3 -c "$4" -o statements.o 2>&1 \
            | tail -n 1)
    else
        # shellcheck disable=SC2086
        used=$({ time -p $2 $3 -c "$4" -o statements.o; } 2>&1 \
            | sed -n 's/^user *//p')
    fi
    code=$(size statements.o 2> /dev/null | awk 'NR == 2 { print $1 }')
    echo "$1 $used ${code:-0}" | awk '{
        memory = (NF > 3) ? $3 / 1024 : 0
        printf "%-28s %6.2f s %6.0f MB %6.0f kB\n", $1, $2, memory, $NF / 1000
    }'
}

for count in 20 100 400; do
    ./statements adrev $count > "s$count.c"
    { echo '#include <adept.h>'
      echo 'typedef adept::adouble T;'
      echo 'template <class E> auto sqr(const E &x) { return x * x; }'
      ./statements infix $count; } > "s$count.cpp"
    for level in 1 2 3; do
        measure "$count,-O$level,adrev,$cc" "$cc" \
            "-std=c11 -O$level -I$root" "s$count.c"
        [ -z "$ADEPT" ] || measure "$count,-O$level,Adept,$cxx" "$cxx" \
            "-std=c++17 -O$level -w -I$ADEPT/include" "s$count.cpp"
    done
done

# 100 statements run with -O0: a gradient, in plain programs.
./statements plain 100 | sed 's/statements/plain_statements/' > plain.c
$cc -std=c11 -O0 -c plain.c -o plain.o \
    && $cc -std=c11 -O0 -I"$root" "s100.c" "$root/bench/unoptimised.c" plain.o \
        -o unoptimised -lm && ./unoptimised
