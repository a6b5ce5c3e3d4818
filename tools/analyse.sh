#!/bin/sh
# Analysers on adrev.h: gcc -fanalyzer, clang --analyze and cppcheck read it,
# with tapes that grow and with ADREV_FIXED; memcheck runs tests of the core.
# Prints what each has looked at, and how many findings it has; those that are
# not installed are named. Each is also given two faults, of tools/planted.h,
# which it has to find. (gcc finds them, and may miss others in the rooms: it
# ends before it comes to all of them.) A finding of tools/analyse.txt, which
# says why it is none, is only counted. Fails if there is another.
#     sh tools/analyse.sh DIR [ANALYSER]
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/.." || exit 2
dir=${1:-build/analyse}
only=$2
rm -rf "$dir"
mkdir -p "$dir"
printf '#define ADREV_IMPLEMENTATION\n#include "adrev.h"\n#include "planted.h"\n' \
    > "$dir/unit.c"
faults=$(grep -n '// fault$' tools/planted.h | cut -d: -f1)

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

# not_found FINDINGS: how many of the planted faults are not among them
not_found() {
    n=0
    for line in $faults; do
        grep -q "planted\.h:$line:" "$1" || n=$((n + 1))
    done
    echo $n
}

# ask WHO WHAT COMMAND ...: what it says of a line is a finding
ask() {
    who=$1
    what="$1, $2"
    said=$dir/$(echo "$what" | tr -c 'A-Za-z0-9\n' -)
    shift 2
    "$@" > "$said" 2>&1
    code=$?
    grep ' warning: ' "$said" \
        | grep -v -e '\[debug.Stats]' -e 'analyzer-too-complex]' > "$said.all"
    lost=$(not_found "$said.all")
    grep -v 'planted\.h:' "$said.all" | sort -u > "$said.found"
    judge "$who" "$said.found" > "$said.new"
    if [ "$code" != 0 ] || [ "$lost" != 0 ] || [ -s "$said.new" ]; then
        : > "$dir/failed"
        grep 'error:' "$said"
        cat "$said.new"
    fi
    echo "$what: $(looked_at "$who" "$said")," \
         "$(wc -l < "$said.found") findings, $(wc -l < "$said.new") of them" \
         "not judged; planted faults not found: $lost; status $code"
}

# looked_at WHO SAID. clang and gcc end a search at a bound on states; clang says
# in which functions, gcc at which places. gcc's bound is for the unit as a whole:
# what it has not come to by then it has not looked at, and it does not say what.
looked_at() {
    case $1 in
        clang) echo "$(grep -c 'warning: .*\[debug.Stats]' "$2") functions," \
                    "$(grep -c 'warning: .*WorkList: no' "$2") up to its bound" ;;
        gcc) echo "$(nm "$dir/unit$fixed.o" | grep -c ' [tT] ') functions," \
                  "$(grep -c 'warning: .*too-complex' "$2") places up to its bound,$(
                      ! grep -q 'bailed out early' "$2" \
                          || echo ' A PART ONLY (bound of the unit)')" ;;
        *) echo "$(wc -l < "$dir/lines$fixed") lines" ;;
    esac
}

# with NAME: whether it is asked for and installed
with() {
    [ "${only:-$1}" = "$1" ] || return
    command -v "$1" > /dev/null 2>&1 && return
    echo "$1: skipped, it is not installed"
    return 1
}

# on_rooms FIXED: clang looks at each function alone, where nearly all are looked
# at to the end; and with the functions that it calls, up to 32 000 states each
# (its own bound, of 225 000, takes many times as long). gcc has twice as many
# states as blocks; its own bound, five times, takes twice as long. It says
# nothing of adrev.h without ADREV_STRICT.
on_rooms() {
    fixed=$1
    switches="-std=c11 -Isrc -Itools -DADREV_FIXED=$fixed -DADREV_STRICT=1"
    clangs="clang $switches --analyze -Xclang -analyzer-opt-analyze-headers
        -Xclang -analyzer-output=text -Xclang -analyzer-checker=debug.Stats
        -Xclang -analyzer-config -Xclang"
    # shellcheck disable=SC2086  # lists
    if with clang; then
        ask clang "each function alone, ADREV_FIXED=$fixed" \
            $clangs mode=shallow,max-nodes=32000 "$dir/unit.c"
        ask clang "with what it calls, ADREV_FIXED=$fixed" \
            $clangs max-nodes=32000 "$dir/unit.c"
    fi
    # shellcheck disable=SC2086  # a list
    ! with gcc || ask gcc "ADREV_FIXED=$fixed" gcc $switches -fanalyzer \
        -Wanalyzer-too-complex --param=analyzer-bb-explosion-factor=2 \
        -c "$dir/unit.c" -o "$dir/unit$fixed.o"
    # A tape is one block of memory, with numbers of several types where
    # tape/layout says: of that cppcheck is not to speak.
    # shellcheck disable=SC2086  # a list
    if with cppcheck; then
        gcc $switches -E -P "$dir/unit.c" > "$dir/lines$fixed"
        ask cppcheck "ADREV_FIXED=$fixed" cppcheck --std=c11 --quiet \
            --enable=warning,portability --suppress=invalidPointerCast \
            -Isrc -Itools -DADREV_FIXED=$fixed -D__STDC_VERSION__=201112L \
            -D__GNUC__=12 -U__cplusplus \
            --template='{file}:{line}: warning: {message}' "$dir/unit.c"
    fi
}

# memcheck TEST: runs it; unset numbers, memory out of bounds, leaks
memcheck() {
    gcc -std=c11 -g -O1 -DADREV_STRICT=1 -DFEW=1 -I. -Itests/support \
        "tests/core/$1" -o "$dir/$1.out" -lm || exit 1
    valgrind -q --error-exitcode=9 --leak-check=full "$dir/$1.out" \
        > "$dir/$1.said" 2>&1
    code=$?
    if [ "$code" != 0 ]; then
        : > "$dir/failed"
        cat "$dir/$1.said"
    fi
    echo "memcheck, $(tail -n 1 "$dir/$1.said"):" \
         "$(grep -c '^==' "$dir/$1.said") findings, status $code"
}

# Of what is planted, the number that is not set.
memcheck_planted() {
    cat > "$dir/planted.c" << 'END'
#include <stddef.h>
#include "planted.h"
int main(int n, char **arguments)
{
    (void)arguments;
    return planted_unset((unsigned)n + 6) < 0;
}
END
    gcc -g -O0 -Itools "$dir/planted.c" -o "$dir/planted" || exit 1
    if valgrind -q --error-exitcode=9 "$dir/planted" > "$dir/planted.said" 2>&1
    then
        : > "$dir/failed"
        echo "memcheck does not find what is planted"
    fi
}

on_rooms 0 &
on_rooms 1 &
wait
if with valgrind; then
    memcheck_planted
    for test in control_flow nested numbers fixed marks; do
        memcheck $test.c
    done
fi
[ ! -e "$dir/failed" ]
