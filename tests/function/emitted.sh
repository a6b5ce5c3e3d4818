#!/bin/sh
# tags: code
# Generated C code: sh tests/function/emitted.sh CC FLAGS DIR
# emitted.c, built by CC, writes code with double and with float. It must be
# C99 without a warning under every compiler that is there, and compute what
# the recordings do. With -DFEW=1 among FLAGS gcc only looks for warnings in that
# with double, and clang in that with float, since both take long, if tcc is there
# to run it.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$3
mkdir -p "$dir"
warnings="-Wall -Wextra -Wshadow -Wconversion -Wdouble-promotion"
strict="$warnings -Wpedantic"
case $2 in *-std=*) std= ;; *) std=-std=c11 ;; esac
tcc=$(command -v tcc)
passed=0
failed=0

# Adds what a program printed last, or one failure.
count() {
    line=$(sed -n 's/.*: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$1" \
        | tail -n 1)
    grep -v ' passed, [0-9]* failed$' "$1"
    # shellcheck disable=SC2086  # two numbers
    set -- ${line:-0 1}
    passed=$((passed + $1))
    failed=$((failed + $2))
}

fail() {
    echo "emitted: $1"
    failed=$((failed + 1))
}

# compile_and_run COMPILER FLAGS OUT. Code with a warning is one failure, and
# runs all the same.
compile_and_run() {
    # shellcheck disable=SC2086  # flags are a list
    if $1 $2 -Werror -c "$3/code.c" -o "$3/code.o" > "$3/log" 2>&1; then
        passed=$((passed + 1))
    else
        head -n 8 "$3/log"
        fail "$1 $2: a warning"
        $1 $2 -w -c "$3/code.c" -o "$3/code.o"
    fi
    # shellcheck disable=SC2086  # flags are a list
    if $1 $2 -w -I"$root/tests/support" "$3/code.o" "$3/driver.c" -o "$3/driver" -lm \
        > "$3/log" 2>&1; then
        timeout 100 "$3/driver" > "$3/log" 2>&1
        count "$3/log"
    else
        head -n 20 "$3/log"
        fail "$1 $2: does not build"
    fi
}

for real in double float; do
    out=$dir/$real
    mkdir -p "$out"
    # -ffp-contract must be off on both sides.
    # shellcheck disable=SC2086  # flags are lists
    if ! $1 $std $strict -Werror $2 -UADREV_REAL -DADREV_REAL=$real \
        -ffp-contract=off -I"$root" -I"$root/tests/support" "$root/tests/function/emitted.c" \
        -o "$out/generator" -lm; then
        fail "the generator does not build"
        continue
    fi
    timeout 100 "$out/generator" "$out" > "$out/log" 2>&1
    count "$out/log"
    # The integers of CasADi's entry points as CasADi and as acados have them.
    for cc in gcc "clang -Dcasadi_int=int"; do
        case "$cc $real $2" in
            'gcc float'*-DFEW* | clang*' double'*-DFEW*) continue ;;
        esac
        if ! command -v "${cc%% *}" > /dev/null 2>&1; then
            echo "emitted: skipped, ${cc%% *} is not installed"
            continue
        fi
        c99="-std=c99 -pedantic $warnings -ffp-contract=off -O0"
        case "$cc $2 $tcc" in
            clang*-DFEW* | gcc*-DFEW*/tcc)
                # shellcheck disable=SC2086  # lists
                if $cc $c99 -Werror -fsyntax-only "$out/code.c" \
                    > "$out/log" 2>&1; then
                    passed=$((passed + 1))
                else
                    head -n 8 "$out/log"
                    fail "$cc: a warning"
                fi
                continue ;;
        esac
        compile_and_run "$cc" "$c99" "$out"
    done
    if [ -n "$tcc" ]; then
        compile_and_run tcc "-Wall" "$out"
    else
        echo "emitted: skipped, tcc is not installed"
    fi
done

echo "emitted: $passed passed, $failed failed"
[ $failed -eq 0 ]
