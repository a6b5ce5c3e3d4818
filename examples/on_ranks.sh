#!/bin/sh
# Runs a program on several ranks of this machine, by Open MPI or MPICH:
#
#     sh examples/on_ranks.sh RANKS PROGRAM ARGUMENT ...
#
# There may be more ranks than cores.
#
# SPDX-License-Identifier: MIT-0

if mpirun --version 2> /dev/null | grep -q 'Open MPI'; then
    exec mpirun --allow-run-as-root --oversubscribe \
        --mca mpi_yield_when_idle 1 -n "$@"
fi
exec mpirun -n "$@"
