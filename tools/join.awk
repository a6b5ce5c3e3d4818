# Makes the header that users copy from its list of rooms:
#     awk -f tools/join.awk src/adrev.h > adrev.h
# A room is a file of a folder of src/, included by its path from there; its
# first lines, a `#pragma once`, stay behind.
# SPDX-License-Identifier: MIT-0

function room(file,   line, n) {
    while ((n = (getline line < file)) > 0) {
        if (line ~ /^#pragma once/) {
            getline line < file
            continue
        }
        print line
    }
    if (n < 0) {
        print "no room " file > "/dev/stderr"
        exit 1
    }
    close(file)
}

BEGIN {
    print "/* Made from src/ by `make headers`: changes belong there. */"
}
/^#include "[a-z]+\/[a-z]+\.h"/ {
    split($0, part, "\"")
    if (before)
        print ""
    room("src/" part[2])
    before = 1
    next
}
{
    print
    before = 0
}
