#!/bin/sh
# tags:
# What `make install` puts somewhere, under a path with a space, serves
# pkg-config, CMake, Meson and the dynamic linker, and goes away again; the folder
# itself serves FetchContent and Meson as a subproject:
#                                     sh tests/project/install.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
compiler=$1
dir=$3
prefix="$dir/a prefix"
rm -rf "$dir"
mkdir -p "$dir/program" "$dir/sub"
script=install.sh
. "$root/tests/support/check.sh"

# All compile by this, which compiles the library once: after that it looks for
# headers and wrong options only, and hands out what there is. The converter is
# built by tcc if it is there, since nothing but its options is asked for.
cc=$dir/cc
cat > "$cc" << END
#!/bin/sh
# Another object without -fPIC, which must not get lost unseen.
kept="$dir/kept.o"
case " \$* " in *" -fPIC "*) kept="$dir/kept-fPIC.o" ;; esac
compiler=$compiler
case " \$* " in
    *"/port/main.c "*) ! command -v tcc > /dev/null || compiler=tcc ;;
    *"package/adrev.c "*)
        if [ -f "\$kept" ]; then
            \$compiler "\$@" -E || exit
            while [ "\$1" != -o ]; do shift; done
            exec cp "\$kept" "\$2"
        fi ;;
esac
\$compiler "\$@" || exit
case " \$* " in
    *"package/adrev.c "*)
        while [ "\$1" != -o ]; do shift; done
        cp "\$2" "\$kept" ;;
esac
END
chmod +x "$cc"

# A tool that is not there is named.
has() {
    command -v "$1" > /dev/null 2>&1 && return
    echo "install.sh: skipped, $1 is not installed"
    return 1
}

# make_it TARGET PREFIX DESTDIR COMPILER LIBDIR
make_it() {
    make -s -C "$root" "$1" PREFIX="$2" DESTDIR="$3" CC="$4" CFLAGS=-O0 \
        LIBDIR="$5"
}

# A program of two units with all headers. It defines no implementation.
cat > "$dir/program/main.c" << 'END'
#include "adrev_all.h"
#include <stdio.h>

void halve(void *x);

static void f(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_sqr(x[1])));
}

int main(void)
{
    const double x[] = { 2, 3 };
    double y, g[2], h[2];
    ad_fn *fn;
    ad_tensor *text;
    ad_tape *t = ad_tape_new();
    ad_pool *pool = ad_pool_new(2);
    if (ad_fn_record(&fn, f, NULL, 2, x, 1) != ADREV_OK
        || ad_fn_gradient(fn, x, &y, g) != ADREV_OK
        || ad_tensor_new(&text, "in x; out y = x;", NULL, NULL) != ADREV_OK
        || ad_pool_use(pool) != ADREV_OK)
        return 1;
    ad_use(t);
    ad_rev in[2] = { ad_input(8), ad_input(12) };
    ad_rev half[2] = { in[0], in[1] };
    ad_fork2(halve, &half[0], halve, &half[1]);
    if (ad_gradient(t, ad_rec(ad_mul(half[0], half[1])), 2, in, h) != ADREV_OK)
        return 1;
    printf("%g: %g %g, %g %g\n", y, g[0], g[1], h[0], h[1]);
    ad_tape_free(t);
    ad_pool_free(pool);
    ad_tensor_free(text);
    ad_fn_free(fn);
}
END
cat > "$dir/program/halve.c" << 'END'
#include "adrev_parallel.h"
void halve(void *x);
void halve(void *x) { *(ad_rev *)x = ad_rec(ad_div(*(ad_rev *)x, 2)); }
END

says() {
    [ "$("$1")" = "18: 9 12, 3 2" ]
}

check "make install" make_it install "$prefix" "" "$cc" lib
check "headers" cmp "$root/adrev_loop.h" "$prefix/include/adrev_loop.h"
for header in "$root"/adapters/adrev*.h; do
    [ ! -f "$header" ] || check "adapters" cmp "$header" \
        "$prefix/include/$(basename "$header")"
done
check "examples" cmp "$root/examples/12_newton.c" \
    "$prefix/share/doc/adrev/examples/12_newton.c"
check "adrev-port" sh -c '"$1/bin/adrev-port" 2>&1 | grep -q -e --function' - \
    "$prefix"
version=$(sed -n 's/^#define ADREV_VERSION  *"\(.*\)"/\1/p' "$root/adrev.h")

# The library shows no name but ours.
if command -v nm > /dev/null 2>&1; then
    check "names" sh -c 'nm -g --defined-only "$1/lib/libadrev.a" | awk "
        NF == 3 { n++; other += \$3 !~ /^adx?_/ } END { exit other || n < 200 }"' \
        - "$prefix"
fi

# with_pkg_config OUTPUT OPTION ...
with_pkg_config() {
    out=$1
    shift
    eval "\"$cc\" -std=c11 \"$dir/program/main.c\" \"$dir/program/halve.c\" \
        -o \"$out\" $* $(pkg-config --cflags --libs adrev)"
}

if has pkg-config; then
    export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
    check "pkg-config" with_pkg_config "$dir/main"
    check "pkg-config: runs" says "$dir/main"
    check "pkg-config: version" [ "$(pkg-config --modversion adrev)" = "$version" ]
    check "shared" with_pkg_config "$dir/shared" "-L\"$prefix/lib\"" \
        "-l:libadrev.so.${version%.*}"
    check "shared: asks for it" sh -c '! "$1"' - "$dir/shared"
    check "shared: runs" env LD_LIBRARY_PATH="$prefix/lib" sh -c \
        '[ "$("$1")" = "18: 9 12, 3 2" ]' - "$dir/shared"
fi

# cmake_builds FOLDER OPTION ...
cmake_builds() {
    folder=$1
    shift
    CC=$cc cmake -S "$dir/program" -B "$folder" "$@" && cmake --build "$folder"
}

if has cmake; then
    cat > "$dir/program/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.14)
project(program C)
if(FOLDER_OF_ADREV)
  include(FetchContent)
  FetchContent_Declare(adrev SOURCE_DIR ${FOLDER_OF_ADREV})
  FetchContent_MakeAvailable(adrev)
else()
  foreach(other 0.9 99.0)
    find_package(adrev ${other} QUIET)
    if(adrev_FOUND)
      message(FATAL_ERROR "${other} is accepted")
    endif()
  endforeach()
  find_package(adrev ${WANTED} REQUIRED)
  if(NOT COMMAND adrev_port)
    message(FATAL_ERROR "no adrev_port")
  endif()
  add_executable(shared main.c halve.c)
  target_link_libraries(shared adrev::shared)
endif()
add_executable(main main.c halve.c)
target_link_libraries(main adrev::adrev)
END
    check "find_package" cmake_builds "$dir/found" -DCMAKE_PREFIX_PATH="$prefix" \
        -DWANTED="${version%.*}"
    check "find_package: runs" says "$dir/found/main"
    check "find_package: the shared library" says "$dir/found/shared"
    check "FetchContent" cmake_builds "$dir/sub" -DFOLDER_OF_ADREV="$root"
    check "FetchContent: runs" says "$dir/sub/main"
fi

# One project with both: what pkg-config finds, and what it does not find.
if has meson; then
    cat > "$dir/program/meson.build" << 'END'
project('program', 'c', default_options: ['c_std=c11'])
foreach name : ['adrev', 'adrev-of-this-folder']
  executable('with-' + name, 'main.c', 'halve.c',
             dependencies: dependency(name, fallback: ['adrev', 'adrev_dep']))
endforeach
END
    mkdir -p "$dir/program/subprojects"
    ln -s "$root" "$dir/program/subprojects/adrev"
    check "meson" env CC="$cc" meson setup "$dir/meson" "$dir/program"
    check "meson: builds" meson compile -C "$dir/meson"
    check "meson, pkg-config: runs" says "$dir/meson/with-adrev"
    check "meson, subproject: runs" says "$dir/meson/with-adrev-of-this-folder"
    check "meson, pkg-config" grep -q "prefix/lib/libadrev.a" \
        "$dir/meson/build.ninja"
fi

# The module finds the library that was installed with it, or says what it needs.
python=
for p in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$p" -c "import numpy" 2> /dev/null || python=$p
done
with_python() {
    env CC="$cc" PYTHONPATH="$prefix/share/adrev/python" \
        PYTHONDONTWRITEBYTECODE=1 "$@"
}
if [ -n "$python" ]; then
    check "a function for Python" "$cc" -std=c11 -O1 -fPIC -shared \
        -I"$prefix/include" "$root/tests/python/python_model.c" \
        -o "$dir/model.so" "$prefix/lib/libadrev.so.${version%.*}" \
        "-Wl,-rpath,$prefix/lib"
    with_python "$python" "$root/tests/python/adrev_test.py" "$dir/model.so" \
        "$dir" > "$dir/python"
    grep -v '^python: ' "$dir/python"
    check "Python" grep -q "^python: [0-9]* passed, 0 failed" "$dir/python"
    check "Python without the library" sh -c '"$@" 2>&1 \
        | grep -q "ImportError: adrev needs libadrev.so.*make install"' - \
        env ADREV_LIBRARY=/nowhere.so PYTHONPATH="$root/python" \
        PYTHONDONTWRITEBYTECODE=1 "$python" -c "import adrev"
else
    echo "install.sh: skipped, python3-numpy is not installed"
fi

check "make uninstall" make_it uninstall "$prefix" "" "$cc" lib
check "nothing is left" [ -z "$(find "$prefix" ! -path "$prefix")" ]

# Where things go, by a compiler that only makes the files.
cat > "$dir/touch" << 'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    [ "$1" != -o ] || : > "$2"
    shift
done
END
chmod +x "$dir/touch"
check "DESTDIR" make_it install /opt/adrev "$dir/stage" "$dir/touch" lib/some/where
check "DESTDIR: no trace of it" sh -c '! grep -r "$1" "$1/opt/adrev/lib"' - \
    "$dir/stage"
check "LIBDIR" [ -f "$dir/stage/opt/adrev/lib/some/where/libadrev.a" ]
check "LIBDIR: CMake finds the headers" grep -q '}/../../../../.."' \
    "$dir/stage/opt/adrev/lib/some/where/cmake/adrev/adrevConfig.cmake"
check "uninstall with DESTDIR" make_it uninstall /opt/adrev "$dir/stage" \
    "$dir/touch" lib/some/where
check "nothing is left there" [ -z "$(find "$dir/stage" ! -type d)" ]
check "PREFIX must be a whole path" sh -c '! make -s -C "$1" install PREFIX=opt' \
    - "$root"

echo "install.sh: $passed passed, $failed failed"
