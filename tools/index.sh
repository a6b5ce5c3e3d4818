#!/bin/sh
# The index from public functions to tests:     sh tools/index.sh > docs/tests.md
# A function that no test names is a mistake, and named on standard error.
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/.." || exit 2
cat <<'TITLE'
# Which tests call a function

Made by `make docs`: of each function up to six tests, those that name it most
often first. Operators are missing: `tests/core/operations.c`, `edges.c` and
`second_partials.c` go through all rows of the operator table.

| function | tests |
|---|---|
TITLE
awk '
    FILENAME ~ /^adrev/ {
        if (/^ADX_(API|TRY) /) {
            on = 1
            text = ""
        }
        if (on) {
            sub(/\/\/.*/, "")
            text = text " " $0
        }
        if (on && /[;{]/) {
            on = 0
            if (text ~ /;/ && match(text, /[ *(]ad_[a-z0-9_]+\)? ?\(/)) {
                name = substr(text, RSTART, RLENGTH)
                gsub(/[^a-z0-9_]/, "", name)
                if (!(name in public)) {
                    public[name] = 1
                    order[++count] = name
                }
            }
        }
        next
    }
    FILENAME ~ /^adapters/ {        # defined where they are declared
        if (/^static inline/ && match($0, /ad_[a-z0-9_]+\(/)) {
            name = substr($0, RSTART, RLENGTH - 1)
            if (!(name in public)) {
                public[name] = 1
                order[++count] = name
            }
        }
        next
    }
    FNR == 1 {
        test = FILENAME
        sub(/^tests\//, "", test)
        sub(/\.[a-z]*$/, "", test)
    }
    {
        line = $0
        while (match(line, /ad_[a-z0-9_]+/)) {
            name = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (name in public && calls[name, test]++ == 0)
                tests[name] = tests[name] " " test
        }
    }
    END {
        for (i = 1; i <= count; i++) {
            name = order[i]
            n = split(tests[name], test_of, " ")
            # called by the macros ADREV_PARALLEL and ADREV_FORK
            if (n == 0 && name !~ /^ad_scope_/)
                print name " is in no test" > "/dev/stderr"
            row = ""
            for (k = 0; k < 6 && k < n; k++) {
                best = 0
                for (j = 1; j <= n; j++)
                    if (test_of[j] != "" && (!best \
                        || calls[name, test_of[j]] > calls[name, test_of[best]]))
                        best = j
                row = row (k ? ", " : "") test_of[best]
                test_of[best] = ""
            }
            if (n > 0)
                print "| `" name "` | " row " |"
        }
    }' adrev*.h $(ls adapters/*.h 2> /dev/null) tests/*/*.[ch] tests/*/*.cpp
