#!/bin/sh
# tags:
# Tests as WebAssembly, under node; and what is refused there.
#                              sh tests/project/wasm.sh CC FLAGS DIR [TEST ...]
# Without tests, one of adrev.h, and adrev_function.h is compiled; with tests, all
# headers are.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
flags=$2
dir=$3
shift 3
header=all
[ $# -gt 0 ] || { header=function; set -- control_flow.c; }
mkdir -p "$dir"
passed=0
failed=0

skip() {
    echo "wasm.sh: skipped, $1"
    echo "wasm.sh: 0 passed, 0 failed"
    exit 0
}

# build SOURCE OUTPUT FLAG ...
build() {
    source=$1
    out=$2
    shift 2
    # shellcheck disable=SC2086  # a list
    "$cc" --target=wasm32-wasi -nostdlibinc -isystem /usr/include/wasm32-wasi \
        -std=c11 -Wall -Wextra -Werror $flags "$@" -I"$root" \
        -I"$root/tests/support" "$source" -o "$out" -lm \
        -lc-printscan-long-double > "$dir/log" 2>&1
}

# With threads of its own node 20 may crash when it ends (structs.c: in half of
# the runs, after the program has ended well).
wasi() {
    node --no-warnings --single-threaded "$root/tests/support/wasi.mjs" "$1"
}

command -v node > /dev/null 2>&1 || skip "node is not installed"
echo 'int main(void) { return 0; }' > "$dir/empty.c"
build "$dir/empty.c" "$dir/empty.wasm" \
    || skip "$cc cannot link for wasm32-wasi: wasi-libc, lld, libclang-rt"
wasi "$dir/empty.wasm" 2> /dev/null || skip "node runs no WASI"

# Adds what a program printed last, or one failure.
for name; do
    test=$(find "$root/tests" -name "$name")
    line=
    # shellcheck disable=SC2046  # a list
    if build "$test" "$dir/$name.wasm" $(sed -n '1,6s|^// flags:||p' "$test"); then
        end=0
        wasi "$dir/$name.wasm" > "$dir/log" 2>&1 || end=$?
        if [ "$end" != 0 ]; then
            failed=$((failed + 1))
            echo "$name ends with status $end" >> "$dir/log"
        fi
        line=$(sed -n 's/.*: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' \
                   "$dir/log" | tail -n 1)
    fi
    [ -n "$line" ] || { echo "wasm.sh: $name"; head -n 20 "$dir/log"; }
    grep -v ' passed, [0-9]* failed$' "$dir/log"
    # shellcheck disable=SC2086  # two numbers
    set -- ${line:-0 1}
    passed=$((passed + $1))
    failed=$((failed + $2))
done

check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "wasm.sh: $1: got $2"
        head -n 5 "$dir/log"
    fi
}

# No compiler and no threads there: a status, and a sentence.
printf '#define ADREV_IMPLEMENTATION\n#include "adrev_%s.h"\n' $header \
    > "$dir/refused.c"
cat >> "$dir/refused.c" << 'END'
#include <stdio.h>
static void f(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_sin(x[1])));
}
int main(void)
{
    const double x[2] = { 2, 1 };
    double g[2];
    ad_fn *fn;
    if (ad_fn_record(&fn, f, NULL, 2, x, 1) != ADREV_OK)
        return 1;
    ad_status compiled = ad_fn_compile(fn, NULL);
    if (ad_fn_gradient(fn, x, NULL, g) != ADREV_OK)
        return 1;
    printf("%d %.4f %.4f\n", compiled == ADREV_ECOMPILE, g[0], g[1]);
    ad_fn_free(fn);
}
END
build "$dir/refused.c" "$dir/refused.wasm" && got=$(wasi "$dir/refused.wasm" 2>&1)
check "no compiler" "$got" "1 0.8415 1.0806"
echo '#include "adrev_parallel.h"' | cat - "$dir/empty.c" > "$dir/threads.c"
build "$dir/threads.c" "$dir/threads.wasm"
check "no threads" "$(grep -c 'error: adrev_parallel.h needs threads' "$dir/log")" 1

echo "wasm.sh: $passed passed, $failed failed"
[ "$failed" = 0 ]
