#!/bin/sh
# Installs what the tests use beyond gcc and make, where that is possible. What
# is missing afterwards is skipped by name.
# SPDX-License-Identifier: MIT-0

for pair in clang:clang clang++:clang g++:g++; do
    command=${pair%%:*}
    package=${pair##*:}
    command -v "$command" > /dev/null 2>&1 && continue
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null 2>&1 || continue
    { apt-get install -y "$package" \
        || { apt-get update && apt-get install -y "$package"; }; } \
        > /dev/null 2>&1
done
exit 0
