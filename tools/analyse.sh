#!/bin/sh
# Analysers on adrev.h: gcc -fanalyzer, clang --analyze and cppcheck read it,
# with tapes that grow and with ADREV_FIXED, side by side; memcheck runs tests of
# the core. Prints what they say, and a line for each; those that are not
# installed are named. A finding of tools/analyse.txt, which says why it is none,
# is only counted. Fails if there is another.
#     sh tools/analyse.sh DIR
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/.." || exit 2
dir=${1:-build/analyse}
rm -rf "$dir"
mkdir -p "$dir"
printf '#define ADREV_IMPLEMENTATION\n#include "adrev.h"\n' > "$dir/unit.c"

# judge WHO SAID: of findings ROOM:LINE:...: warning: TEXT those that have no row
# in tools/analyse.txt
judge() {
    awk -v who="$1" -F ' *[|] *' '
        function known(place, text,   part, line, n, i) {
            split(place, part, ":")
            for (n = 1; n <= part[2]; n++)
                getline line < part[1]
            close(part[1])
            gsub(/^ +| +$/, "", line)
            sub(/^src\//, "", part[1])
            sub(/\.h$/, "", part[1])
            for (i = 1; i <= rows; i++)
                if (who == tool[i] && part[1] == room[i] \
                    && index(line, code[i]) && index(text, says[i]))
                    return 1
            return 0
        }
        FNR == NR && !/^#/ && NF >= 5 {
            tool[++rows] = $1
            room[rows] = $2
            code[rows] = $3
            says[rows] = $4
        }
        FNR == NR { next }
        !/ warning: / || !known($0, $0)' tools/analyse.txt "$2"
}

# ask WHO CONFIGURATION PATTERN COMMAND ...: a line of its output with the pattern
# is a finding
ask() {
    who=$1
    what="$1, $2"
    said=$dir/$(echo "$what" | tr -c 'A-Za-z0-9\n' -).said
    pattern=$3
    shift 3
    if ! command -v "$1" > /dev/null 2>&1; then
        echo "$what: skipped, $1 is not installed"
        return
    fi
    "$@" > "$said" 2>&1
    code=$?
    grep -E "$pattern" "$said" > "$said.all"
    judge "$who" "$said.all" > "$said.new"
    if [ "$code" != 0 ] || [ -s "$said.new" ]; then
        : > "$dir/failed"
        cat "$said"
    fi
    echo "$what: $(wc -l < "$said.all") findings, $(wc -l < "$said.new") of" \
         "them not judged, status $code"
}

# A tape is one block of memory, with numbers of several types where
# tape/layout says: of that cppcheck is not to speak.
for fixed in 0 1; do
    switches="-std=c11 -Isrc -DADREV_FIXED=$fixed"
    # shellcheck disable=SC2086  # a list
    {
        ask clang "ADREV_FIXED=$fixed" 'warning:' clang $switches \
            --analyze -Xclang -analyzer-opt-analyze-headers \
            -Xclang -analyzer-output=text "$dir/unit.c"
        ask gcc "ADREV_FIXED=$fixed" 'warning:' gcc $switches \
            -fanalyzer -c "$dir/unit.c" -o "$dir/unit$fixed.o"
        ask cppcheck "ADREV_FIXED=$fixed" 'warning:' cppcheck --std=c11 --quiet \
            --enable=warning,portability --suppress=invalidPointerCast \
            -Isrc -DADREV_FIXED=$fixed -D__STDC_VERSION__=201112L \
            -D__GNUC__=12 -U__cplusplus \
            --template='{file}:{line}: warning: {message}' "$dir/unit.c"
    } &
done
wait
for test in control_flow nested numbers; do
    gcc -std=c11 -g -O1 -DADREV_STRICT=1 -I. -Itests/support \
        "tests/core/$test.c" -o "$dir/$test" -lm || exit 1
    ask memcheck "$test" '^==' valgrind -q --error-exitcode=9 \
        --leak-check=full "$dir/$test"
done
[ ! -e "$dir/failed" ]
