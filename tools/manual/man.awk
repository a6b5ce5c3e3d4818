# Entries (entries.awk) of one header as man pages of section 3: one for each
# entry, and for its other names a line that leads there. Operations without a
# comment have a page each, from their rows in docs/operations.md. With
# comment.awk; -v out=FOLDER, -v version=, -v date=; first the files
# docs/names.txt and docs/operations.md.
# SPDX-License-Identifier: MIT-0

# Text for roff.
function roff(s)
{
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    gsub(/   +/, "    ", s)
    while (match(s, /`[^`]+`/))
        s = substr(s, 1, RSTART - 1) "\\fB" substr(s, RSTART + 1, RLENGTH - 2) \
            "\\fR" substr(s, RSTART + RLENGTH)
    sub(/^[.']/, "\\\\\\&&", s)
    return s
}

# A line of the page.
function put(s) { print s > page }

function code(s,    n, l, i)
{
    n = split(s, l, "\n")
    while (n > 0 && l[n] == "")
        n--
    put(".PP\n.in +4\n.nf")
    for (i = 1; i <= n; i++)
        put(l[i] == "" ? ".sp" : roff_code(l[i]))
    put(".fi\n.in")
}

function roff_code(s)
{
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    sub(/^[.']/, "\\\\\\&&", s)
    return s
}

# Other names in the comment are pages, too, unless they are this one.
function also(s,    word, at)
{
    while (match(s, /ad_[a-z0-9_]+/)) {
        word = substr(s, RSTART, RLENGTH)
        at = RSTART + RLENGTH
        if (word in public && !(word in told)) {
            told[word] = 1
            others = others (others == "" ? "" : " ,\n") ".BR " word " (3)"
        }
        s = substr(s, at)
    }
}

function title(term)
{
    return term == "returns" ? "RETURN VALUE" : toupper(term)
}

# The row of an operation: value and partials.
function row(name,    cell, n, i)
{
    n = split(operation[name], cell, "` \\|")
    sub(/.*`/, "", cell[2])
    put(".SH DESCRIPTION\nAn operation on numbers: x, y and z are the arguments," \
        " v is the value.\n.TP\nvalue\n" roff(cell[2]))
    for (i = 3; i < n && i < 6; i++) {
        sub(/.*`/, "", cell[i])
        put(".TP\nd/d" substr("xyz", i - 2, 1) "\n" roff(cell[i]))
    }
}

# The line of the declaration that has the name, alone.
function own_line(name,    n, l, i)
{
    n = split(declaration, l, "\n")
    for (i = 1; i <= n; i++)
        if (index(l[i], name "(") == 1)
            return l[i] "\n"
    return declaration
}

function write(    n, name, i, s, list, all)
{
    n = split(names, name, " ")
    if (n > 1 && blocks == 0 && name[1] in operation) {
        all = declaration
        for (i = 1; i <= n; i++) {
            names = name[i]
            declaration = own_line(name[i])
            write()
            declaration = all
        }
        return
    }
    page = out "/" name[1] ".3"
    for (i in told)
        delete told[i]
    others = ""
    list = name[1]
    told[name[1]] = 1
    for (i = 2; i <= n; i++) {
        told[name[i]] = 1
        if (name[i] ~ /^ad_/) {
            list = list ", " name[i]
            print ".so man3/" name[1] ".3" > (out "/" name[i] ".3")
            close(out "/" name[i] ".3")
        }
    }
    s = blocks > 0 && kind[1] == "text" ? block[1] \
      : blocks == 0 && name[1] in operation ? "operation of adrev" : lead
    if (match(s, /[.] /))
        s = substr(s, 1, RSTART - 1)
    sub(/[.:]$/, "", s)
    put(".TH " name[1] " 3 \"" date "\" \"adrev " version "\" \"adrev\"")
    put(".SH NAME\n" list " \\- " roff(s))
    put(".SH SYNOPSIS\n.nf\n#include <" file ">")
    if (declaration != "") {
        put(".sp")
        n = split(declaration, name, "\n")
        for (i = 1; i < n; i++)
            put(name[i] == "" ? ".sp" : roff_code(name[i]))
    }
    put(".fi")
    if (blocks > 0)
        put(".SH DESCRIPTION")
    else if (names in operation)
        row(names)
    for (i = 1; i <= blocks; i++) {
        also(block[i])
        if (kind[i] == "text")
            put((i > 1 ? ".PP\n" : "") roff(block[i]))
        else if (kind[i] == "item")
            put(".IP \\(bu 2\n" roff(block[i]))
        else if (kind[i] == "code")
            code(block[i])
        else if (kind[i] == "row")
            put(".TP\n\\fB" roff(term[i]) "\\fR" \
                (shape[i] != "" ? " " roff(shape[i]) : "") \
                (way[i] != "" ? " (" way[i] ")" : "") "\n" \
                (block[i] == "" ? "\\&" : roff(block[i])))
        else if (term[i] != "see")
            put(".SH " title(term[i]) "\n" roff(block[i]))
    }
    for (i = 1; i <= blocks; i++)
        if (kind[i] == "field" && term[i] == "see")
            seen_files = block[i]
    if (others != "" || seen_files != "") {
        put(".SH SEE ALSO")
        if (others != "") {
            gsub(/\(3\) ,/, "(3),", others)
            put(others)
        }
        if (seen_files != "")
            put((others != "" ? ".PP\n" : "") roff(seen_files))
    }
    seen_files = ""
    close(page)
}

function flush()
{
    if (pending)
        write()
    pending = 0
    clear_blocks()
    declaration = ""
}

FILENAME ~ /names.txt$/ { public[$1] = 1; next }
FILENAME ~ /operations.md$/ {
    if (split($0, cell, "`") > 3 && !(cell[2] in operation))
        operation[cell[2]] = $0
    next
}
{ text = substr($0, 3); what = substr($0, 1, 1) }
what == "P" { flush(); file = text; first = 1 }
what == "T" && first {
    first = 0
    lead = text
    sub(/^adrev[a-z_.]* - /, "", lead)
    sub(/  +[0-9.]+$/, "", lead)
}
what == "S" { flush() }
what == "E" { flush(); names = text; pending = 1 }
what == "C" { take(text) }
what == "D" { declaration = declaration text "\n" }
END { flush() }
