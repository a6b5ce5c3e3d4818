#!/bin/sh
# clang or clang++, in less time:       sh tests/clang.sh DIR CLANG ARGUMENT ...
#
# It has memory in large pages, which takes a fifth off its time, and mold in place
# of GNU ld where that is there. To compile and link one source clang starts twice,
# and a start takes a tenth of a second: so it only compiles here, and the linker
# is called as clang calls it, by a line that clang is asked for once. DIR has the
# lines, one for each set of sanitizers. All else is left to clang.
# SPDX-License-Identifier: MIT-0

dir=$1
clang=$2
shift 2
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
export COMPILER_PATH=/usr/libexec/mold

source='' program='' flags='' before=
for argument; do
    case $before$argument in
        -o) before=-o; continue ;;
        -o*) program=$argument ;;
        -fsanitize* | -fuse-ld=*) flags="$flags $argument" ;;
        -fopenmp* | -flto* | -W[al],*) source="several " ;;
        -[DLUOWfgl]?* | -I?* | -std=* | -march=* | -O | -g | -w | -pthread) ;;
        *.[oa]) ;;
        *.c | *.cpp) source=$source$argument ;;
        *) source="several " ;;
    esac
    before=
done
[ -n "$program" ] && [ -f "$source" ] || exec "$clang" "$@"

line="$dir/${clang##*/}$flags.line"
if [ ! -f "$line" ]; then
    : > "$dir/first.o"
    # shellcheck disable=SC2086  # a list
    "$clang" $flags "-###" "$dir/first.o" -o linked 2>&1 \
        | sed -n '$s/"[^"]*first\.o"/"$@"/; $s/"linked"/"$program"/; $p' \
        > "$line.$$"
    mv "$line.$$" "$line"
fi
object=$program.$$.o

compile() {                             # compile ARGUMENT ...
    for argument; do
        shift
        case $before$argument in
            -o) before=-o; continue ;;
            -[oLl]* | -fuse-ld=* | *.[oa]) ;;
            *) set -- "$@" "$argument" ;;
        esac
        before=
    done
    "$clang" "$@" -c -o "$object"
}

link() {                                # link ARGUMENT ...
    for argument; do
        shift
        case $argument in
            "$source") set -- "$@" "$object" ;;
            -[Ll]* | *.[oa]) set -- "$@" "$argument" ;;
        esac
    done
    . "$line"
}

compile "$@" && link "$@"
status=$?
rm -f "$object"
exit $status
