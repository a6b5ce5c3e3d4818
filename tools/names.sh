#!/bin/sh
# The public names of the headers, for docs/names.txt:   sh tools/names.sh
# What begins with ad_ or ADREV_ in a file that includes them: macros by their
# definitions, the rest by the text that compilers see.
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/.." || exit 2
source='#include "adrev_all.h"'
{
    echo "$source" | ${CC:-cc} -std=c11 -I. -E -dM -x c - \
        | sed -n 's/^#define \(ad_[A-Za-z0-9_]*\|ADREV_[A-Za-z0-9_]*\).*/\1/p'
    echo "$source" | ${CC:-cc} -std=c11 -I. -E -P -x c - \
        | sed 's/"[^"]*"//g' | grep -oE '\b(ad|ADREV)_[A-Za-z0-9_]+'
} | grep -vE '_H$|_use_' | LC_ALL=C sort -u
