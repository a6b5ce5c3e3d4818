#!/bin/sh
# The examples print what they say: sh tests/examples.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/.." && pwd)
strict="-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion"
mkdir -p "$3"
for source in "$root"/examples/[0-9]*.c; do
    # shellcheck disable=SC2086  # flags are a list
    $1 $strict -Wdouble-promotion -Werror $2 -I"$root" "$source" \
        -o "$3/$(basename "$source" .c)" -lm
done
sh "$root/examples/check.sh" "$3"
