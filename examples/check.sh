#!/bin/sh
# Runs the built examples: sh examples/check.sh BUILD_DIR
#
# Each must print what the comment at its head says under Prints, and nothing
# on stderr; with FEW=1 in the environment, 14 takes few steps, and 28 does not
# run on one rank. Those that take arguments are also given wrong ones. One line
# for each check that fails and each example that build.sh skipped, and a
# summary; the exit status is 0 if nothing fails.
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

from=$here
# prints EXAMPLE ARGUMENT...
prints() {
    example=$1
    shift
    expected "$here/$example".c* > want
    "$build/$example" "$@" > got 2> err && [ -s want ] && cmp -s want got \
        && [ ! -s err ]
}

# few_prints EXAMPLE: with fewer steps; both lines of derivatives say twice the
# same
few_prints() {
    "$build/$1" 10000 30 > got 2> err && [ ! -s err ] && awk '
        / along a line, by differences / { same += $4 != 0 && $4 == $NF }
        END { exit same != 2 || NR != 5 }' got
}

# What a program is started by: nothing, or on_ranks.
start=
on_ranks="sh $here/on_ranks.sh 4"
on_two="sh $here/on_ranks.sh 2"

# prints_near EXAMPLE ARGUMENT...: as prints, numbers with a point to 0.002,
# and whatever optimiser or number of threads the last line names
prints_near() {
    example=$1
    shift
    expected "$from/$(basename "$example").c" > want
    $start "$build/$example" "$@" > got 2> err && [ -s want ] && [ ! -s err ] \
        && tr '(,)' '   ' < got | awk '
            NR == FNR { gsub(/[(,)]/, " "); want[++lines] = $0; next }
            { n = split(want[FNR], w) }
            / gradients / && FNR == lines { next }
            n != NF { exit bad = 1 }
            { for (i = 1; i <= n; i++) {
                  off = $i - w[i]
                  if (w[i] !~ /[.]/ ? $i != w[i] : off > .002 || off < -.002)
                      exit bad = 1
              } }
            END { exit bad || FNR != lines }' want -
}

# refuses CODE ARGUMENT...: that exit status and one line on stderr
refused=06_influenza
refuses() {
    code=$1
    shift
    "$build/$refused" "$@" > got 2> err
    [ $? -eq "$code" ] && [ "$(wc -l < err)" -eq 1 ] && [ -s err ]
}

# refuses_line NUMBER FILE: bad data, and it says in which line
refuses_line() {
    refuses 3 "$2" && grep -q ":$1: " err
}

# is_chart FILE POINTS TEXT: a proper chart of so many points
is_chart() {
    [ -f "$1" ] && [ "$(grep -c '<circle' "$1")" -eq $(($2 + 1)) ] || return 1
    grep -q "$3" "$1" && ! grep -q 'nan\|inf' "$1" || return 1
    if command -v xmllint > /dev/null; then
        xmllint --noout "$1" 2> /dev/null
    else
        head -n 1 "$1" | grep -q '^<svg ' && tail -n 1 "$1" | grep -q '^</svg>$'
    fi
}

# --- what they print ---------------------------------------------------------

for source in "$here"/[0-9]*.c "$here"/[0-9]*.cpp; do
    example=$(basename "${source%.c*}")
    if [ -f "$build/$example.skipped" ]; then
        cat "$build/$example.skipped"
        continue
    fi
    case $example in
        06_*) check "$example" prints "$example" "$here/influenza.txt" a.svg ;;
        10_*) check "$example" prints_near "$example" "$here/mixture.txt" \
                  m.svg ;;
        11_*) check "$example" prints_near "$example" ;;
        17_*) check "$example" prints_near "$example" c.svg ;;
        20_*) check "$example" prints_near "$example" "$here/tensor.txt" ;;
        23_*) check "$example" prints_near "$example" "$here/hares.txt" h.svg ;;
        26_*) check "$example" prints "$example" "$here/attitude.txt" t.svg ;;
        25_* | 28_*) ;;                 # on several ranks: below
        14_*) check "$example" "${FEW:+few_}prints" "$example" ;;
        *) check "$example" prints "$example" ;;
    esac
done

data=$here/influenza.txt
check "06 picture" is_chart a.svg 14 'boys in bed'
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

# --- 09: parts of the amplifier ----------------------------------------------

refused=09_linear_solve
if [ ! -f "$build/$refused.skipped" ]; then
    other_gain() {
        "$build/$refused" Re 50 Rf 1050 > got 2> err && [ ! -s err ] \
            && grep -q '^gain 21\.' got && [ "$(grep -c ' < 1e-' got)" -eq 2 ]
    }
    check "09 other parts" other_gain
    check "09 singular" refuses 4 Rc2 inf Rf inf
    check "09 singular, and says so" grep -q singular err
    check "09 overflow" refuses 4 Rf 1e-320
    check "09 no value" refuses 2 Rf
    check "09 no such part" refuses 2 R1 5
    for value in '' x 5x 0 -5 nan; do
        check "09 value '$value'" refuses 2 Rf "$value"
    done
    check "09 infinite transconductance" refuses 2 gm1 inf
fi

# --- 10: points --------------------------------------------------------------

refused=10_gaussian_mixture
data=$here/mixture.txt
check "10 picture" is_chart m.svg 400 '2 sigma'
check "10 default picture" prints_near 10_gaussian_mixture "$data"
check "10 default picture is the same" cmp -s m.svg mixture.svg
if [ -x "$build/plain/$refused" ]; then
    check "10 without libLBFGS" prints_near "plain/$refused" "$data" n.svg
fi
if [ -x "$build/mixture_data" ]; then
    same_data() { "$build/mixture_data" | cmp -s - "$data"; }
    check "10 mixture_data" same_data
fi
awk '{ printf "%s \r\n", $0 } END { print "" }' "$data" > crlf.txt
check "10 CRLF" prints_near 10_gaussian_mixture crlf.txt n.svg

check "10 no argument" refuses 2
check "10 three arguments" refuses 2 "$data" n.svg m.svg
check "10 missing file" refuses 3 missing.txt
check "10 a directory" refuses 3 .
check "10 empty file" refuses_line 1 empty.txt
head -n 100 "$data" > short.txt
check "10 fewer points than it says" refuses_line 101 short.txt
{ cat "$data"; echo 5; } > more.txt
check "10 more lines than it says" refuses 3 more.txt

# bad_line NUMBER TEXT: in the place of that line
bad_line() {
    awk -v n="$1" -v t="$2" '{ print NR == n ? t : $0 }' "$data" > bad.txt
    check "10 line $1: '$2'" refuses_line "$1" bad.txt
}
for sizes in '' 2 '2 4' '2 4 400 1' '3 4 400' '2 0 400' '2 21 400' '2 4.5 400' \
             '2 4 23' '2 4 -400' '2 4 400.5' '2 4 100001' '2 x 400' '2 nan 400'
do
    bad_line 1 "$sizes"
done
bad_line 2 '0 0'
bad_line 6 0
bad_line 10 '0 0'
for point in '' 1 '1 2 3' '1 x' '1,2' '1 nan' '1 inf' '1 1e999'; do
    bad_line 200 "$point"
done
{ head -n 50 "$data"; printf '1 2\000\n'; tail -n +52 "$data"; } > nul.txt
check "10 a NUL byte" refuses_line 51 nul.txt
{ head -n 50 "$data"; awk 'BEGIN { printf "%999d 2\n", 1 }'
  tail -n +52 "$data"; } > long.txt
check "10 a very long line" refuses_line 51 long.txt

awk 'NR > 1 && NR < 14 && NF == 3 { $1 = 1000 } { print }' "$data" > steep.txt
check "10 no number to start from" refuses 4 steep.txt
awk 'NR > 13 && NF == 2 { $0 = "1 1" } END { print "0 0" } NR < 414' "$data" \
    > same.txt
check "10 all points in one place" refuses 4 same.txt
check "10 picture in no folder" refuses 5 "$data" missing/n.svg
if [ -c /dev/full ]; then
    check "10 picture on a full disk" refuses 5 "$data" /dev/full
fi

# --- 17, 20: a picture, a file -----------------------------------------------

refused=17_convolution
is_picture() {
    [ "$(grep -c '<path ' "$1")" -eq 3505 ] && ! grep -q 'nan\|-[0-9]*.>' "$1" \
        && [ "$(grep -c '<text ' "$1")" -eq 3 ] && tail -n 1 "$1" | grep -q svg
}
check "17 picture" is_picture c.svg
if [ -x "$build/plain/$refused" ]; then
    check "17 without libLBFGS" prints_near "plain/$refused" n.svg
fi
if [ -x "$build/plain/20_factorisation" ]; then
    check "20 without libLBFGS" prints_near plain/20_factorisation \
        "$here/tensor.txt"
fi
check "17 two arguments" refuses 2 c.svg n.svg
check "17 picture in no folder" refuses 5 missing/c.svg

refused=20_factorisation
data=$here/tensor.txt
same_tensor() { "$build/$refused" make | cmp -s - "$data"; }
check "20 make" same_tensor
check "20 no argument" refuses 2
check "20 missing file" refuses 3 missing.txt
check "20 empty file" refuses 3 empty.txt
for entry in '' '1 2 3' '1 2 3 x' '1 2 3 1e999' '1 2 3 nan' '0 1 1 1' '1 -1 1 1' \
             '1 1 1001 1' '1.5 1 1 1' '1 1 1 1 1'; do
    awk -v t="$entry" '{ print NR == 7 ? t : $0 }' "$data" > bad.txt
    check "20 line '$entry'" refuses_line 7 bad.txt
done
{ cat "$data"; head -n 1 "$data"; } > twice.txt
refuses_twice() {           # with a place in the formulas, on three lines
    "$build/$refused" twice.txt > got 2> err
    [ $? -eq 3 ] && grep -q 'an entry twice: numbers 0 and 1715$' err
}
check "20 an entry twice" refuses_twice

# --- 23: counts of two kinds ---------------------------------------------------

refused=23_hares
data=$here/hares.txt
check "23 picture" is_chart h.svg 43 'by feeding'
check "23 no argument" refuses 2
check "23 missing file" refuses 3 missing.txt
check "23 picture in no folder" refuses 5 "$data" missing/h.svg
for line in '1903' '1903 1' '1903 1 x' '1903 1 2 3' '1903 0 2' '1903 1 -2' \
            '1903 nan 2' '1903 1e999 2' '1902 1 2' '1904 1 2'; do
    awk -v t="$line" '{ print NR == 8 ? t : $0 }' "$data" > bad.txt
    check "23 line '$line'" refuses_line 8 bad.txt
done
head -n 7 "$data" > short.txt
check "23 three years" refuses 3 short.txt
awk 'NF == 3 { $2 = $3 = 1 } { print }' "$data" > same.txt
check "23 no waves" refuses 4 same.txt

# --- 26: a filter -------------------------------------------------------------

refused=26_attitude
data=$here/attitude.txt
check "26 picture" is_chart t.svg 500 'gyroscope alone'
if [ -x "$build/attitude_data" ]; then
    same_data() { "$build/attitude_data" | cmp -s - "$data"; }
    check "26 attitude_data" same_data
fi
check "26 no argument" refuses 2
check "26 missing file" refuses 3 missing.txt
check "26 picture in no folder" refuses 5 "$data" missing/t.svg
for line in '1 2 3 4 5 6 7 8 9 0 0 0' '1 2 3 4 5 6 7 8 9 0 0 0 1 1' \
            '1 2 3 4 5 6 7 8 99999 0 0 0 1' '1 2 3 4 5 6 7 8 9 0 0 0 nan' \
            '1 2 3 4 5 6 7 8 x 0 0 0 1' ''; do
    awk -v t="$line" '{ print NR == 8 ? t : $0 }' "$data" > bad.txt
    check "26 line '$line'" refuses_line 8 bad.txt
done
head -n 50 "$data" > short.txt
check "26 two seconds" refuses 3 short.txt

# --- 25, 28: on four ranks, and on one -----------------------------------------

refused=25_titanic
data=$here/titanic.txt
for start in "$on_ranks" ''; do
    [ -x "$build/25_titanic" ] || continue
    check "25 ${start:+on ranks}" prints_near 25_titanic "$data"
    case $FEW:$start in
        1:) ;;
        *) check "28 ${start:+on ranks}" prints_near 28_heat \
               "${start:+on_}heat.svg" ;;
    esac
done
if [ -x "$build/25_titanic" ]; then
    refuses_on_ranks() {
        # shellcheck disable=SC2086  # a command
        $on_two "$build/$refused" "$2" > got 2> err
        [ $? -eq "$1" ] && [ "$(grep -c "^$refused: " err)" -eq 1 ]
    }
    is_plate() {
        [ "$(grep -c '<rect ' "$1")" -eq 1729 ] && ! grep -q 'nan' "$1" \
            && tail -n 1 "$1" | grep -q '^</svg>$'
    }
    check "28 picture" is_plate on_heat.svg
    check "25 missing file" refuses_on_ranks 3 missing.txt
    check "25 no argument" refuses 2
    sed '2000s/.*/3 m a 2/' "$data" > bad.txt       # one rank reads this
    check "25 a bad line" refuses_on_ranks 3 bad.txt
fi

# --- examples of adapters ------------------------------------------------------

is_drawn() {
    head -n 1 "$1.svg" | grep -q '^<svg ' \
        && tail -n 1 "$1.svg" | grep -q '^</svg>$' && ! grep -q 'nan\|inf' "$1.svg"
}
from=$here/../adapters/examples
for source in "$from"/*.c; do
    [ -f "$source" ] || continue
    example=$(basename "${source%.c}")
    if [ -f "$build/$example.skipped" ]; then
        cat "$build/$example.skipped"
        continue
    fi
    check "$example" prints_near "$example" "$example.svg"
    check "$example picture" is_drawn "$example"
done

echo "examples: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
