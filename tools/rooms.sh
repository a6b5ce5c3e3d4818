#!/bin/sh
# What each room of src/ says that it needs and offers, against what it uses:
#     sh tools/rooms.sh            says where that differs, silent otherwise
#     sh tools/rooms.sh write      puts it right
# A name of a room that comes later is a mistake in any case.
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/.." || exit 2
mkdir -p build
headers="adrev adrev_struct adrev_parallel adrev_function adrev_code
         adrev_assemble adrev_bulk adrev_loop adrev_implicit adrev_tensor
         adrev_eigen adrev_mpi adrev_lapack adrev_sundials"
rooms=$(for header in $headers; do
            sed -n 's|^#include "\([a-z]*/[a-z]*\.h\)"$|src/\1|p' \
                "src/$header.h"
        done | awk '!seen[$0]++')    # core/hash is in two headers
# shellcheck disable=SC2086  # a list
awk -f tools/rooms.awk $rooms > build/rooms
if grep '^UP' build/rooms; then
    exit 1
fi
# shellcheck disable=SC2086  # a list
if [ "$(echo $rooms | tr ' ' '\n' | sort)" != "$(ls src/*/*.h | sort)" ]; then
    echo "src/ has a room that no header includes"
    exit 1
fi
# shellcheck disable=SC2086  # a list
awk -v how="$1" '
    # What the room should be, if it is something else.
    function finish() {
        if (new == old)
            return
        if (how == "write") {
            printf "%s", new > room
            close(room)
        } else {
            print room ": needs or offers something else: make rooms"
            bad = 1
        }
    }
    FILENAME == "build/rooms" {
        if (/^ /)
            list[name] = list[name] $0 "\n"
        else
            name = $0
        next
    }
    FNR == 1 {
        finish()
        old = new = last = ""
        done = in_list = 0
        name = room = FILENAME
        gsub(/^src\/|\.h$/, "", name)
    }
    { old = old $0 "\n" }
    !done && /^ \*   (needs|offers) / { in_list = 1 }
    !done && in_list && /^ \*   / { next }
    / \*\/$/ && !done {
        if (list[name] != "" && last != " *")
            new = new " *\n"
        new = new list[name]
        done = 1
    }
    { new = new $0 "\n"; last = $0 }
    END { finish(); exit bad }' build/rooms $rooms
