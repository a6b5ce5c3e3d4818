#!/bin/sh
# Prints docs/misra.md: which rules of MISRA C:2012 adrev.h breaks, how often,
# and where, as the addon of cppcheck finds them; why, and how a project
# deviates, as tools/misra.txt says. Fails if that has no row for a rule.
#     sh tools/misra.sh DIR
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/.." || exit 2
dir=${1:-build/misra}
mkdir -p "$dir"
if ! command -v cppcheck > /dev/null 2>&1; then
    echo "misra.sh: cppcheck is not installed" >&2
    exit 2
fi

# As firmware includes it, on 32 bits; rooms instead of the header, so that
# places are theirs.
switches="ADREV_FIXED=1 ADREV_STATIC ADREV_REAL=float ADREV_NO_STDLIB"
printf '#define ADREV_IMPLEMENTATION\n#include "adrev.h"\n' > "$dir/unit.c"
# shellcheck disable=SC2046  # a list
cppcheck --addon=misra --std=c11 --platform=unix32 --quiet -Isrc \
    $(printf -- '-D%s ' $switches ADREV_NO_THREADS) -U__cplusplus \
    -D__STDC_VERSION__=201112L -D__GNUC__=12 -D__OPTIMIZE__ \
    -D__OPTIMIZE_SIZE__ --template='{file}|{line}|{id}' "$dir/unit.c" \
    > "$dir/said" 2>&1
grep '|misra-c2012-' "$dir/said" | grep -v '^src/cpp/' | sort -u > "$dir/places"
grep -v '|misra-c2012-' "$dir/said" > "$dir/others"
if [ -s "$dir/others" ] || [ ! -s "$dir/places" ]; then
    echo "misra.sh: cppcheck says something else" >&2
    cat "$dir/others" >&2
    exit 1
fi

cat << END
# MISRA C:2012

Made by \`make misra\`, which asks the MISRA addon of cppcheck about \`adrev.h\` as
firmware has it ($(echo $switches | sed 's/[^ ]*/`&`/g; s/ /, /g')).
What the rules ask is said here in our words; their texts are MISRA's.

No mandatory rule is broken, as far as the addon looks for them. It does not look
for two things that are so on purpose: statement expressions, \`__typeof__\` and
attributes where the compiler has GNU C (1.2, advisory), and slots of expressions
that are not set where they are not read (9.1, mandatory; memcheck finds no
use of them: \`make analyse\`).

"Adopted code: not checked" is for advisory rules, which a project may leave
out for code that it takes over. Other deviations are per rule, for this header
alone: it is one file.

| rule | category | asks | places | one of them | why | a project |
|---|---|---|---|---|---|---|
END
awk -F '[|]' '
function trim(x) { gsub(/^ +| +$/, "", x); return x }
function cell(x) { gsub(/[|]/, "\\|", x); return x }
FNR == NR && /^[0-9]/ {
    rule = trim($1)
    row[rule] = 1
    category[rule] = trim($2)
    asks[rule] = trim($3)
    why[rule] = trim($4)
    way[rule] = trim($5)
    next
}
FNR == NR { next }
{
    rule = $3
    sub(/.*-/, "", rule)
    if (!(rule in count)) {
        order[++rules] = rule
        for (n = 1; n <= $2; n++)
            getline line < $1
        close($1)
        room = $1
        sub(/^src\//, "", room)
        sub(/\.h$/, "", room)
        line = trim(line)
        sub(/ *\\$/, "", line)
        one[rule] = room ": `" cell(substr(line, 1, 60)) "`"
    }
    count[rule]++
}
END {
    for (n = 1; n <= rules; n++) {
        rule = order[n]
        if (!(rule in row)) {
            print "misra.sh: rule " rule " has no row in tools/misra.txt: " \
                one[rule] > "/dev/stderr"
            bad = 1
            continue
        }
        if (category[rule] == "mandatory" && why[rule] == "")
            bad = 1
        split(rule, part, ".")
        printf "%d|| %s | %s | %s | %d | %s | %s | %s |\n", \
            100 * part[1] + part[2], rule, category[rule], asks[rule], \
            count[rule], one[rule], why[rule], way[rule] | "sort -n | sed s/^[0-9]*.//"
    }
    close("sort -n | sed s/^[0-9]*.//")
    for (rule in row)
        if (!(rule in count))
            print "misra.sh: rule " rule " is not broken any more" \
                > "/dev/stderr"
    exit bad
}' tools/misra.txt "$dir/places"
