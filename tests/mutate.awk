# Makes a header whose partials and sums can be wrong, one at a time: a cell of
# the operator table is multiplied by MUTANT_CELL(k), and what `+=` adds by
# MUTANT_SUM(what is added to, k). Both are 1.0001 where the environment has
# MUTANT=k, and otherwise 1.
#     awk -v first=K -v rooms=WORDS -v list=FILE -f tests/mutate.awk HEADER
#
# K is the number of its first mutant; WORDS are the folders of the rooms where
# sums are looked for. FILE gets `K KIND PLACE: TEXT` of each, KIND is `row` or
# `sum`.
# SPDX-License-Identifier: MIT-0

{ line[NR] = $0 }

function note(kind, where, text) {
    gsub(/^ +| +\\?$/, "", text)
    print first + mutants, kind, where ": " text > list
    return first + mutants++
}

# A row is cut at its top-level commas; fields 4, 5 and 6 are the partials.
function cut(text,    i, c, depth, n) {
    n = 1
    field[1] = ""
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        depth += (c == "(") - (c == ")")
        if (c == "," && depth == 1)
            field[++n] = ""
        else
            field[n] = field[n] c
    }
    return n
}

function scale_row(r,    n, k, name, text) {
    n = cut(line[r])
    name = field[1]
    sub(/ *ROW\( */, "", name)
    for (k = 4; k <= 6; k++)
        if (field[k] !~ /^ *0 *$/)
            field[k] = " (" field[k] ") * MUTANT_CELL(" \
                note("row", name ", partial " k - 3, field[k]) ")"
    text = field[1]
    for (k = 2; k <= n; k++)
        text = text "," field[k]
    line[r] = text
}

# What stands on the left of a sum: the text before it, back to a space or to
# what opens a bracket that is not closed there.
function left_of(text,    i, c, depth) {
    for (i = length(text); i > 0; i--) {
        c = substr(text, i, 1)
        depth += (c ~ /[])]/) - (c ~ /[[(]/)
        if (depth < 0 || (depth == 0 && c ~ /[ ,;{]/))
            break
    }
    return substr(text, i + 1)
}

# What is added ends at a `;`, a `,` or a bracket that was opened before it.
# Pointers and whole numbers are left as they are. What is times 0 only says
# whether all numbers are finite.
function scale_sum(r, at,    s, i, c, depth, left) {
    left = left_of(substr(line[r], 1, at - 1))
    i = at + 3
    for (s = r; s <= NR; s++) {
        for (; i <= length(line[s]); i++) {
            c = substr(line[s], i, 1)
            if (substr(line[s], i, 2) == "//")
                break
            depth += (c ~ /[[({]/) - (c ~ /[])}]/)
            if (depth < 0 || (depth == 0 && c ~ /[;,]/))
                break
        }
        if (i <= length(line[s]) && c ~ /[])};,]/)
            break
        i = 1
    }
    line[s] = substr(line[s], 1, i - 1) ")" substr(line[s], i)
    line[r] = substr(line[r], 1, at + 2) " MUTANT_SUM(" left ", " \
        note("sum", FILENAME ":" r, line[r]) ") * (" substr(line[r], at + 3)
}

END {
    for (r = 1; r <= NR; r++) {
        if (line[r] ~ /define ADREV_OPS\(/)
            table = 1
        else if (line[r] ~ /Piecewise constant/)
            table = 0
        else if (line[r] ~ /^\/\* === [a-z]+\//) {
            split(line[r], word, /[ \/]+/)
            wanted = index(" " rooms " ", " " word[4] " ")
        }
        if (table && line[r] ~ /^    ROW\(/)
            scale_row(r)
        if (wanted && line[r] ~ /^[^"]* \+=( |$)/ \
            && line[r] !~ /for \(|^ *(\/\/|\*)|fault.* \+=|\* 0;/)
            scale_sum(r, index(line[r], " +="))
    }
    for (r = 1; r <= NR; r++) {
        # Cells are also read, as text: core/cells.
        if (line[r] ~ /if \(adx_is_digit\(\*f->at\)\) {$/)
            print "    if (strncmp(f->at, \"MUTANT_CELL(\", 12) == 0) {\n" \
                "        int k = (int)adx_read_decimal(f->at + 12, &f->at);\n" \
                "        f->at++;\n        return adx_new_term(" \
                "f, ADX_TERM_NUMBER, 0, 0, 0, MUTANT_CELL(k));\n    }"
        print line[r]
    }
}
