#!/bin/sh
# tags:
# impossible_sizes.sh - the public functions that take a length, a count or a stride, or a
# structure with one, as the headers declare them, each have a row in impossible_sizes.c.
# (Of adrev_mpi.h, which needs ranks, tests/mpi/failures.c tries impossible ones.)
# Those whose status may be dropped are the ones of which impossible_sizes.c checks that
# the tape has it, and three that print.
# SPDX-License-Identifier: MIT-0

cd "$(dirname "$0")/../.." || exit 2
test=${SIZES:-tests/core/impossible_sizes.c}

# One declaration a line: ADX_API or ADX_TRY ... up to ; or {
declarations=$(ls adrev*.h | grep -v mpi | xargs cat | awk '
    /^ADX_(API|TRY) / { on = 1; text = "" }
    on { sub(/\/\/.*/, ""); text = text " " $0 }
    on && /[;{]/ { print text; on = 0 }' | tr -s ' ')
declarations() { printf "%s\n" "$declarations"; }

# Structures with a size that is for the caller to set.
structures() {
    awk '/^typedef struct ad_[a-z_]* \{/ { name = $3; sized = 0 }
         name != "" && /^ +(size_t|ptrdiff_t|unsigned) / && !/ adx_/ {
             sized = 1 }
         /^\} ad_/ { if (name != "" && sized) print name; name = "" }' adrev*.h
}

# ad_shape is made by macros, from sizeof; the sizes of ad_tensor_options are
# arguments of a function of the caller's, and so is an ad_implicit_matrix.
types=$(structures | grep -vxE 'ad_shape|ad_tensor_options|ad_implicit_matrix' | sort -u | tr '\n' '|')
found=0
passed=0
# what is only written is no length: size_t *bytes, size_t start[]
for name in $(declarations \
    | sed -E 's/([(,]) ?size_t \*[a-z]+/\1/g
              s/([(,]) ?size_t [a-z]+\[\]/\1/g' \
    | grep -E "[(,] ?((const )?(size_t|ptrdiff_t)|unsigned|const (${types}none)|(${types}none) [a-z]+[,)])( |\*|$)?" \
    | sed -nE 's/^ ADX_(API|TRY) [a-z_ ]*[ *]\(?((ad|adx_struct)_[a-z0-9_]+)\)? ?\(.*/\2/p' \
    | sort -u); do
    if grep -q "ROW($name," "$test"; then
        passed=$((passed + 1))
    else
        found=$((found + 1))
        echo "$name takes a size and has no row in $test"
    fi
done

# statuses MACRO: functions that return one, with this before them, in a line
statuses() {
    declarations | sed -nE "s/^ $1 ad_status \(?([a-z0-9_]+)\)?\(.*/\1/p" \
        | sort -u | tr '\n' ' '
}

# `kept` of sizes.c; a definition has ADX_API where its prototype has ADX_TRY
tried=$(statuses ADX_TRY)
kept=$(sed -n '/ kept\[\] = {/,/};/p' "$test")
for name in $(statuses ADX_API); do
    case " $tried" in *" $name "*) continue ;; esac
    case $name in
        ad_check_print | ad_dump_text | ad_dump_dot) continue ;;
        ad_tensor_*) continue ;;    # binding, and so evaluation, fails as well
    esac
    case $kept in
        *"\"$name\""*) passed=$((passed + 1)) ;;
        *) found=$((found + 1))
           echo "the status of $name may be dropped, and is not kept in $test" ;;
    esac
done
[ "$passed" -gt 100 ] || { found=$((found + 1)); echo "only $passed found"; }
echo "sizes.sh: $passed passed, $found failed"
exit $((found > 0))
