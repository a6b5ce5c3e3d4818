#!/bin/sh
# tags:
# Headers in C11 without GNU C, and as a compiler of Microsoft's dialect would
# read them: clang, which says that it is neither gcc nor clang. Nested operators
# do not double the text there.        sh tests/project/dialects.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$3
passed=0
failed=0
mkdir -p "$dir"
if ! command -v clang > /dev/null 2>&1; then
    echo "dialects.sh: skipped, clang is not installed"
    echo "dialects.sh: 0 passed, 0 failed"
    exit 0
fi

# count NAME CONDITION ...
count() {
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "dialects.sh: $name"
        head -n 10 "$dir/log"
    fi
}

# read_as FLAGS...: main.c by clang that says it has no GNU C. (INFINITY of
# glibc is then 1e10000, of which clang warns.)
read_as() {
    clang -std=c11 -fsyntax-only -Werror -Wno-literal-range "$@" -U__GNUC__ \
        -U__clang__ -DADREV_NO_XXHASH -I"$root" "$dir/main.c" \
        > "$dir/log" 2>&1
}

for header in "$root"/adrev_[a-z]*.h "$root/adrev.h"; do
    name=$(basename "$header")
    case $name in
        adrev_all.h | adrev_code.h | adrev_eigen.h | adrev_mpi.h | \
            adrev_real.h) continue ;;
    esac
    { echo '#define ADREV_IMPLEMENTATION'
      echo "#include \"$name\""; } > "$dir/main.c"
    count "$name without GNU C" read_as
    count "$name in Microsoft's dialect" read_as -fms-compatibility \
        -fms-extensions -D_MSC_VER=1900
done

echo "dialects.sh: $passed passed, $failed failed"
