#!/bin/sh
# Analysers on adrev.h: gcc -fanalyzer, clang --analyze and cppcheck read it,
# with tapes that grow and with ADREV_FIXED; memcheck runs tests of the core.
# Prints what they say, and a line for each; those that are not installed are
# named. Fails if one has something to say.
#     sh tools/analyse.sh DIR
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/.." || exit 2
dir=${1:-build/analyse}
mkdir -p "$dir"
printf '#define ADREV_IMPLEMENTATION\n#include "adrev.h"\n' > "$dir/unit.c"
status=0

# ask WHAT PATTERN COMMAND ...: a line of its output with the pattern is a finding
ask() {
    what=$1
    pattern=$2
    shift 2
    if ! command -v "$1" > /dev/null 2>&1; then
        echo "$what: skipped, $1 is not installed"
        return
    fi
    "$@" > "$dir/said" 2>&1
    code=$?
    found=$(grep -cE "$pattern" "$dir/said")
    if [ "$code" != 0 ] || [ "$found" != 0 ]; then
        status=1
        cat "$dir/said"
    fi
    echo "$what: $found findings, status $code"
}

# A tape is one block of memory, with numbers of several types where
# tape/layout says: of that cppcheck is not to speak.
for fixed in 0 1; do
    switches="-std=c11 -Isrc -DADREV_FIXED=$fixed"
    # shellcheck disable=SC2086  # a list
    {
        ask "gcc -fanalyzer, ADREV_FIXED=$fixed" 'warning:' gcc $switches \
            -fanalyzer -c "$dir/unit.c" -o "$dir/unit.o"
        ask "clang --analyze, ADREV_FIXED=$fixed" 'warning:' clang $switches \
            --analyze -Xclang -analyzer-opt-analyze-headers \
            -Xclang -analyzer-output=text "$dir/unit.c"
        ask "cppcheck, ADREV_FIXED=$fixed" '[|]' cppcheck --std=c11 --quiet \
            --enable=warning,portability --suppress=invalidPointerCast \
            -Isrc -DADREV_FIXED=$fixed -D__STDC_VERSION__=201112L \
            -D__GNUC__=12 -U__cplusplus --template='{file}|{line}|{message}' \
            "$dir/unit.c"
    }
done
for test in control_flow nested numbers; do
    gcc -std=c11 -g -O1 -DADREV_STRICT=1 -I. -Itests/support \
        "tests/core/$test.c" -o "$dir/$test" -lm || exit 1
    ask "memcheck, $test" '^==' valgrind -q --error-exitcode=9 \
        --leak-check=full "$dir/$test"
done
exit $status
