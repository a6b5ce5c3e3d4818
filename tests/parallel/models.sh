#!/bin/sh
# tags:
# The models of the scheduler hold, and do not where a part of it is left out:
#     sh tests/parallel/models.sh CC FLAGS DIR
#
# Needs spin, which is installed with apt-get where that is possible. FLAGS do
# not matter: what is compiled is the verifier that spin writes.
# SPDX-License-Identifier: MIT-0

models=$(cd "$(dirname "$0")" && pwd)/models
cc=$1
mkdir -p "$3"
dir=$(cd "$3" && pwd)
passed=0
failed=0

command -v spin > /dev/null 2>&1 \
    || apt-get install -y spin > /dev/null 2>&1
if ! command -v spin > /dev/null 2>&1; then
    echo "models: skipped, spin is not installed"
    echo "models: 0 passed, 0 failed"
    exit 0
fi

# verify MODEL FLAGS LEVEL: the verifier's report is $dir/log. A model that
# fails does so soon, and does not repay optimization.
verify() {
    rm -f "$dir"/pan*
    # shellcheck disable=SC2086  # flags are a list
    (cd "$dir" \
        && spin -P"$cc -E -x c" -a $2 "$models/$1.pml" \
        && $cc -w "$3" -DSAFETY -DCOLLAPSE -DMEMLIM=900 pan.c -o pan \
        && ./pan -m100000) > "$dir/log" 2>&1
}

count() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$2"
        head -n 20 "$dir/log"
    fi
}

# MODEL FLAGS: no error, nothing left out for want of memory or depth, and no
# statement that is never reached (but the end of what never ends).
holds() {
    verify "$1" "$2" -O2
    grep -q 'errors: 0$' "$dir/log" \
        && ! grep -q 'not completed\|too small\|MEMLIM' "$dir/log" \
        && ! grep ', state [0-9]*, ' "$dir/log" | grep -qv '"-end-"'
    count $? "$1 $2: does not hold"
}

# MODEL FLAGS ERROR
fails() {
    verify "$1" "$2" -O0
    grep -q "^pan:1: $3" "$dir/log"
    count $? "$1 $2: holds, or fails otherwise"
}

holds deque
holds deque "-DCAP=3 -DITEMS=4"
holds join
holds join "-DTHREADS=2 -DSPURIOUS=1"
for part in POP PUSH CAS STEAL READ FULL; do
    fails deque -DWEAK_$part "assertion violated"
done
for part in SLEEPERS DONE BOTTOM RECHECK LOCK SIGNAL STOP; do
    fails join -DWEAK_$part "invalid end state"
done
rm -f "$dir"/pan* "$dir"/*.trail
echo "models: $passed passed, $failed failed"
