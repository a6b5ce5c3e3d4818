#!/bin/sh
# Runs the built examples: sh examples/check.sh BUILD_DIR
#
# Each must print what the comment at its head says under Prints, and nothing
# on stderr. 06_influenza is also given wrong input. One line for each check
# that fails, and a summary; the exit status is 0 if there is none.
#
# SPDX-License-Identifier: MIT-0

if [ $# -ne 1 ] || [ ! -d "$1" ]; then
    echo "usage: sh examples/check.sh BUILD_DIR" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 2' HUP INT TERM
cd "$tmp" || exit 2

passed=0
failed=0

# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s\n' "$name"
    fi
}

# The lines under Prints, without the margin of the comment.
expected() {
    awk '/^ \* Prints   / { on = 1; print substr($0, 13); next }
         on && /^ \*          / {
             for (; blank > 0; blank--)
                 print ""
             print substr($0, 13)
             next
         }
         on && /^ \*$/ { blank++; next }
         on { exit }' "$1"
}

# prints EXAMPLE ARGUMENT...
prints() {
    example=$1
    shift
    expected "$here/$example.c" > want
    "$build/$example" "$@" > got 2> err && [ -s want ] && cmp -s want got \
        && [ ! -s err ]
}

# refuses CODE ARGUMENT...: that exit status and one line on stderr
refuses() {
    code=$1
    shift
    "$build/06_influenza" "$@" > got 2> err
    [ $? -eq "$code" ] && [ "$(wc -l < err)" -eq 1 ] && [ -s err ]
}

# refuses_line NUMBER FILE: bad data, and it says in which line
refuses_line() {
    refuses 3 "$2" && grep -q ":$1: " err
}

# A proper chart of 14 counts.
is_chart() {
    [ -f "$1" ] && [ "$(grep -c '<circle' "$1")" -eq 15 ] || return 1
    grep -q 'boys in bed' "$1" || return 1
    if command -v xmllint > /dev/null; then
        xmllint --noout "$1" 2> /dev/null
    else
        head -n 1 "$1" | grep -q '^<svg ' && tail -n 1 "$1" | grep -q '^</svg>$'
    fi
}

# --- what they print ---------------------------------------------------------

for source in "$here"/0*.c; do
    example=$(basename "$source" .c)
    case $example in
        06_*) check "$example" prints "$example" "$here/influenza.txt" a.svg ;;
        *) check "$example" prints "$example" ;;
    esac
done

data=$here/influenza.txt
check "06 picture" is_chart a.svg
check "06 default picture" prints 06_influenza "$data"
check "06 default picture is the same" cmp -s a.svg influenza.svg

# --- unusual, but right ------------------------------------------------------

awk '{ printf "%s\r\n", $0 }' "$data" > crlf.txt
check "06 CRLF" prints 06_influenza crlf.txt b.svg
printf '%s' "$(cat "$data")" > noend.txt
check "06 no newline at the end" prints 06_influenza noend.txt b.svg
{ echo; sed 's/$/  # comment/; s/^/	/' "$data"; echo; } > comments.txt
check "06 comments and blank lines" prints 06_influenza comments.txt b.svg

# --- usage -------------------------------------------------------------------

check "06 no argument" refuses 2
check "06 three arguments" refuses 2 "$data" b.svg c.svg

# --- data --------------------------------------------------------------------

good='1 3\n2 8\n'
more='\n4 76\n5 225\n'

check "06 missing file" refuses 3 missing.txt
check "06 empty name" refuses 3 ''
check "06 a directory" refuses 3 .
: > empty.txt
check "06 empty file" refuses 3 empty.txt
printf '# nothing\n\n' > nothing.txt
check "06 comments only" refuses 3 nothing.txt
printf '%b' "${good}3 26\n" > three.txt
check "06 three rows" refuses 3 three.txt

n=0
while read -r line; do
    n=$((n + 1))
    printf '%b' "$good$line$more" > "bad$n.txt"
    check "06 line '$line'" refuses_line 3 "bad$n.txt"
done << 'END'
3
3 26 1
3 x
x 26
3,26
3 26;
3.5 26
3 26.5
3 2e1
3 0x1a
3 nan
3 inf
nan 26
-3 26
3 -26
3 764
2 26
1 26
366 26
3 99999999999999999999999999999999999999
99999999999999999999999999999999999999 26
3 -99999999999999999999999999999999999999
3 2\00006
\0000
\0377 26
END

awk 'BEGIN { for (i = 0; i < 100000; i++) printf "3"; print " 26" }' > long
{ printf '%b' "$good"; cat long; } > long.txt
check "06 very long line" refuses_line 3 long.txt
{ printf '%b# ' "$good"; cat long; } > longer.txt
check "06 very long comment" refuses_line 3 longer.txt
awk 'BEGIN { for (i = 0; i < 1000; i++) print i, 1 }' > rows.txt
check "06 too many rows" refuses_line 367 rows.txt

# --- numerical failure -------------------------------------------------------

printf '1 0\n2 0\n3 0\n4 0\n5 0\n' > zeros.txt
check "06 no epidemic" refuses 4 zeros.txt

# --- output ------------------------------------------------------------------

check "06 picture in no folder" refuses 5 "$data" missing/b.svg
check "06 picture is a folder" refuses 5 "$data" .
if [ -c /dev/full ]; then
    full() {
        "$build/06_influenza" "$data" b.svg > /dev/full 2> err
        [ $? -eq 5 ] && [ -s err ]
    }
    check "06 picture on a full disk" refuses 5 "$data" /dev/full
    check "06 report on a full disk" full
fi

echo "examples: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
