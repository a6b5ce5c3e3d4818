#!/bin/sh
# tags: cpp
# Operators in C++11 to C++23, without a warning:
#                                     sh tests/cpp/operators.sh CC FLAGS DIR
# operators.cpp runs with every switch that it has to do with; a unit of C,
# border.c, holds the implementation. And what must not compile does not.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/cpp
cc=$1
flags=$2
dir=$3
case $cc in clang*) cxx=clang++${cc#clang} ;; *) cxx=g++${cc#gcc} ;; esac
if ! command -v "$cxx" > /dev/null 2>&1; then
    echo "operators: skipped, $cxx is not installed"
    echo "operators: 0 passed, 0 failed"
    exit 0
fi
mkdir -p "$dir"
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
strict="$strict -I$root -I$root/tests/support"
passed=0
failed=0

# count PASSED FAILED
count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# warns STANDARD SWITCHES: none, with the headers' own
warns() {
    # shellcheck disable=SC2086  # flags are lists
    $cxx -std="$1" $strict -DADREV_STRICT=1 $2 -fsyntax-only \
        "$here/operators.cpp" || return 0
    return 1
}

# run STANDARD SWITCHES
run() {
    # shellcheck disable=SC2086  # flags are lists
    if "$cc" -std=c11 $strict $flags $2 -c "$here/border.c" -o "$dir/border.o" \
        && $cxx -std="$1" $strict -DADREV_STRICT=1 $flags $2 \
            "$here/operators.cpp" "$dir/border.o" -o "$dir/run" -lm; then
        timeout 100 "$dir/run" > "$dir/log"
        grep -v ' passed, ' "$dir/log"
        line=$(sed -n 's/^operators.*: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' \
            "$dir/log")
        # shellcheck disable=SC2086  # two numbers
        count ${line:-0 1}
    else
        echo "operators: $1 $2 does not build"
        count 0 1
    fi
}

# What all of these begin with is compiled once (if that fails, each time).
echo '#include "adrev.h"' > "$dir/begin.h"
$cxx -std=c++11 -I"$root" -x c++-header "$dir/begin.h" -o "$dir/begin.h.gch"

# refused WORDS: the rest of the input does not compile, and the message has
# these words.
refused() {
    { echo 'ad_rev f(ad_rev x, ad_rev y, ad_fwd d) { (void)y; (void)d;'
      cat
      echo 'return x; }'
    } > "$dir/refused.cpp"
    # shellcheck disable=SC2086  # a list
    if $cxx -std=c++11 -I"$root" -include "$dir/begin.h" -fsyntax-only \
        "$dir/refused.cpp" > "$dir/log" 2>&1; then
        echo "compiles: $(sed -n 2p "$dir/refused.cpp")"
        count 0 1
    elif grep -q "$1" "$dir/log"; then
        count 1 0
    else
        echo "says something else: $(sed -n 2p "$dir/refused.cpp")"
        head -n 5 "$dir/log"
        count 0 1
    fi
}

refused 'auto made this an expression' << 'END'
auto s = x * y; s += x;
END
refused 'ad_expr_' << 'END'
auto s = x * y; s = x * x * y;
END
refused 'an ad_fwd and an ad_rev in one' << 'END'
x = x * d;
END
refused 'ad_rev' << 'END'
double c = x * 2; (void)c;
END
refused 'ad_rev' << 'END'
double c = x; (void)c;
END
refused 'ad_rev' << 'END'
double c = double(x); (void)c;
END
refused 'ad_rev' << 'END'
int c = x; (void)c;
END
refused 'ad_fwd' << 'END'
x = d;
END
refused 'ad_rev' << 'END'
d = x * y;
END
refused 'adx_\|operator' << 'END'
x = x * "1";
END

# With -DFEW=1 among FLAGS one of the two by each compiler.
case "$flags $cc" in
    *-DFEW*gcc*) ;;
    *) run c++11 -UFEW ;;
esac
case "$flags $cc" in
    *-DFEW*clang*) ;;
    *)
        run c++20 "-DFEW=1 -DADREV_TRACE=1 -DADREV_DEBUG=1"
        for standard in c++14 c++17 c++2b; do
            if warns $standard "-DFEW=1"; then count 0 1; else count 1 0; fi
        done ;;
esac

echo "operators: $passed passed, $failed failed"
[ $failed -eq 0 ]
