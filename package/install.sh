#!/bin/sh
# Installs adrev, or removes it:
#
#     sh package/install.sh install|uninstall PREFIX DESTDIR CC FLAGS
#
#     include/adrev*.h                  adapters, too
#     lib/libadrev.a                    the implementation of all headers
#     lib/pkgconfig/adrev.pc            cc main.c $(pkg-config --cflags --libs adrev)
#     lib/cmake/adrev/*.cmake           find_package(adrev): adrev::adrev, and
#                                       adrev::headers without the library
#     share/adrev/examples/             sources
#     share/doc/adrev/                  README, docs, license
#
# PREFIX is where it will be; DESTDIR stands before it while it is put there.
# SPDX-License-Identifier: MIT-0

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
what=$1
prefix=$2
to=$3$2
cc=$4
flags=$5

stop() {
    echo "install: $*" >&2
    exit 1
}

case $what in install | uninstall) ;; *) stop "install or uninstall?" ;; esac
case $prefix in /*) ;; *) stop "PREFIX is no path from the root: $prefix" ;; esac

if [ "$what" = uninstall ]; then
    for header in "$root"/adrev*.h "$root"/adapters/adrev*.h; do
        rm -f "$to/include/$(basename "$header")"
    done
    rm -f "$to/lib/libadrev.a" "$to/lib/pkgconfig/adrev.pc"
    rm -rf "$to/lib/cmake/adrev" "$to/share/adrev" "$to/share/doc/adrev"
    exit 0
fi

version=$(sed -n 's/^#define ADREV_VERSION  *"\(.*\)"/\1/p' "$root/adrev.h")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
echo '#include <xxhash.h>' | $cc -fsyntax-only -x c - > /dev/null 2>&1 \
    || echo "install: xxhash.h is missing, so libadrev.a has no" \
            "adrev_parallel.h and no adrev_function.h"

# shellcheck disable=SC2086  # a list
$cc -std=c11 $flags -ffunction-sections -fdata-sections -fPIC -I"$root" \
    -c "$here/adrev.c" -o "$work/adrev.o" || stop "the library does not compile"
${AR:-ar} rcs "$work/libadrev.a" "$work/adrev.o" || exit 1

cat > "$work/adrev.pc" << END
prefix=$prefix
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: adrev
Description: automatic differentiation for C
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -ladrev -lm -pthread
END

cat > "$work/adrevConfig.cmake" << 'END'
# adrev::adrev      headers and libadrev.a
# adrev::headers    headers; a file of yours defines ADREV_IMPLEMENTATION
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
get_filename_component(_adrev "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET adrev::headers)
  add_library(adrev::headers INTERFACE IMPORTED)
  set_target_properties(adrev::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_adrev}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m")
  add_library(adrev::adrev STATIC IMPORTED)
  set_target_properties(adrev::adrev PROPERTIES
    IMPORTED_LOCATION "${_adrev}/lib/libadrev.a"
    INTERFACE_LINK_LIBRARIES adrev::headers)
endif()
unset(_adrev)
END

# Until 1.0 another minor version may differ, as CHANGELOG.md says.
cat > "$work/adrevConfigVersion.cmake" << END
set(PACKAGE_VERSION $version)
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
elseif(NOT "\${PACKAGE_FIND_VERSION_MAJOR}.\${PACKAGE_FIND_VERSION_MINOR}"
       STREQUAL "${version%.*}")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
END

# put FOLDER FILE ...
put() {
    folder=$to/$1
    shift
    mkdir -p "$folder" && cp "$@" "$folder" || stop "cannot write to $folder"
}

put include "$root"/adrev*.h $(ls "$root"/adapters/adrev*.h 2> /dev/null)
put lib "$work/libadrev.a"
put lib/pkgconfig "$work/adrev.pc"
put lib/cmake/adrev "$work/adrevConfig.cmake" "$work/adrevConfigVersion.cmake"
put share/adrev/examples "$root"/examples/*
put share/doc/adrev "$root/README.md" "$root/CHANGELOG.md" "$root/LICENSE"
put share/doc/adrev/docs "$root"/docs/*.md
put share/doc/adrev/docs/behaviour "$root"/docs/behaviour/*.md
