#!/bin/sh
# Installs adrev, or removes it:
#
#     sh package/install.sh install|uninstall PREFIX DESTDIR CC FLAGS LIBDIR
#
#     bin/adrev-port                    the converter, docs/porting-tool.md
#     include/adrev*.h                  headers and adapters
#     LIBDIR/libadrev.a                 the implementation of all headers
#     LIBDIR/libadrev.so.0.1            the same, for programs that load it
#     LIBDIR/pkgconfig/adrev.pc         cc main.c $(pkg-config --cflags --libs adrev)
#     LIBDIR/cmake/adrev/*.cmake        find_package(adrev)
#     share/adrev/adrev-port.mk         rules of the converter for make
#     share/adrev/python/adrev.py       the module for Python, if it is there
#     share/doc/adrev/                  README, docs, license, examples
#     share/man/man1/adrev-port.1
#     share/man/man3/ad_*.3 ADREV_*.3   a page for each name
#
# PREFIX is where it will be; DESTDIR stands before it while it is put there.
# LIBDIR is lib, or where in PREFIX else libraries are.
#
# There is no link libadrev.so: -ladrev is the library for good, which needs no
# search for it when a program starts. docs/installing.md has the other way.
# SPDX-License-Identifier: MIT-0

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
what=$1
prefix=$2
to=$3$2
cc=$4
flags=$5
lib=${6:-lib}

stop() {
    echo "install: $*" >&2
    exit 1
}

case $what in install | uninstall) ;; *) stop "install or uninstall?" ;; esac
case $prefix in /*) ;; *) stop "PREFIX is no path from the root: $prefix" ;; esac
case $lib in /* | *..* | "") stop "LIBDIR is no path inside PREFIX: $lib" ;; esac

version=$(sed -n 's/^#define ADREV_VERSION  *"\(.*\)"/\1/p' "$root/adrev.h")
soname=libadrev.so.${version%.*}

if [ "$what" = uninstall ]; then
    for header in "$root"/adrev*.h "$root"/adapters/adrev*.h; do
        rm -f "$to/include/$(basename "$header")"
    done
    rm -f "$to/bin/adrev-port" "$to/share/man/man1/adrev-port.1" \
        "$to/$lib/libadrev.a" "$to/$lib/$soname" "$to/$lib/libadrev.so.$version" \
        "$to/$lib/pkgconfig/adrev.pc"
    rm -f "$to"/share/man/man3/ad_*.3 "$to"/share/man/man3/ADREV_*.3
    rm -rf "$to/$lib/cmake/adrev" "$to/share/adrev" "$to/share/doc/adrev"
    for folder in "$lib/cmake" "$lib/pkgconfig" "$lib" bin include share/doc \
        share/man/man1 share/man/man3 share/man share; do
        rmdir "$to/$folder" 2> /dev/null
    done
    exit 0
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2086  # a list
$cc -std=c11 $flags -ffunction-sections -fdata-sections -fPIC -I"$root" \
    -c "$here/adrev.c" -o "$work/adrev.o" || stop "the library does not compile"
${AR:-ar} rcs "$work/libadrev.a" "$work/adrev.o" || exit 1
# shellcheck disable=SC2086  # lists
$cc -shared $flags $LDFLAGS "-Wl,-soname,$soname" "$work/adrev.o" -lm -pthread \
    -o "$work/libadrev.so.$version" 2> "$work/log" \
    || echo "install: no shared library: $(head -n 1 "$work/log")"
# shellcheck disable=SC2086  # lists
$cc -std=c11 $flags $LDFLAGS "$root"/port/*.c -o "$work/adrev-port" \
    || stop "adrev-port does not compile"

cat > "$work/adrev.pc" << END
prefix=$prefix
includedir=\${prefix}/include
libdir=\${prefix}/$lib
port_mk=\${prefix}/share/adrev/adrev-port.mk
examples=\${prefix}/share/doc/adrev/examples

Name: adrev
Description: automatic differentiation for C
Version: $version
Cflags: -I"\${includedir}"
Libs: -L"\${libdir}" -ladrev -lm -pthread
END

up=$(echo "$lib/cmake/adrev" | sed 's|[^/][^/]*|..|g')
sed "s|@UP@|$up|g; s|@LIB@|$lib|g; s|@SONAME@|$soname|g" \
    "$here/adrevConfig.cmake" > "$work/adrevConfig.cmake"
sed "s|@VERSION@|$version|; s|@SERIES@|${version%.*}|" \
    "$here/adrevConfigVersion.cmake" > "$work/adrevConfigVersion.cmake"
sed "s|/\.\./build)|/$up/bin)|" "$root/port/adrev-port.cmake" \
    > "$work/adrev-port.cmake"
sed 's|\.\./build/adrev-port|../../bin/adrev-port|' "$root/port/adrev-port.mk" \
    > "$work/adrev-port.mk"

# put MODE FOLDER FILE ...: those of the files that are there
put() {
    mode=$1
    folder=$to/$2
    shift 2
    mkdir -p "$folder" || stop "cannot write to $folder"
    for file; do
        shift
        [ ! -f "$file" ] || set -- "$@" "$file"
    done
    [ $# = 0 ] || install -m "$mode" "$@" "$folder" \
        || stop "cannot write to $folder"
}

doc=share/doc/adrev
put 755 bin "$work/adrev-port"
put 644 include "$root"/adrev*.h "$root"/adapters/adrev*.h
put 644 "$lib" "$work/libadrev.a" "$work/libadrev.so.$version"
[ ! -f "$work/libadrev.so.$version" ] \
    || ln -sf "libadrev.so.$version" "$to/$lib/$soname" || exit 1
put 644 "$lib/pkgconfig" "$work/adrev.pc"
put 644 "$lib/cmake/adrev" "$work"/*.cmake
put 644 share/adrev "$work/adrev-port.mk"
put 644 share/adrev/python "$root/python/adrev.py"
put 644 share/man/man1 "$here/adrev-port.1"
sh "$root/tools/manual/man.sh" "$work/man3" || stop "no man pages"
put 644 share/man/man3 "$work"/man3/*.3
put 644 $doc "$root/README.md" "$root/CHANGELOG.md" "$root/BENCHMARKS.md" \
    "$root/LICENSE"
put 644 $doc/docs "$root"/docs/*.md
put 644 $doc/docs/behaviour "$root"/docs/behaviour/*.md
put 644 $doc/examples "$root"/examples/*
put 644 $doc/adapters "$root"/adapters/*.md
put 644 $doc/adapters/examples "$root"/adapters/examples/*
