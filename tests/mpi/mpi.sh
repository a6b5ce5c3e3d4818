#!/bin/sh
# tags:
# Programs on several ranks of this machine:      sh tests/mpi/mpi.sh CC FLAGS DIR
# With Open MPI; with MPI=mpich by MPICH, on two ranks at most, since its ranks do
# not sleep. What is not installed is skipped by name. With -DFEW=1 among the flags
# some variants are left out; with -DTHREADS=N only sums on a pool are run.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
flags=$2
dir=$3
most=4
case $MPI in
    mpich) compile=mpicc.mpich start=mpirun.mpich most=2 ;;
    *) compile=mpicc.openmpi start=mpirun.openmpi ;;
esac
if ! command -v $compile > /dev/null 2>&1; then
    echo "mpi: skipped, $compile is not installed"
    echo "mpi: 0 passed, 0 failed"
    exit 0
fi
export OMPI_CC="$cc" MPICH_CC="$cc"
export ASAN_OPTIONS=detect_leaks=0      # MPI leaves memory behind
mkdir -p "$dir"
strict="-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion"
strict="$strict -Wdouble-promotion -Werror"
passed=0
failed=0
built=

# count PASSED FAILED
count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# start RANKS PROGRAM ...
start() {
    ranks=$1
    shift
    case $MPI in
        mpich) timeout 120 $start -n "$ranks" "$@" ;;
        *) timeout 120 $start --allow-run-as-root --oversubscribe \
               --mca mpi_yield_when_idle 1 -n "$ranks" "$@" ;;
    esac
}

# run RANKS PROGRAM SWITCHES [all]: builds tests/mpi/PROGRAM.c, and runs it on so
# many ranks, or on as many as there may be. With the switches of its last run it
# is not built again. all: not with -DFEW=1.
run() {
    case "$flags $4" in *-DFEW=1*"all") return ;; esac
    # shellcheck disable=SC2086  # flags are lists
    if [ "$built" != "$2 $3" ] && ! $compile $strict $flags $3 -I"$root" -I"$root/tests/support" \
            "$root/tests/mpi/$2.c" -o "$dir/$2" -lm -pthread > "$dir/log" 2>&1
    then
        cat "$dir/log"
        echo "$2 $3: does not build"
        count 0 1
        return
    fi
    built="$2 $3"
    number=$(($1 < most ? $1 : most))
    start "$number" "$dir/$2" > "$dir/log" 2>&1    # sanitizers fail at the end
    ended=$?
    line=$(grep -o ': [0-9]* passed, [0-9]* failed$' "$dir/log" | tail -n 1)
    case "$ended $line" in
        "0 "*" 0 failed") ;;
        *" 0 failed") line= ;;
    esac
    case $line in
        *" 0 failed") ;;
        *) echo "$2 $3 on $number ranks:"
           cat "$dir/log" ;;
    esac
    # shellcheck disable=SC2046  # two numbers
    count $(echo "${line:-: 0 passed, 1 failed}" | tr -dc '0-9 ')
}

# end: says what came of it, and exits.
end() {
    echo "mpi: $passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

case "$flags" in *-DTHREADS=*)
    run 2 grad
    rm -f "$dir/grad"
    end ;;
esac
run 4 grad
run 3 grad "-DADREV_REAL=float -DADREV_MPI_SLICE=5 -DADREV_MPI_PIECE=7 -DADREV_DEBUG=1"
run 2 grad "-DTHREADS=3" all
run 4 statements "" all
run 3 statements "-DADREV_REAL=float -DADREV_MPI_PIECE=4 -DADX_MPI_GOING=4 -DADX_MPI_ID_TAGS=40 -DADREV_DEBUG=1"
run 4 plate
run 2 plate "-DADREV_REAL=float" all
run 2 hessians
run 3 failures
run 2 failures "-DADREV_DEBUG=1" all
run 2 refused "-DADREV_DEBUG=1 -fsanitize=bounds -fsanitize-undefined-trap-on-error"
for program in grad statements plate hessians failures refused; do
    rm -f "$dir/$program"
done

# The program of the header's title, and the header in C++.
sed -n '1,/SPDX/s/^ \*     //p' "$root/adrev_mpi.h" | grep -v '^mpicc\|^success' \
    > "$dir/title.c"
$compile -std=c11 -O0 -I"$root" "$dir/title.c" -o "$dir/title" -lm \
    && start 2 "$dir/title" > "$dir/log" 2>&1
if [ "$(cat "$dir/log")" = "$(sed -n 's/^ \*     \(success.*\)/\1/p' \
                               "$root/adrev_mpi.h")" ]; then
    count 1 0
else
    cat "$dir/log"
    count 0 1
fi
echo '#include "adrev_mpi.h"' > "$dir/include.cpp"
echo 'int main() { return ad_mpi_rank(0); }' >> "$dir/include.cpp"
cxx=$(echo "$cc" | sed 's/^gcc/g++/; s/^clang/clang++/')
if ! command -v "$cxx" > /dev/null 2>&1; then
    echo "include.cpp: skipped, $cxx is not installed"
elif OMPI_CXX=$cxx MPICH_CXX=$cxx "$(echo $compile | sed s/mpicc/mpicxx/)" \
        -std=c++11 -Wall -Wextra -Wpedantic -Wshadow -Werror -I"$root" \
        -c "$dir/include.cpp" -o "$dir/include.o"; then
    count 1 0
else
    count 0 1
fi
end
