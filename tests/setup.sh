#!/bin/sh
# Installs what the tests use beyond gcc and make, where that is possible. What
# is missing afterwards is skipped by name.
# SPDX-License-Identifier: MIT-0

install() {
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null 2>&1 || return
    { apt-get install -y "$1" \
        || { apt-get update && apt-get install -y "$1"; }; } > /dev/null 2>&1
}

for pair in clang:clang clang++:clang g++:g++ gdb:gdb spin:spin tcc:tcc; do
    command -v "${pair%%:*}" > /dev/null 2>&1 || install "${pair##*:}"
done

# adrev_parallel.h needs xxHash; OpenMP and oneTBB are clients of it.
for pair in xxhash.h:libxxhash-dev tbb/version.h:libtbb-dev \
            omp.h:libomp-dev; do
    echo "#include <${pair%%:*}>" | g++ -std=c++17 -fsyntax-only -x c++ - \
        > /dev/null 2>&1 || install "${pair##*:}"
done

# Libraries of the examples: whether an empty program links with them.
probe=$(mktemp -d)
echo 'int main(void) { return 0; }' > "$probe/main.c"
for library in lapack lbfgs; do
    gcc "$probe/main.c" -o "$probe/main" "-l$library" > /dev/null 2>&1 \
        || install "lib$library-dev"
done
rm -rf "$probe"
exit 0
