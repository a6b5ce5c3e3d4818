#!/bin/sh
# Facts that are stated twice, and limits of size. Silent when all is well.
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/.." || exit 2
mkdir -p build
found=0
say() {
    found=1
    echo "$*"
}

# A list of words in one line, with a blank around each; has asks for one. (A
# process for each word would take most of the time.)
list() { echo " $(sort -u | tr '\n' ' ')"; }
has() { case $1 in *" $2 "*) ;; *) return 1 ;; esac; }

# Headers are what src/ makes of them, and list the rooms that they have, each
# with what is in it.
for header in $(ls src/adrev*.h); do
    header=${header#src/}
    made=$header
    [ -f "$made" ] || made=adapters/$header
    awk -f tools/join.awk "src/$header" | cmp -s - "$made" \
        || say "$header is not what src/ makes of it: make headers"
    contents=$(sed -n '1,100s/^ \*   \([a-z]*\/[a-z]*\)  *[^ ].*$/\1/p' \
                   "src/$header" | tr '\n' ' ')
    rooms=$(sed -n 's/^#include "\([a-z]*\/[a-z]*\)\.h"/\1/p' "src/$header" \
            | tr '\n' ' ')
    [ "$contents" = "$rooms" ] || say "$header: contents $contents, rooms $rooms"
done
sh tools/rooms.sh || found=1

# One thing for each private name: programs include headers in any combination.
awk '
    FNR == 1 { name = "" }
    /^[a-z].*[ *]adx_[a-z0-9_]+\(/ {
        name = $0
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
    }
    /^typedef (struct|union|enum) adx_[a-z0-9_]+ \{/ { print $3, FILENAME }
    name != "" && /(^|\) )\{/ { print name, FILENAME; name = "" }
    /;$/ { name = "" }' src/*/*.h | sort -u \
    | awk '$1 == last { print $1 " is defined in " file " and in " $2 }
           { last = $1; file = $2 }' > build/lint
[ -s build/lint ] && { found=1; cat build/lint; }

# Rooms that comments point to exist.
folders=$(ls -d src/*/ | sed 's|src/||; s|/$||' | paste -sd '|')
for room in $(grep -ohE "(^|[ (])($folders)/[a-z]+\b" src/*.h src/*/*.h \
              $(ls docs/*.md | grep -v /tests.md) CONTRIBUTING.md \
              tests/*/*.[ch] tests/*/*.sh | tr -d ' (' | sort -u); do
    [ -e "src/$room.h" ] || say "the room $room is mentioned and does not exist"
done

# A reader of docs/design.md finds each room. (NAME/api is named for all.)
named=$(grep -oE '`[a-z]+/[a-z]+`' docs/design.md | tr -d '`' | list)
for room in $(ls src/*/*.h | sed 's|^src/||; s|\.h$||' | grep -v '/api$'); do
    has "$named" "$room" \
        || say "the room $room is not in docs/design.md, \"Where to look\""
done

# No merge is left half done.
for file in $(git grep -lE '^(<{7}|>{7}) ' 2> /dev/null); do
    say "$file: a conflict of a merge stands in it"
done

# One version.
version=$(sed -n 's/^#define ADREV_VERSION  *"\(.*\)"/\1/p' adrev.h)
numbers=$(sed -n 's/^#define ADREV_VERSION_[MP][A-Z]* \([0-9]*\)/\1/p' adrev.h \
          | tr '\n' '.')
title=$(head -qn 1 src/adrev*.h | sed -n 's/.* \([0-9.]*\)$/\1/p' | sort -u)
log=$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)
port=$(sed -n 's/^#define PORT_VERSION "\(.*\)".*/\1/p' port/main.c)
for other in "${numbers%.}" "$title" "$log" "$port"; do
    [ "$other" = "$version" ] || say "version $version, elsewhere $other"
done

# Public names.
sh tools/names.sh | cmp -s - docs/names.txt \
    || say "the public names are not those of docs/names.txt: make docs"

# The statuses that the module for Python knows, and its series of versions.
statuses=$(sed -n 's/^    ROW( \([A-Z]*\), *".*/\1/p' src/core/types.h | tr '\n' ' ')
known=$(sed -n '/^STATUSES = /,/)/p' python/adrev.py | grep -o '"[A-Z]*"' \
        | tr -d '"' | tr '\n' ' ')
[ "$statuses" = "$known" ] || say "python/adrev.py: STATUSES are not those of" \
    "core/types: $statuses"
grep -q "^SERIES = \"${version%.*}\"" python/adrev.py \
    || say "python/adrev.py: SERIES is not ${version%.*}"

# Files that comments and documents point to exist.
documents="README.md CONTRIBUTING.md docs/behaviour/*.md
           $(ls docs/*.md | grep -v /tests.md)"
# shellcheck disable=SC2086  # a list
for file in $(grep -ohE '\b(tests|examples|bench|docs|tools|adapters|port)/[a-z0-9_/]+\.[a-z]+' \
              adrev*.h CHANGELOG.md $documents \
              $(ls adapters/*.h 2> /dev/null) \
              | sort -u); do
    [ -e "$file" ] || say "$file is mentioned and does not exist"
done

# So do the names in documents. (What a macro pastes together, adx_rec_##N, is
# known by its beginning.)
names='\b(ad|adx|ADREV|ADX)_[A-Za-z0-9_]+'
grep -ohE "$names" src/*.h src/*/*.h adapters/*.h tests/support/*.h \
    port/*.[ch] python/*.py | sort -u > build/names
# shellcheck disable=SC2086  # a list
for name in $(grep -ohE "$names" $documents | sort -u \
              | grep -vxFf build/names); do
    grep -q "^$name" build/names \
        || say "the name $name is mentioned and does not exist:" \
               "$(grep -lw "$name" $documents | tr '\n' ' ')"
done

# Cases that tests cite, "S24", and files of cases.
cases=$(sed -n 's/^\*\*\([A-Z0-9a-z]*\)\*\* .*/\1/p' docs/behaviour/*.md | list)
for case in $(grep -ohE '\b[ABLS][0-9]{1,2}[a-z]?\b' tests/*/*.[ch] \
              | sort -u); do
    has "$cases" "$case" \
        || say "case $case is cited, and not in docs/behaviour"
done
for file in $(grep -oE '\]\([a-z-]+\.md' docs/behaviour/README.md); do
    [ -e "docs/behaviour/${file#*\(}" ] \
        || say "docs/behaviour/${file#*\(} is mentioned and does not exist"
done

# Operations: rows that do not have to be there for the tests to compile.
operations=$(sed -n '/^#define ADREV_OPS/,/[^\\]$/s/^ *ROW( *\([a-z0-9_]*\),.*/\1/p' \
             src/core/operations.h)
[ "$(echo "$operations" | wc -l)" -gt 40 ] || say "no operations found"
for test in tests/core/edges.c tests/core/second_partials.c; do
    rows=$(sed -n '/^#define SWEEPS/,/[^\\]$/p' "$test" \
           | grep -oE 'ROW\( [a-z0-9_]+,' | sed 's/ROW( //; s/,//' | list)
    for name in $operations; do
        has "$rows" "$name" || say "$name has no row of SWEEPS in $test"
    done
done
printed=$(grep -oE '\{ "[a-z0-9_]+",' tests/core/expressions_print.c \
          | tr -d '{ ",' | list)
for name in $operations; do
    has "$printed" "$name" \
        || say "$name is not in tests/core/expressions_print.c"
done

# C++ gets the functions of <cmath>, and no other name.
cmath=" fma abs min max fdim fmod remainder copysign ldexp sqrt cbrt hypot pow exp
    exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh
    asinh acosh atanh erf erfc lgamma tgamma "
cmath=$(echo "$cmath" | tr -s '\n ' '  ')
omitted=$(grep -oE '^#define ADX_ROW_[a-z0-9_]+ +~, ADX_OMIT' src/cpp/library.h \
          | sed 's/^#define ADX_ROW_//; s/ .*//' | list)
for name in $operations; do
    has "$cmath" "$name" || has "$omitted" "$name" \
        || say "$name is not in <cmath>: ADX_OMIT it in src/cpp/library.h"
done

# Array statements: a place for ADREV_DEBUG, and rows in three tests; and what
# ad_connected does with each rule. (ad_external has tests of its own.)
statements=$(sed -n '/^\/\* --- external and array/,/^\/\* --- operation c/s/^ADX_API [a-z_]* \(ad_[a-z0-9_]*\)(.*/\1/p' \
             src/core/api.h)
[ "$(echo "$statements" | wc -l)" -gt 20 ] || say "no array statements found"
placed=$(sed -n 's/^#define \(ad_[a-z0-9_]*\)(.*/\1/p' src/number/fronts.h | list)
for name in $statements; do
    has "$placed" "$name" \
        || say "$name has no place (ADX_PLACED) in src/number/fronts.h"
done
for test in tests/array/arrays.c tests/core/errors.c \
            tests/function/function_arrays.c; do
    called=$(grep -oE '\bad_[a-z0-9_]+\(' "$test" | tr -d '(' | list)
    for name in $statements; do
        [ "$name" = ad_external ] || has "$called" "${name%_s}" \
            || has "$called" "${name%_s}_s" || say "$name is not in $test"
    done
done
connected=$(grep -oE '&adx_\w+' src/loop/connections.h | tr -d '&' | list)
for rule in $(grep -ohE '^static const adx_rule adx_\w+' src/*/*.h \
              | sed 's/.* //'); do
    has "$connected" "$rule" || say "src/loop/connections.h does not know $rule"
done

# Switches: each is set by some test, and tests set none that is not there.
set_by_tests() {
    grep -ohE -e "(-D|$1#define )(ADREV|ADX)_\w+" tests/*/*.[ch] tests/*/*.sh \
        tests/*.sh tests/plans/*.txt $2 | sed -E 's/-D|.* //'
}
tested=$(set_by_tests "" "" | list)
for switch in $(grep -ohE '^#ifn?def ADREV_\w+' src/*/*.h | sed 's/.* //' \
                | grep -vE '_(H|IMPLEMENTED)$' | sort -u); do
    has "$tested" "$switch" || say "no test sets $switch"
done
asked=$(grep -hE '^#(el)?if' src/*.h src/*/*.h | grep -oE '\b(ADREV|ADX)_\w+' | list)
for switch in $(set_by_tests "^" Makefile | grep -v '_H$' | sort -u); do
    has "$asked" "$switch" || say "tests set $switch, which is no switch"
done

# Width: 80 columns in rooms, but for tables and macros; 100 elsewhere, as lines
# of tests are data. The rows of core/operations are one line each.
awk 'length > 80 && !/\\$/ && !/ROW\(/ {
         print FILENAME ":" FNR ": " length " columns" }' \
    src/*.h src/*/*.h > build/lint
[ -s build/lint ] && { found=1; cat build/lint; }
awk '/clang-format off/ { table = 1 } /clang-format on/ { table = 0 }
     length > 100 && !table {
         print FILENAME ":" FNR ": " length " columns" }' \
    adrev*.h tests/*/*.[ch] examples/*.[ch] bench/*.[ch] tools/*.c \
    $(ls adapters/*.h adapters/examples/*.[ch] 2> /dev/null) > build/lint
[ -s build/lint ] && { found=1; cat build/lint; }

# Functions of at most 80 lines.
awk 'FNR == 1 { start = 0 } /^\{/ { start = FNR } /^\}/ && start {
         if (FNR - start > 80)
             print FILENAME ":" start ": a function of " FNR - start " lines"
         start = 0 }' \
    adrev*.h tests/*/*.c examples/*.c bench/*.c tools/*.c \
    $(ls adapters/*.h adapters/examples/*.c 2> /dev/null) > build/lint
[ -s build/lint ] && { found=1; cat build/lint; }

# Adapters: in the table, with a test.
for header in $(ls adapters/*.h 2> /dev/null); do
    name=$(basename "$header" .h)
    grep -q "^| \`$name.h\` |" adapters/README.md \
        || say "$header is not in the table of adapters/README.md"
    [ -f "tests/adapters/${name#adrev_}.c" ] \
        || say "tests/adapters/${name#adrev_}.c is missing"
done

# Private names of adapters are theirs alone: a file may implement adrev, too.
grep -ohE '\badx_[a-z0-9_]+' adapters/*.h | sort -u > build/lint
for name in $(grep -owhFf build/lint adrev*.h | sort -u); do
    say "$name is a name of an adapter and of adrev"
done

# Prefixes: nothing else reaches a file that includes the header.
grep -nE '^#define [a-zA-Z]' adrev*.h $(ls adapters/*.h 2> /dev/null) \
    | grep -vE '#define (ADREV_|ADX_|ad_|adx_|HUGE_VAL |XXH_INLINE_ALL|XXH_NO_STDLIB|(OMPI|MPICH)_SKIP_MPICXX)' \
    | grep -vE '^adrev_real.h:[0-9]*:#define real' && found=1
exit $found
