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
status=0
for room in $rooms; do
    awk -v "room=$room" '
        BEGIN {
            name = room
            gsub(/^src\/|\.h$/, "", name)
            while ((getline line < "build/rooms") > 0)
                if (line !~ /^ /)
                    mine = line == name
                else if (mine)
                    want[++wanted] = line
        }
        !done && /^ \*   (needs|offers) / { list = 1 }
        !done && list && /^ \*   / { next }
        / \*\/$/ && !done {
            if (wanted && last != " *")
                print " *"
            for (i = 1; i <= wanted; i++)
                print want[i]
            done = 1
        }
        { print; last = $0 }' "$room" > build/room
    if ! cmp -s build/room "$room"; then
        if [ "$1" = write ]; then
            cp build/room "$room"
        else
            echo "$room: needs or offers something else: make rooms"
            status=1
        fi
    fi
done
exit $status
