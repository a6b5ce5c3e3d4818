# A comment, line by line, as blocks: take(line) for each, then finish_blocks().
#
#     kind[i]    of block i: "text", "item", "code", "row" or "field"
#     block[i]   what it says; a block of code has its lines
#     term[i]    of a row: names; of a field: returns, cost, memory, see ...
#     shape[i]   of a row: [n], or nothing
#     way[i]     of a row: in, out, or nothing
#
# A row or a field begins at an indent of two, code at one of four.
# SPDX-License-Identifier: MIT-0

function new_block(what)
{
    kind[++blocks] = what
    block[blocks] = term[blocks] = shape[blocks] = way[blocks] = ""
    gap = 0
}

function clear_blocks() { blocks = 0; gap = 1 }

# A status begins a new part of what `returns` lists.
function join(s)
{
    if (kind[blocks] == "field" && s ~ /^ADREV_[A-Z]+([,;] ADREV_[A-Z]+)*:/ \
        && block[blocks] ~ /[A-Za-z0-9)]$/)
        block[blocks] = block[blocks] ";"
    block[blocks] = block[blocks] (block[blocks] == "" ? "" : " ") s
}

# A row or a field: names, perhaps a shape, perhaps a direction, a text.
function begin_row(s,    head)
{
    new_block("row")
    sub(/^ +/, "", s)
    if (match(s, /^(returns|cost|memory|threads|default|see|check|derivatives|pointers)(, (cost|memory|threads))*(:| as|  +)/)) {
        kind[blocks] = "field"
        head = substr(s, 1, RLENGTH)
        s = substr(s, RLENGTH + 1)
        if (sub(/ as $/, "", head))
            s = "as " s
        sub(/[: ]+$/, "", head)
        term[blocks] = head
        join(s)
        return
    }
    match(s, /(  +|$)/)
    head = substr(s, 1, RSTART - 1)
    s = substr(s, RSTART + RLENGTH)
    if (s == "" && match(head, /\] +[^ ]/)) {   # J [m*n] out
        s = substr(head, RSTART + 1)
        head = substr(head, 1, RSTART)
    }
    if (match(head, / *\[[^]]*\]$/)) {
        shape[blocks] = substr(head, RSTART, RLENGTH)
        head = substr(head, 1, RSTART - 1)
    } else if (match(s, /^\[[^]]*\]/)) {
        shape[blocks] = substr(s, 1, RLENGTH)
        s = substr(s, RLENGTH + 1)
    }
    sub(/^ +/, "", shape[blocks])
    sub(/^ +/, "", s)
    if (match(s, /^(in\/out|in|out)( +|$)/)) {
        way[blocks] = substr(s, 1, RLENGTH)
        sub(/ +$/, "", way[blocks])
        s = substr(s, RLENGTH + 1)
    }
    term[blocks] = head
    join(s)
}

function take(s,    indent)
{
    if (s ~ /^ *$/) {
        if (kind[blocks] == "code" && !gap)
            block[blocks] = block[blocks] "\n"
        gap = 1
        return
    }
    match(s, /^ */)
    indent = RLENGTH
    if (indent >= 4 && (gap || kind[blocks] == "code") \
        && (blocks == 0 || kind[blocks] != "row" || gap)) {
        if (blocks == 0 || kind[blocks] != "code")
            new_block("code")
        else
            block[blocks] = block[blocks] "\n"
        block[blocks] = block[blocks] substr(s, 5)
        gap = 0
    } else if (indent >= 2 && indent < 4 && s ~ /^ +- /) {
        new_block("item")
        sub(/^ +- /, "", s)
        join(s)
    } else if (indent < 4 && s ~ (indent > 0 ? "^ +[^ ].*[^ .]  +[^ ]|^  [a-z]+, [a-z, ]*:|\\][^a-z]+(in|out)$" \
                                             : "^[a-z_*]+    +[^ ]")) {
        begin_row(s)
    } else if (indent >= 2 && blocks > 0 && !gap && kind[blocks] != "text") {
        sub(/^ +/, "", s)
        if (kind[blocks] == "row" && match(s, /^(out|in) +/) && RLENGTH > 4) {
            if (way[blocks] !~ /,/)
                block[blocks] = way[blocks] ": " block[blocks]
            way[blocks] = way[blocks] ", out"
            s = substr(s, RLENGTH + 1)
            block[blocks] = block[blocks] "; out:"
        }
        join(s)
    } else {
        if (blocks == 0 || gap || kind[blocks] != "text")
            new_block("text")
        sub(/^ +/, "", s)
        join(s)
    }
    gap = 0
}
