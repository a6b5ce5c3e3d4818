#!/bin/sh
# tags:
# A rank that is killed ends the program on all of them, soon; and a long reverse
# sweep goes on from its files, with the same bits:
#                                     sh tests/mpi/killed.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$3
passed=0
failed=0
if ! command -v mpicc.openmpi > /dev/null 2>&1; then
    echo "killed: skipped, mpicc.openmpi is not installed"
    echo "killed: 0 passed, 0 failed"
    exit 0
fi
mkdir -p "$dir"
# shellcheck disable=SC2086  # flags are a list
OMPI_CC=$1 mpicc.openmpi -std=c11 -Wall -Wextra -Wpedantic -Werror $2 -I"$root" \
    "$root/tests/mpi/killed.c" -o "$dir/killed" -lm -pthread || exit 1

# start ARGUMENT ...: on two ranks
start() {
    timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe \
        --mca mpi_yield_when_idle 1 -n 2 "$dir/killed" "$@" 2> "$dir/log"
}

# check WHAT COMMAND ...
check() {
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "killed: $what"
    fi
}

rm -rf "$dir/whole"
mkdir "$dir/whole"
want=$(start "$dir/whole") || echo "killed: does not run"
want=${want% *}
check "undisturbed: $want" [ "${want%: *}" = success ]
for rank in 0 1; do
    for put in 0 3 8 9 11 14; do
        rm -rf "$dir/files"
        mkdir "$dir/files"
        start "$dir/files" $rank $put > /dev/null
        ended=$?                                        # 124: not at all
        check "rank $rank is killed at put $put: status $ended" \
            test "$ended" != 0 -a "$ended" != 124
        start "$dir/files" $((1 - rank)) 1 > /dev/null  # and again
        got=$(start "$dir/files")
        resumed=${got##* }
        check "after put $put of rank $rank: $got, not $want" \
            [ "${got% *}" = "$want" ]
        [ $put -lt 11 ] || check "put $put: nothing was there" \
            [ "$resumed" -gt 0 ]
    done
done

# other inputs: a rank has adjoints of another run still, which are not taken
rm -rf "$dir/files" "$dir/whole"
mkdir "$dir/files" "$dir/whole"
other=$(start "$dir/whole" -1 0 0.5)
check "other inputs: $other" [ "${other% *}" != "$want" ]
start "$dir/files" 0 14 > /dev/null
start "$dir/files" 1 8 0.5 > /dev/null
got=$(start "$dir/files" -1 0 0.5)
check "stale files of one rank: $got, not $other" [ "${got% *}" = "${other% *}" ]

# all is there, until a file of one rank is damaged: that of the fifth of eight
# ranges of three steps. Both go on from the three behind it.
got=$(start "$dir/files" -1 0 0.5)
check "all files: $got" [ "$got" = "${other% *} 24" ]
printf '#' | dd of="$dir/files/1.14" bs=1 seek=40 conv=notrunc 2> /dev/null
got=$(start "$dir/files" -1 0 0.5)
check "a damaged file: $got" [ "$got" = "${other% *} 9" ]
rm -rf "$dir/files" "$dir/whole" "$dir/killed"
echo "killed: $passed passed, $failed failed"
[ "$failed" = 0 ]
