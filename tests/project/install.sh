#!/bin/sh
# tags:
# What `make install` puts somewhere serves pkg-config and CMake, and goes away
# again; the folder itself serves CMake and Meson as a subproject:
#                                     sh tests/project/install.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
dir=$3
prefix=$dir/prefix
passed=0
failed=0
rm -rf "$dir"
mkdir -p "$dir/program" "$dir/sub"

# check NAME COMMAND ...
check() {
    name=$1
    shift
    if "$@" > "$dir/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "install.sh: $name"
        head -n 20 "$dir/log"
    fi
}

# A tool that is not there is named.
has() {
    command -v "$1" > /dev/null 2>&1 && return
    echo "install.sh: skipped, $1 is not installed"
    return 1
}

make_it() {
    make -s -C "$root" "$1" PREFIX="$2" DESTDIR="$3" CC="$cc" CFLAGS=-O0
}

# A program that needs most of the library, and defines no implementation.
cat > "$dir/program/main.c" << 'END'
#include "adrev_function.h"
#include "adrev_tensor.h"
#include <stdio.h>

static void f(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_sqr(x[1])));
}

int main(void)
{
    const double x[] = { 2, 3 };
    double y, g[2];
    ad_fn *fn;
    ad_tensor *t;
    if (ad_fn_record(&fn, f, NULL, 2, x, 1) != ADREV_OK
        || ad_fn_gradient(fn, x, &y, g) != ADREV_OK
        || ad_tensor_new(&t, "in x; out y = x;", NULL, NULL) != ADREV_OK)
        return 1;
    printf("%g: %g %g\n", y, g[0], g[1]);
    ad_tensor_free(t);
    ad_fn_free(fn);
}
END

says() {
    [ "$("$1")" = "18: 9 12" ]
}

if ! echo '#include <xxhash.h>' | $cc -fsyntax-only -x c - > /dev/null 2>&1; then
    echo "install.sh: skipped, xxhash.h is not installed"
    echo "install.sh: 0 passed, 0 failed"
    exit 0
fi

check "make install" make_it install "$prefix" ""
check "headers" cmp "$root/adrev_loop.h" "$prefix/include/adrev_loop.h"

if has pkg-config; then
    export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
    # shellcheck disable=SC2046  # a list
    check "pkg-config" "$cc" -std=c11 "$dir/program/main.c" -o "$dir/main" \
        $(pkg-config --cflags --libs adrev)
    check "pkg-config: runs" says "$dir/main"
    check "pkg-config: version" [ "$(pkg-config --modversion adrev)" = "$(sed -n \
        's/^#define ADREV_VERSION  *"\(.*\)"/\1/p' "$root/adrev.h")" ]
fi

# cmake_builds FOLDER OPTION ...
cmake_builds() {
    folder=$1
    shift
    CC=$cc cmake -S "$dir/program" -B "$folder" "$@" && cmake --build "$folder"
}

if has cmake; then
    cat > "$dir/program/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.13)
project(program C)
if(FOLDER_OF_ADREV)
  add_subdirectory(${FOLDER_OF_ADREV} adrev)
else()
  find_package(adrev ${WANTED} REQUIRED)
endif()
add_executable(main main.c)
target_link_libraries(main adrev::adrev)
END
    check "find_package" cmake_builds "$dir/found" -DCMAKE_PREFIX_PATH="$prefix" \
        -DWANTED=0.1
    check "find_package: runs" says "$dir/found/main"
    check "another version is refused" sh -c '! CC=$1 cmake -S "$2/program" \
        -B "$2/other" -DCMAKE_PREFIX_PATH="$3" -DWANTED=0.2' - "$cc" "$dir" \
        "$prefix"
    check "add_subdirectory" cmake_builds "$dir/sub" -DFOLDER_OF_ADREV="$root"
    check "add_subdirectory: runs" says "$dir/sub/main"
fi

if has meson; then
    mkdir -p "$dir/program/subprojects"
    ln -s "$root" "$dir/program/subprojects/adrev"
    cat > "$dir/program/meson.build" << 'END'
project('program', 'c', default_options: ['c_std=c11'])
executable('main', 'main.c',
           dependencies: dependency('adrev', fallback: ['adrev', 'adrev_dep']))
END
    check "meson" env CC="$cc" PKG_CONFIG_PATH= meson setup "$dir/meson" \
        "$dir/program"
    check "meson: builds" meson compile -C "$dir/meson"
    check "meson: runs" says "$dir/meson/main"
fi

check "make uninstall" make_it uninstall "$prefix" ""
check "nothing is left" [ -z "$(find "$prefix" -type f)" ]
check "DESTDIR" make_it install /opt/adrev "$dir/stage"
check "DESTDIR: no trace of it" sh -c '! grep -r "$1" "$1/opt/adrev/lib/cmake" \
    "$1/opt/adrev/lib/pkgconfig"' - "$dir/stage"
check "PREFIX must be a whole path" sh -c '! make -s -C "$1" install PREFIX=opt' \
    - "$root"

echo "install.sh: $passed passed, $failed failed"
