#!/bin/sh
# tags:
# What `make manual` made in DIR/manual: every public name has an entry and a
# page that man shows without a warning, links lead somewhere, nothing is read
# from a network, examples have printed what they say, and headless Chromium
# shows pages and finds names:       sh tests/project/manual.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(cd "$3" 2> /dev/null && pwd)
html=$dir/manual/html
man=$dir/manual/man3
passed=0
failed=0

if [ ! -f "$html/index.html" ]; then
    echo "manual.sh: skipped, there is no $3/manual/html: make manual"
    exit 0
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# check NAME GOT WANT
check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "manual.sh: $1: got $(echo "$2" | head -n 5)"
    fi
}

has() {
    command -v "$1" > /dev/null 2>&1 && return
    echo "manual.sh: skipped, $1 is not installed"
    return 1
}

# Anchors of all pages, as page#anchor; then what they link to.
cd "$html" || exit 2
grep -o ' id="\?[^" >]*' -- *.html | sed 's/: id="\?/#/' | sort -u > "$work/anchors"
ls > "$work/files"
grep -oE '(href|src)="[^"]*"' -- *.html | sed -E 's/:(href|src)="/ /; s/"$//' \
    | grep -v ' https\?://' | sort -u > "$work/links"
check "links that lead nowhere" "$(awk '
    FILENAME ~ /anchors$/ || FILENAME ~ /files$/ { there[$1] = 1; next }
    { to = $2 ~ /^#/ ? $1 $2 : $2 }
    !(to in there) { print $1 " -> " $2 }' \
    "$work/anchors" "$work/files" "$work/links")" ""
check "links" "$([ "$(wc -l < "$work/links")" -gt 2000 ] && echo many)" many
check "read from a network" "$(grep -lE '(src|<link [^>]*href)="?(https?:)?//' -- *.html)" ""

sed 's/.*#//' "$work/anchors" | sort -u > "$work/names"
check "names without an entry" \
    "$(grep -vxFf "$work/names" "$root/docs/names.txt")" ""
check "names without a place in the index" "$(sed 's/^\["//; s/".*//' index.js \
    | grep -vxFf - "$root/docs/names.txt")" ""
check "names without a man page" "$(for name in $(grep '^ad_' "$root/docs/names.txt"); do
    [ -f "$man/$name.3" ] || echo "$name"; done)" ""
check "pages that lead nowhere" "$(sed -n 's|^\.so man3/||p' "$man"/*.3 | sort -u \
    | while read -r page; do [ -f "$man/$page" ] || echo "$page"; done)" ""

# Each example that was built shows what its comment says under Prints.
shown=0
for page in example-[0-9]*.html; do
    name=${page#example-}
    source=$(ls "$root/examples/${name%.html}".c*)
    grep -q 'Not built here' "$page" && continue
    want=$(sed -n 's/^ \* Prints   //p' "$source" | head -n 1)
    case $name in 10_* | 11_* | 17_* | 20_* | 23_*) continue ;; esac
    check "what $name prints" "$(sed -n '/id=output/,$p' "$page" \
        | sed 's/&lt;/</g; s/&amp;/\&/g' | grep -cxF -e "$want" -e "<pre>$want")" 1
    shown=$((shown + 1))
done
check "examples shown" "$([ $shown -gt 10 ] && echo many)" many

check "plots" "$(grep -c '^<figure id="ad_' operations.html)" \
    "$(grep -c '^<figure.*<path class=c0 d="M.*L.*</figure>$' operations.html)"
check "operations without a plot" "$(sed -n 's/^| `\(ad_[a-z0-9_]*\)` |.*/\1/p' \
    "$root/docs/operations.md" | while read -r name; do
        grep -q "<figure id=\"$name\"" operations.html || echo "$name"
    done)" ""
check "numbers in plots" "$(grep '^<figure' operations.html \
    | grep -cE 'nan|inf[^i]')" 0

if has mandoc; then
    check "mandoc" "$(cd "$man" && grep -L '^\.so ' -- *.3 \
        | xargs mandoc -Tlint -W warning)" ""
fi
if has man; then
    (cd "$dir/manual" && for page in man3/ad_gradient.3 man3/ad_scan.3 \
        man3/ad_fn_record.3 man3/ad_sin.3 man3/ADREV_STRUCT.3 man3/ad_axpy.3; do
        man --warnings -l "$page" 2>> "$work/man" > /dev/null; done)
    check "man" "$(cat "$work/man")" ""
fi

# What a browser makes of it, scripts run.
dom() {
    timeout 120 chromium --headless --no-sandbox --disable-gpu \
        --user-data-dir="$work/chromium" --virtual-time-budget=5000 \
        --dump-dom "file://$html/$1" 2> /dev/null
}
if has chromium; then
    dom "index.html?q=pullback" > "$work/dom"
    check "search finds a name first" "$(grep -o '<ul id="found">.*' "$work/dom" \
        | grep -o 'href="[^"]*"' | head -n 1)" 'href="adrev.html#ad_pullback"'
    dom "index.html?q=no+such+name+anywhere" > "$work/dom"
    check "search finds nothing" "$(grep -c 'nothing found' "$work/dom")" 1
    dom adrev_function.html > "$work/dom"
    check "this page is marked" "$(grep -o '<a href="[^"]*" class="here">' "$work/dom")" \
        '<a href="adrev_function.html" class="here">'
    timeout 120 chromium --headless --no-sandbox --disable-gpu \
        --user-data-dir="$work/chromium" --window-size=400,800 \
        --virtual-time-budget=3000 --screenshot="$work/page.png" \
        "file://$html/operations.html" > /dev/null 2>&1
    check "picture of a page" "$([ "$(wc -c < "$work/page.png")" -gt 10000 ] && echo yes)" yes
fi
echo "manual: $passed passed, $failed failed"
[ $failed = 0 ]
