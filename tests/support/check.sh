#!/bin/sh
# tags: part
# check.sh - how scripts count what passes. To be read by them, once dir is the
# folder of what they build, as a whole path, and script what they are called.
# SPDX-License-Identifier: MIT-0

# shellcheck disable=SC2034,SC2154  # of the script that reads this
passed=0
failed=0

# count WHAT 0: it passed; anything else: it failed, and $dir/said says why
count() {
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$script: $1"
        head -n 20 "$dir/said"
    fi
}

# check WHAT COMMAND ...: the command succeeds
check() {
    checked=$1
    shift
    "$@" > "$dir/said" 2>&1
    count "$checked" $?
}
