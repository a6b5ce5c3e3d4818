#!/bin/sh
# Installs what the tests use beyond gcc and make, where that is possible; with
# the argument `examples` what those use. What is missing afterwards is skipped
# by name.
# SPDX-License-Identifier: MIT-0

install() {
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null 2>&1 || return
    { apt-get install -y "$1" \
        || { apt-get update && apt-get install -y "$1"; }; } > /dev/null 2>&1
}

# Libraries of the examples: whether an empty program links with them.
probe=$(mktemp -d)
echo 'int main(void) { return 0; }' > "$probe/main.c"
for library in lapack lbfgs; do
    gcc "$probe/main.c" -o "$probe/main" "-l$library" > /dev/null 2>&1 \
        || install "lib$library-dev"
done
rm -rf "$probe"
[ "$1" != examples ] || exit 0

# What core/hash is compared with.
echo '#include <xxhash.h>' | gcc -fsyntax-only -x c - > /dev/null 2>&1 \
    || install libxxhash-dev

for pair in clang:clang clang++:clang g++:g++ gdb:gdb spin:spin tcc:tcc; do
    command -v "${pair%%:*}" > /dev/null 2>&1 || install "${pair##*:}"
done

# Matrices of C++. (libboost-dev, which is large, is used if it is there.)
[ -f /usr/include/eigen3/Eigen/Core ] || install libeigen3-dev

# Clients of adrev_parallel.h.
for pair in tbb/version.h:libtbb-dev omp.h:libomp-dev; do
    echo "#include <${pair%%:*}>" | g++ -std=c++17 -fsyntax-only -x c++ - \
        > /dev/null 2>&1 || install "${pair##*:}"
done
exit 0
