#!/bin/sh
# The tables of BENCHMARKS.md:     sh bench/all.sh FLAGS
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/.." || exit 2
sh bench/run.sh gcc g++ "$1" || exit 1
sh bench/run.sh clang clang++ "$1" || exit 1
for b in assemble exported recording sparse tensor parallel adapters adjoints \
         petsc tao; do
    for cc in gcc clang; do
        sh bench/alone.sh $b $cc "$1" || exit 1
    done
done
