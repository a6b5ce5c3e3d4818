#!/bin/sh
# Lines and branches of each header that the suite reaches. Needs gcovr, which
# is installed with apt-get where that is possible. TESTS are words of a plan.
#                                         sh tests/coverage.sh JOBS [TESTS]
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/.." && pwd)
command -v gcovr > /dev/null 2>&1 \
    || apt-get install -y gcovr > /dev/null 2>&1
if ! command -v gcovr > /dev/null 2>&1; then
    echo "skipped: gcovr is not installed"
    exit 0
fi
plan=$(mktemp)
echo "gcc | -O0 --coverage -fprofile-abs-path | ${2:-all}" > "$plan"
sh "$root/tests/run.sh" "$1" "$plan"
cd "$root" || exit 2
# From version 6 on functions that stand in several programs must be kept apart.
merge=
if gcovr --help | grep -q -e --merge-mode-functions; then
    merge=--merge-mode-functions=separate
fi
# Branches first, then lines; a row for each header, without the lines that are
# not reached.
for what in "--branches --exclude-throw-branches" ""; do
    # shellcheck disable=SC2086  # none or several
    gcovr -r . --object-directory build --filter 'adrev[a-z_]*\.h' $what $merge \
        | cut -c 1-72
done
rm -f "$plan"
