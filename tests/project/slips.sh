#!/bin/sh
# tags:
# The mistakes of docs/slips.md:           sh tests/project/slips.sh CC FLAGS OUT
#
# Each is compiled as it stands there. The compiler must say what the page says,
# in 12 lines at most, and the first of them that names a place the user's.
# SPDX-License-Identifier: MIT-0

cc=$1
out=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
passed=0
failed=0
mkdir -p "$out"

check() {                               # check TEXT COMMAND...
    text=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$title: $text"
        sed 's/^/    /' "$out/said"
    fi
}

short() { [ "$(wc -l < "$out/said")" -le 12 ]; }
says() { grep -qF -e "$1" "$out/said"; }
users_first() {
    grep -E '^[^ ]*:[0-9]+:[0-9]+: (error|warning)' "$out/said" \
        | head -n 1 | grep -q "^slip.c:$1:"
}

# The slip of one section, and what it takes to see it.
compile() {                             # compile FLAGS
    { echo '#include "adrev.h"'
      slip='ad_rev slip(ad_tape *t, const ad_rev *x, ad_fwd d, double c)'
      echo "$slip;"
      echo "$slip { (void)t; (void)d; (void)c;"
      cat "$out/slip"
      echo '}'; } > "$out/slip.c"
    # shellcheck disable=SC2086  # flags are a list
    (cd "$out" && LC_ALL=C $cc -std=c11 -Wall -Wextra -O1 $1 -I"$root" \
         -c slip.c -o slip.o > said 2>&1)
}

expect() {                              # expect FLAGS TEXT
    compile "$1"
    check "not said: $2" says "$2"
    [ -n "$1" ] || check "more than 12 lines" short
}

title=
while IFS= read -r line; do
    case $line in
        '## '*)
            title=${line#'## '}
            : > "$out/slip" ;;
        '    '*)
            [ -z "$title" ] || echo "$line" >> "$out/slip" ;;
        "- $cc -D"*)
            rest=${line#"- $cc "}
            expect "${rest%%:*}" "${rest#*: }" ;;
        "- $cc: "*)
            expect "" "${line#"- $cc: "}" ;;
    esac
    case $line in "- $cc: "*)
        says 'uninitialized' || check "not the user's line first" \
            users_first 4 ;;
    esac
done < "$root/docs/slips.md"

echo "slips: $passed passed, $failed failed"
[ $failed = 0 ]
