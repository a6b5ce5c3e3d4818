# Joins all headers into one file:
#     awk -f tools/single.awk adrev_all.h > adrev_single.h
# Each header stands where it is first included. All of them may be read again,
# so the file can be included again, too: with ADREV_IMPLEMENTATION, or with
# another ADREV_SOURCE.
# SPDX-License-Identifier: MIT-0

function header(file,   line, n, part) {
    if (file in joined)
        return
    joined[file]
    while ((n = (getline line < file)) > 0)
        if (line ~ /^#include "adrev[a-z_]*\.h"/) {
            split(line, part, "\"")
            header(part[2])
        } else
            print line
    if (n < 0) {
        print "no header " file > "/dev/stderr"
        exit 1
    }
    close(file)
}

BEGIN {
    header(ARGV[1])
}
