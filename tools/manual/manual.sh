#!/bin/sh
# The manual as HTML:      sh tools/manual/manual.sh BUILD CC
#
# Reads the headers, README.md, docs/, adapters/ and examples/, and what the
# programs in BUILD print; writes BUILD/manual/html. Open index.html there: it
# needs neither a server nor a network. Needs cmark-gfm.
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/../.." || exit 2
root=$(pwd)
here=tools/manual
build=$1
cc=${2:-cc}
work=$build/manual
out=$work/html
index=$work/index

command -v cmark-gfm > /dev/null 2>&1 || {
    echo "manual: skipped, cmark-gfm is not installed"
    exit 0
}
rm -rf "$out" "$work/run"
mkdir -p "$out" "$work/run" || exit 1

markdown="README.md CHANGELOG.md BENCHMARKS.md CONTRIBUTING.md adapters/README.md
    $(ls docs/*.md docs/behaviour/*.md)"
headers="$(ls adrev*.h adapters/*.h)"
examples="$(ls examples/[0-9]*.c examples/[0-9]*.cpp adapters/examples/*.c)"

# The name of the page of a file.
page() {
    case $1 in
        README.md) echo index.html ;;
        docs/behaviour/*) echo "behaviour-$(basename "$1" .md).html" ;;
        docs/*) echo "$(basename "$1" .md).html" ;;
        adapters/README.md) echo adapters-list.html ;;
        *.md) basename "$1" .md | tr '[:upper:]' '[:lower:]' | sed 's/$/.html/' ;;
        *.h) echo "$(basename "$1" .h).html" ;;
        *) basename "$1" | sed 's/\.[a-z]*$/.html/; s/^/example-/' ;;
    esac
}

header_page() {
    awk -f $here/entries.awk docs/names.txt "$2" | awk -f $here/text.awk -f $here/comment.awk \
        -f $here/header.awk -v what="$1" -v page="$(page "$2")" \
        -v index_file="$3"
}
markdown_page() {
    cmark-gfm -e table "$2" | awk -f $here/text.awk -f $here/page.awk \
        -v what="$1" -v page="$(page "$2")" -v from="$(dirname "$2")" \
        -v index_file="$3"
}

# The title of an example is in its first line.
title_of() { sed -n '1s|^/\* *||p' "$1"; }

# 1. What there is: names, sections, pages, files, plots.
$cc -std=c11 -O0 -I. $here/plots.c -o "$work/plots" -lm \
    && "$work/plots" > "$work/plots.html" || exit 1
{
    sed -n 's/^<figure id="\([a-z0-9_]*\)".*/plot \1\toperations.html#\1\tfile/p' \
        "$work/plots.html"
    for header in $headers; do
        header_page index "$header"
        printf '%s\t%s\tfile\n' "$header" "$(page "$header")"
    done
    for file in $markdown; do
        markdown_page index "$file"
        printf '%s\t%s\tfile\n' "$file" "$(page "$file")"
    done
    for file in $examples; do
        title=$(title_of "$file")
        printf '%s\t%s\texample\t%s\n' "$(basename "$file")" "$(page "$file")" \
            "$title"
        printf '%s\t%s\tfile\n' "$file" "$(page "$file")"
    done
} > "$index"
awk -f $here/index.awk "$index" > "$out/index.js"
cp $here/style.css $here/search.js "$out"

# 2. The frame of each page.
links() {
    echo "<h2>$1</h2>"
    shift
    for file; do
        case $file in
            *.md) name=$(sed -n '/^# /{s/^# //;s/[`*]//g;p;q;}' "$file") ;;
            *.h) name=$(basename "$file") ;;
            *) name=$(basename "$file" | sed 's/\.c.*//; s/_/ /g') ;;
        esac
        [ "$file" != README.md ] || name="Start"
        echo "<a href=\"$(page "$file")\">$name</a>"
    done
}
# shellcheck disable=SC2046,SC2086  # lists
{
    echo "<nav>"
    links Guide README.md $(ls docs/*.md | grep -v /tests.md) adapters/README.md
    links Headers $(ls adrev*.h)
    links Adapters $(ls adapters/*.h)
    links Examples $examples
    links Project CHANGELOG.md BENCHMARKS.md CONTRIBUTING.md docs/tests.md \
        $(ls docs/behaviour/*.md)
    echo "</nav>"
} > "$work/nav"

# framed TITLE FILE: a page of what is read
framed() {
    {
        echo "<!DOCTYPE html><html lang=en><head><meta charset=utf-8>"
        echo "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
        echo "<title>$1 - adrev</title><link rel=stylesheet href=style.css></head>"
        echo "<body><header><a href=index.html>adrev</a><form role=search>"
        echo "<input id=search type=search placeholder=\"Search names and headings (press /)\" aria-label=Search autocomplete=off>"
        echo "<ul id=found></ul></form></header><div class=frame>"
        cat "$work/nav"
        echo "<main>"
        cat
        echo "</main></div><script src=index.js></script>"
        echo "<script src=search.js></script></body></html>"
    } > "$out/$2"
}

# 3. Headers and texts; the plots are in front of the table of operations.
for header in $headers; do
    header_page page "$header" "$index" \
        | framed "$(basename "$header")" "$(page "$header")"
done
for file in $markdown; do
    markdown_page page "$file" "$index" | if [ "$file" = docs/operations.md ]; then
        sed "/^<h1/r $work/plots.html"
    else
        cat
    fi | framed "$(basename "$file" .md)" "$(page "$file")"
done

# 4. Examples, run now. Those with data or pictures have arguments.
arguments() {
    case $1 in
        06_*) echo "$root/examples/influenza.txt picture.svg" ;;
        10_*) echo "$root/examples/mixture.txt picture.svg" ;;
        17_*) echo "picture.svg" ;;
        20_*) echo "$root/examples/tensor.txt" ;;
        23_*) echo "$root/examples/hares.txt picture.svg" ;;
        25_*) echo "$root/examples/titanic.txt" ;;
        26_*) echo "$root/examples/attitude.txt picture.svg" ;;
        28_*) echo "picture.svg" ;;
        [a-z]*) echo "picture.svg" ;;
    esac
}
bin=$(cd "$build" && pwd)
for file in $examples; do
    name=$(basename "$file" | sed 's/\.c.*//')
    {
        echo "<h1>$(title_of "$file" | sed 's/&/\&amp;/g; s/</\&lt;/g')</h1>"
        awk -f $here/text.awk -f $here/example.awk -v index_file="$index" "$file"
        echo "<h2 id=output>Output</h2>"
        if [ -x "$bin/$name" ]; then
            rm -f "$work/run/picture.svg"
            # shellcheck disable=SC2046  # a list
            (cd "$work/run" && timeout 600 "$bin/$name" $(arguments "$name")) \
                > "$work/run/text" 2>&1 || echo "manual: $name failed" >&2
            echo "<pre>"
            sed 's/&/\&amp;/g; s/</\&lt;/g' "$work/run/text"
            echo "</pre>"
            if [ -f "$work/run/picture.svg" ]; then
                cp "$work/run/picture.svg" "$out/$name.svg"
                echo "<p><img src=\"$name.svg\" alt=\"The picture that it draws\"></p>"
            fi
        else
            echo "<p class=note>Not built here: it needs a library or a" \
                "compiler that was missing.</p>"
        fi
    } | framed "$(basename "$file")" "$(page "$file")"
done

# 5. Every public name has its entry.
missing=$(cut -f 1 "$index" | sort -u | awk '
    NR == FNR { have[$1] = 1; next }
    !($1 in have) { print }' - docs/names.txt)
[ -z "$missing" ] || { echo "manual: no entry for $missing" >&2; exit 1; }
echo "manual: $(ls "$out"/*.html | wc -l) pages, $out/index.html"
