#!/bin/sh
# tags:
# Headers in C11 without GNU C, and as a compiler of Microsoft's dialect would
# read them: clang, which says that it is neither gcc nor clang. Nested operators
# do not double the text there.        sh tests/project/dialects.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$3
mkdir -p "$dir"
script=dialects.sh
. "$root/tests/support/check.sh"
if ! command -v clang > /dev/null 2>&1; then
    echo "dialects.sh: skipped, clang is not installed"
    echo "dialects.sh: 0 passed, 0 failed"
    exit 0
fi

# read_as FLAGS...: main.c by clang that says it has no GNU C. (INFINITY of
# glibc is then 1e10000, of which clang warns.)
read_as() {
    clang -std=c11 -fsyntax-only -Werror -Wno-literal-range "$@" -U__GNUC__ \
        -U__clang__ -DADREV_NO_XXHASH -I"$root" "$dir/main.c"
}

for header in "$root"/adrev_[a-z]*.h "$root/adrev.h"; do
    name=$(basename "$header")
    case $name in
        adrev_all.h | adrev_code.h | adrev_eigen.h | adrev_mpi.h | \
            adrev_real.h) continue ;;
    esac
    { echo '#define ADREV_IMPLEMENTATION'
      echo "#include \"$name\""; } > "$dir/main.c"
    check "$name without GNU C" read_as
    check "$name in Microsoft's dialect" read_as -fms-compatibility \
        -fms-extensions -D_MSC_VER=1900
done

# Ten operators, one within the other: their text, and what it means.
echo '#define ADREV_IMPLEMENTATION
#include "adrev.h"
ad_rev deep(ad_rev x);
ad_rev deep(ad_rev x)
{
    return ad_rec(ad_sin(ad_mul(x, ad_sin(ad_mul(x, ad_sin(ad_mul(x,
        ad_sin(ad_mul(x, ad_sin(ad_add((x), 1.0)))))))))));
}
ad_fwd deep_forward(ad_fwd x);
ad_fwd deep_forward(ad_fwd x)
{
    return ad_dual(ad_sin(ad_mul((x), ad_add(((ad_fwd){ 0 }), ad_select(
        ad_lt(x, 9), ad_floor(ad_add(x, 1)), ad_sqr((x)))))));
}' > "$dir/main.c"
check "ten operators, without GNU C" read_as
bytes=$(clang -std=c11 -E -P -U__GNUC__ -U__clang__ -I"$root" "$dir/main.c" \
        | sed -n '/^ad_rev deep(ad_rev x)$/,/^}/p' | wc -c)
check "the text of ten operators, $bytes bytes" \
    [ "$bytes" -gt 400 -a "$bytes" -lt 8000 ]

echo "dialects.sh: $passed passed, $failed failed"
