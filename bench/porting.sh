#!/bin/sh
# What the ways of docs/porting.md cost: sh bench/porting.sh gcc g++ "-O2"
#
# Compile times: of each program there, without the implementation, in seconds
# of user time, median of 5. Run times: the misfit of 1000 points and its
# gradient over the plain misfit, user time, median of 41.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/build/porting_$1
mkdir -p "$dir"
block() {
    awk -v fence="\`\`\`$1" -v n="$2" '/^```/ && on { exit }
        $0 == fence { on = ++k == n; next }
        on && !/define ADREV_IMPL/' "$root/docs/porting.md"
}
block c 1 > "$dir/plain.c"
block c 2 > "$dir/hand.c"
block cpp 1 > "$dir/operators.cpp"
block h 1 > "$dir/spring.h"
block c 3 > "$dir/source.c"

# seconds COMMAND ...
seconds() {
    for i in 1 2 3 4 5; do
        { bash -c 'TIMEFORMAT=%U; time "$@" 2> /dev/null' x "$@"; } 2>&1
    done | sort -n | sed -n 3p
}
cd "$dir" || exit 2
for program in plain hand operators source; do
    case $program in
        operators) file=operators.cpp; compiler="$2 -std=c++17" ;;
        *) file=$program.c; compiler="$1 -std=c11" ;;
    esac
    # shellcheck disable=SC2086  # lists
    printf '%-10s compiles in %s s\n' $program \
        "$(seconds $compiler $3 -I"$root" -I. -c $file -o out.o)"
    # The function of it, for the program below.
    { sed '/^int main/,$d' $file
      cat "$root/bench/porting_$program.h"
    } > "run_$file"
    # shellcheck disable=SC2086  # lists
    $compiler $3 -I"$root" -I. -c "run_$file" -o $program.o || exit 1
done
# shellcheck disable=SC2086  # flags are a list
"$1" -std=c11 $3 -I"$root" "$root/bench/porting.c" plain.o hand.o operators.o \
    source.o -o porting -lm && ./porting
