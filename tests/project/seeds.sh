#!/bin/sh
# tags:
# Replays the seeds of the fuzzers, without libFuzzer, by any compiler:
#                                           sh tests/project/seeds.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
flags=$2
dir=$3
mkdir -p "$dir"
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion"
passed=0
failed=0

for source in "$root"/tests/fuzz/*.c; do
    name=$(basename "$source" .c)
    # shellcheck disable=SC2086  # flags are a list
    if "$cc" -std=c11 $strict -Werror $flags -DFUZZ_REPLAY -I"$root" -I"$root/tests/support" \
        "$source" -o "$dir/$name" -lm -pthread > "$dir/$name.log" 2>&1 \
        && "$dir/$name" "$root/tests/fuzz/seeds/$name"/* \
            > "$dir/$name.log" 2>&1; then
        n=$(sed -n 's/.*: \([0-9]*\) passed, 0 failed$/\1/p' "$dir/$name.log")
        passed=$((passed + n))
    else
        cat "$dir/$name.log"
        failed=$((failed + 1))
    fi
done
echo "seeds: $passed passed, $failed failed"
[ "$failed" = 0 ]
