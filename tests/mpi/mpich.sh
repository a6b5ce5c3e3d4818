#!/bin/sh
# tags:
# mpi.sh with MPICH:                            sh tests/mpi/mpich.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

MPI=mpich exec sh "$(dirname "$0")/mpi.sh" "$@"
