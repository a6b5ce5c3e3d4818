#!/bin/sh
# tags:
# The programs printed in headers, README.md and pages of docs/ print what they
# say, and the reference is that of the table:
#                                        sh tests/project/docs.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
dir=$3
passed=0
failed=0
mkdir -p "$dir"

check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s: got\n%s\nwant\n%s\n' "$1" "$2" "$3"
    fi
}

flags="-std=c11 -Wall -Wextra -Werror -O0 -I$root -I$dir"

whole() {
    # shellcheck disable=SC2086  # flags are a list
    "$cc" $flags "$dir/$1.c" -o "$dir/$1" -lm -pthread
}

# The program without its implementation, which is compiled once for all. Names
# in messages are those of the program, with the same lines.
build() {
    { echo "#line 1 \"$1.c\""
      sed 's/^#define ADREV_IMPLEMENTATION.*//' "$dir/$1.c"; } > "$dir/linked.c"
    # shellcheck disable=SC2086  # flags are a list
    "$cc" $flags "$dir/linked.c" "$dir/all.o" -o "$dir/$1" -lm -pthread || {
        failed=$((failed + 1))
        echo "$1.c does not build"
        return 1
    }
}

# The title comment: from its first #define to the brace that closes main.
sed -n '/^ \*     #define ADREV_IMPL/,/^ \*     }/s/^ \*     //p' \
    "$root/adrev.h" | sed 's|\\$||' > "$dir/title.c"
sed '/^Record a comp/d' "$dir/title.c" > "$dir/t" && mv "$dir/t" "$dir/title.c"
whole title
check "title of adrev.h" "$("$dir/title")" \
    "$(sed -n 's/^ \*     \(success: [^ ]* *= [^ ]* dy.dx = [0-9.]*\).*/\1/p' \
       "$root/adrev.h")"

printf '#define %s\n' ADREV_IMPLEMENTATION 'ADREV_TRACE 1' > "$dir/all.c"
echo '#include "adrev_all.h"' >> "$dir/all.c"
# shellcheck disable=SC2086  # flags are a list
"$cc" $flags -c "$dir/all.c" -o "$dir/all.o"

# That of adrev_parallel.h.
sed -n '/^ \*     #define ADREV_IMPL/,/^ \* The gradient/s/^ \*     //p' \
    "$root/adrev_parallel.h" | grep -v '^success' > "$dir/fork.c"
if build fork; then
    check "title of adrev_parallel.h" "$("$dir/fork")" \
        "$(sed -n 's/^ \*     \(success: dy.*\)/\1/p' \
           "$root/adrev_parallel.h")"
fi

# That of adrev_function.h, too: two lines of output, behind the program.
awk '/^ \* A function is run once/ { exit } /#define ADREV_IMPL/ { on = 1 }
     on { sub(/^ \*     /, ""); sub(/^ \*/, ""); print }' "$root/adrev_function.h" \
    > "$dir/fn.c"
awk '/^ \* A program has no branches/ { exit }
     /^ \*     #include <stdio.h>/ { on = 1 }
     on && /^ \*     [^0-9-]/ || on && /^ \*$/ { sub(/^ \*     /, ""); sub(/^ \*/, ""); print }' \
    "$root/adrev_function.h" >> "$dir/fn.c"
if build fn; then
    check "title of adrev_function.h" "$("$dir/fn")" \
        "$(sed -n '1,/A program has no/s/^ \*     \([-0-9][-0-9., ()]*\)$/\1/p' \
           "$root/adrev_function.h")"
fi

# That of adrev_code.h: the end of the C code that it prints.
awk '/#define ADREV_IMPL/ { on = 1 }
     /^ \*     \.\.\./ { exit }
     on && /^ \* [^ ]/ { next }
     on { sub(/^ \*     /, ""); sub(/^ \*/, ""); print }' \
    "$root/adrev_code.h" > "$dir/code.c"
if build code; then
    check "title of adrev_code.h" \
        "$("$dir/code" | sed -n '/^    const/,/return/p')" \
        "$(sed -n '/^ \*     \.\.\./,/return/s/^ \*     \(    \)/\1/p' \
           "$root/adrev_code.h")"
fi

# Those of adrev_bulk.h, adrev_loop.h and the like: to the brace that closes
# main, in two parts, and a line of output.
for header in assemble bulk loop tensor implicit; do
    awk '/#define ADREV_IMPL/ { on = 1 }
         on && /^ \* [^ ]/ { next }
         on { sub(/^ \*     /, ""); sub(/^ \*/, ""); print }
         main && /^}/ { exit }
         /int main/ { main = 1 }' "$root/adrev_$header.h" > "$dir/$header.c"
    build $header
    got=$("$dir/$header")
    check "title of adrev_$header.h" "$got" \
        "$(grep -F " *     $got" "$root/adrev_$header.h" \
           | sed 's/^ \* *//; s/   .*//')"
done

# Of two pages each C block, and the block of output after it.
block() {
    awk -v kind="^\`\`\`$1" -v n="$2" '/^```/ && on { exit }
        $0 ~ kind { on = ++k == n; next } on' "$root/$page"
}
for page in README.md docs/tensor-language.md; do
    name=$(basename "$page" .md)
    for i in $(seq "$(grep -c '^```c$' "$root/$page")"); do
        block c $i > "$dir/$name$i.c"
        build $name$i
        check "program $i of $page" "$("$dir/$name$i")" "$(block text $i)"
    done
done

# Of two pages those whose library is there: the first line of a program says
# what it is linked with.
linked() {
    block c "$1" > "$dir/linked$1.c"
    # It may ask pkg-config.
    words=$(sed -n '1s/.*program.c //p' "$dir/linked$1.c")
    eval "libraries=\"$words\"" 2> /dev/null || libraries=-lmissing
    sed 's/^#define ADREV_IMPLEMENTATION.*//' "$dir/linked$1.c" \
        > "$dir/linked.c"
    rm -f "$dir/linked"
    # shellcheck disable=SC2086  # flags are lists
    if ! "$cc" $flags -I"$root/adapters" "$dir/linked.c" "$dir/all.o" \
            -o "$dir/linked" $libraries -pthread 2> "$dir/log" \
        && ! echo 'int main(void) { return 0; }' \
            | "$cc" -x c - -o "$dir/empty" $libraries 2> /dev/null; then
        echo "docs.sh: skipped, program $1 of $page needs $words"
        return
    fi
    cat "$dir/log"
    got=$("$dir/linked" 2>&1)
    if [ "$got" = "no device" ]; then
        echo "docs.sh: skipped, program $1 of $page finds no device"
    else
        check "program $1 of $page" "$got" "$(block text "$1")"
    fi
}
for page in docs/adapters.md docs/kernels.md; do
    for i in $(seq "$(grep -c '^```c$' "$root/$page")"); do
        linked "$i"
    done
done

# The ways of porting.md: three programs of C, one of C++, and one file that is
# included.
page=docs/porting.md
exactly() {
    awk -v fence="\`\`\`$1" -v n="$2" '/^```/ && on { exit }
        $0 == fence { on = ++k == n; next } on' "$root/$page"
}
exactly h 1 > "$dir/spring.h"
for i in 1 2 3; do
    exactly c $i > "$dir/porting$i.c"
    build porting$i
    text=$((i == 3 ? 4 : i))
    check "program $i of $page" "$("$dir/porting$i")" "$(exactly text $text)"
done
case $cc in clang*) cxx=clang++${cc#clang} ;; *) cxx=g++${cc#gcc} ;; esac
if command -v "$cxx" > /dev/null 2>&1; then
    exactly cpp 1 > "$dir/porting.cpp"
    "$cxx" -std=c++11 -Wall -Wextra -Werror -I"$root" "$dir/porting.cpp" \
        "$dir/all.o" -o "$dir/porting" -lm -pthread
    check "the C++ of $page" "$("$dir/porting")" "$(exactly text 3)"
fi

# One program, whose output is cut into all blocks of the page.
page=docs/tensor-walk.md
block c 1 > "$dir/walk.c"
build walk
check "the blocks of $page" "$("$dir/walk")" \
    "$(awk '/^```/ { on = /^```text/; next } on' "$root/$page")"

cp "$root/tools/reference.c" "$dir"
build reference
check "docs/operations.md (make docs)" "$("$dir/reference" | cksum)" \
    "$(cksum < "$root/docs/operations.md")"
# Which tests a row names may be a while ago; that there is one may not.
sh "$root/tools/index.sh" > "$dir/tests.md" 2> "$dir/untested"
check "functions without a test" "$(cat "$dir/untested")" ""
check "functions in docs/tests.md (make docs)" \
    "$(grep -o '^| `[a-z0-9_]*`' "$dir/tests.md")" \
    "$(grep -o '^| `[a-z0-9_]*`' "$root/docs/tests.md")"
lint=$(sh "$root/tools/lint.sh")
check "make lint" "$lint" ""
echo "docs: $passed passed, $failed failed"
