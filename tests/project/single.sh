#!/bin/sh
# tags:
# The joined file is adrev_all.h, word by word after the preprocessor, wherever
# it is included; alone in a folder, a program of C and of C++ compiles with it.
# (What adrev_all.h does is tested by tests/core/include_all.c.)
#                                      sh tests/project/single.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
dir=$3
case $cc in clang*) cxx=clang++${cc#clang} ;; *) cxx=g++${cc#gcc} ;; esac
rm -rf "$dir"
mkdir -p "$dir/all" "$dir/single"
script=single.sh
. "$root/tests/support/check.sh"

make -s -C "$root" single B="$dir/single"
cat > "$dir/model.h" << 'END'
real real_name(cube)(real x) { return real_rec(ad_mul(x, ad_sqr(x))); }
END
for where in all single; do
    for how in IMPLEMENTATION NOTHING; do
        { echo "#define ADREV_$how"
          echo "#include \"adrev_$where.h\""; } > "$dir/$where/$how.c"
    done
    { echo "#include \"adrev_$where.h\""
      echo "#define ADREV_IMPLEMENTATION"
      echo "#define ADREV_SOURCE \"model.h\""
      echo "#include \"adrev_$where.h\""; } > "$dir/$where/twice.c"
    { echo "#include <Eigen/Core>"
      cat "$dir/$where/NOTHING.c"; } > "$dir/$where/eigen.c"
done

# same NAME COMPILER FLAG ...: both are the same text, which is not empty.
same() {
    what=$1
    shift
    "$@" -E -P -I"$root" -I"$dir" "$dir/all/$what.c" > "$dir/all/lines" \
        && "$@" -E -P -I"$dir/single" -I"$dir" "$dir/single/$what.c" \
            > "$dir/single/lines" || return
    for text in all single; do          # clang leaves some lines empty
        grep -v '^ *$' "$dir/$text/lines" > "$dir/$text/text"
    done
    grep -q ad_tensor_bind "$dir/single/text" \
        && cmp "$dir/all/text" "$dir/single/text"
}

for file in IMPLEMENTATION NOTHING twice; do
    check "$file" same $file "$cc" -std=c11
done
check "adrev_real.h" grep -q "cube_rev" "$dir/single/text"

cat > "$dir/main.c" << 'END'
#include "adrev_single.h"
#define ADREV_SOURCE "model.h"
#include "adrev_single.h"
#include <stdio.h>

static void f(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = cube_rev(x[0]);
}

int main(void)
{
    const ad_real x = 2;
    ad_real y = 0;
    ad_real g = 0;
    ad_fn *fn = NULL;
    if (ad_fn_record(&fn, f, NULL, 1, &x, 1) != ADREV_OK
        || ad_fn_gradient(fn, &x, &y, &g) != ADREV_OK)
        return 1;
    printf("%g %g\n", (double)(y + cube(0)), (double)g);
    ad_fn_free(fn);
}
END
sed '/^int main/i\
ad_fwd not_called(ad_fwd x) { return cube_fwd(x); }\
' "$dir/main.c" > "$dir/m" && mv "$dir/m" "$dir/main.c"
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion"
# shellcheck disable=SC2086  # a list
check "a program" "$cc" -std=c11 $strict -Werror -I"$dir/single" -I"$dir" \
    -fsyntax-only "$dir/main.c"

if command -v "$cxx" > /dev/null 2>&1; then
    check "C++" same NOTHING "$cxx" -std=c++17 -x c++
    if [ -f /usr/include/eigen3/Eigen/Core ]; then
        check "Eigen" same eigen "$cxx" -std=c++17 -x c++ \
            -isystem /usr/include/eigen3
        check "adrev_eigen.h" grep -q "NumTraits<ad_rev>" "$dir/single/text"
    else
        echo "single.sh: skipped, Eigen is not installed: its part"
    fi
    # shellcheck disable=SC2086  # a list
    check "C++: a program" "$cxx" -std=c++17 $strict -Werror \
        -I"$dir/single" -I"$dir" -fsyntax-only -x c++ "$dir/main.c"
else
    echo "single.sh: skipped, $cxx is not installed"
fi

echo "single.sh: $passed passed, $failed failed"
[ "$failed" = 0 ]
