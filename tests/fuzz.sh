#!/bin/sh
# tags:
# Runs each fuzzer of tests/fuzz:           sh tests/fuzz.sh CC FLAGS DIR SECONDS
#
# Built with libFuzzer, ASan and UBSan; 60 SECONDS each if none are given. They
# start from tests/fuzz/seeds and go on from what was found before, which is
# kept in build/corpus. An input that fails is left in DIR: `DIR/NAME INPUT`
# runs it once more. What each has done stands in DIR/NAME.log.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/.." && pwd)
cc=$1
flags=$2
mkdir -p "$3"
dir=$(cd "$3" && pwd)
seconds=${4:-60}
passed=0
failed=0

{
    echo '#include <stddef.h>'
    echo 'int LLVMFuzzerTestOneInput(const char *p, size_t n);'
    echo 'int LLVMFuzzerTestOneInput(const char *p, size_t n)'
    echo '{ return p == NULL && n > 0; }'
} > "$dir/probe.c"
if ! "$cc" -fsanitize=fuzzer "$dir/probe.c" -o "$dir/probe" \
    > /dev/null 2>&1; then
    echo "fuzz: skipped, libFuzzer is not installed (libclang-rt-14-dev)"
    echo "fuzz: 0 passed, 0 failed"
    exit 0
fi

for source in "$root"/tests/fuzz/*.c; do
    name=$(basename "$source" .c)
    corpus=$root/build/corpus/$name
    mkdir -p "$corpus"
    # shellcheck disable=SC2086  # flags are a list
    if "$cc" -std=c11 $flags $(sed -n '1,6s|^// flags: *||p' "$source") \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        -I"$root" -I"$root/tests/support" "$source" -o "$dir/$name" -lm -pthread \
        > "$dir/$name.log" 2>&1 \
        && "$dir/$name" -max_total_time="$seconds" -max_len=600 -timeout=20 \
            -rss_limit_mb=2048 -print_final_stats=1 \
            -artifact_prefix="$dir/$name-" "$corpus" \
            "$root/tests/fuzz/seeds/$name" > "$dir/$name.log" 2>&1; then
        passed=$((passed + 1))
        sed -n "s|^Done|$name:|p" "$dir/$name.log"
    else
        failed=$((failed + 1))
        echo "$name:"
        grep -v '^#[0-9]' "$dir/$name.log" | tail -n 40
    fi
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" = 0 ]
