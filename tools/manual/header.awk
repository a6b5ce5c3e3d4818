# Entries (entries.awk) of one header as a page of HTML, or, with -v what=index,
# as lines of the index. Files: text.awk, comment.awk, this; -v index_file=,
# -v page=adrev_loop.html.
# SPDX-License-Identifier: MIT-0

function slug(s)
{
    s = tolower(s)
    gsub(/[^a-z0-9 -]/, "", s)
    gsub(/ /, "-", s)
    return s
}

# The first sentence of the comment, if it begins with words.
function summary(    s)
{
    s = blocks > 0 && kind[1] == "text" ? block[1] : ""
    if (match(s, /[.] /))
        s = substr(s, 1, RSTART)
    gsub(/\t/, " ", s)
    return s
}

function blocks_out(    i, open, now)
{
    for (i = 1; i <= blocks; i++) {
        now = kind[i] == "row" ? "table" : kind[i] == "field" ? "dl" \
            : kind[i] == "item" ? "ul" : ""
        if (now != open) {
            if (open != "")
                print "</" open ">"
            if (now != "")
                print "<" now ">"
            open = now
        }
        if (kind[i] == "text")
            print "<p>" prose(block[i]) "</p>"
        else if (kind[i] == "item")
            print "<li>" prose(block[i]) "</li>"
        else if (kind[i] == "field")
            print "<dt>" term[i] "</dt><dd>" prose(block[i]) "</dd>"
        else if (kind[i] == "row")
            print "<tr><th><code>" html(term[i]) "</code></th><td><code>" \
                escape(shape[i]) "</code></td><td>" way[i] "</td><td>" \
                prose(block[i]) "</td></tr>"
        else
            code_out(block[i])
    }
    if (open != "")
        print "</" open ">"
}

# Code, line by line.
function code_out(s,    n, l, i)
{
    sub(/\n+$/, "", s)
    n = split(s, l, "\n")
    printf "<pre>"
    within = 0
    for (i = 1; i <= n; i++)
        print c_line(l[i])
    print "</pre>"
}

# What was read since the last record of another kind is complete.
function flush(    n, name, i)
{
    if (pending == "entry") {
        n = split(names, name, " ")
        if (what == "index") {
            for (i = 1; i <= n; i++)
                print name[i] "\t" page "#" name[i] "\t" (i > 1 ? name[1] : "") \
                    "\t" summary()
        } else {
            print "<section class=entry id=\"" name[1] "\">"
            for (i = 2; i <= n; i++)
                print "<span id=\"" name[i] "\"></span>"
            printf "<h3><a href=\"#%s\">%s</a>", name[1], name[1]
            if (n <= 4)
                for (i = 2; i <= n; i++)
                    printf ", <a href=\"#%s\">%s</a>", name[i], name[i]
            print "</h3>"
            if (declaration != "")
                code_out(declaration)
            blocks_out()
            if (("plot " name[1]) in place)
                print "<p class=note>What they compute, their partials, and plots: " \
                    "<a href=\"" place["plot " name[1]] "\">operations</a></p>"
            print "</section>"
        }
    } else if (pending == "prose" && what != "index") {
        blocks_out()
    }
    pending = ""
    clear_blocks()
    declaration = ""
}

BEGIN { FS = "\t"; if (index_file != "") read_index(index_file) }

{ text = substr($0, 3) }

$1 == "P" {
    flush()
    file = text
    title = 1
}
$1 == "T" && title == 1 {
    title = 0
    sub(/^adrev[a-z_.]* - /, "", text)
    sub(/  +[0-9.]+$/, "", text)
    text = toupper(substr(text, 1, 1)) substr(text, 2)
    if (what == "index")
        print file "\t" page "\theader\t" text
    else
        print "<h1>" file "</h1>\n<p class=lead>" html(text) "</p>"
    pending = "prose"
    next
}
$1 == "S" {
    flush()
    heading = slug(text)
    while (heading in headings)
        heading = heading "-1"
    headings[heading] = 1
    if (what == "index")
        print text "\t" page "#" heading "\tsection\t" file
    else
        print "<h2 id=\"" heading "\">" escape(text) "</h2>"
}
$1 == "T" { if (pending != "prose") flush(); pending = "prose"; take(text) }
$1 == "E" { flush(); names = text; pending = "entry" }
$1 == "C" { take(text) }
$1 == "D" { declaration = declaration text "\n" }
END { flush() }
