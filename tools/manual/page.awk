# HTML of a Markdown page (cmark-gfm) with anchors, links within the manual, and
# names that lead to their entries. With text.awk; -v index_file=, -v from=FOLDER
# of the page. With -v what=index -v page=: its headings as lines of the index.
# SPDX-License-Identifier: MIT-0

# As GitHub makes anchors of headings.
function slug(s)
{
    gsub(/<[^>]*>/, "", s)
    gsub(/&[a-z]+;/, "", s)
    s = tolower(s)
    gsub(/[^a-z0-9_ -]/, "", s)
    gsub(/ /, "-", s)
    while (s in used)
        s = s "-1"
    used[s] = 1
    return s
}

# Where a link leads: pages of the manual, other sites, or nowhere.
function target(href,    anchor, path)
{
    if (href ~ /^(https?:|#)/)
        return href
    anchor = match(href, /#.*/) ? substr(href, RSTART) : ""
    path = from "/" href
    sub(/#.*/, "", path)
    sub(/^\.\//, "", path)
    while (match(path, /[a-z]+\/\.\.\//))
        path = substr(path, 1, RSTART - 1) substr(path, RSTART + RLENGTH)
    return path in place ? place[path] anchor : ""
}

function redirect(s,    out, href, at)
{
    out = ""
    while (match(s, /<a href="[^"]*">/)) {
        at = RSTART + RLENGTH
        href = substr(s, RSTART + 9, RLENGTH - 11)
        out = out substr(s, 1, RSTART - 1)
        href = target(href)
        out = out (href == "" ? "<a>" : "<a href=\"" href "\">")
        s = substr(s, at)
    }
    return out s
}

BEGIN { if (index_file != "") read_index(index_file) }

/^<h[1-4]>/ {
    text = substr($0, 5)
    sub(/<\/h[1-4]>$/, "", text)
    level = substr($0, 2, 2)
    anchor = slug(text)
    if (what == "index") {
        plain = text
        gsub(/<[^>]*>/, "", plain)
        gsub(/&quot;/, "\"", plain)
        gsub(/&lt;/, "<", plain)
        gsub(/&gt;/, ">", plain)
        gsub(/&amp;/, "\\&", plain)
        print plain "\t" page "#" anchor "\t" \
            (level == "h1" ? "page" : "heading") "\t" title
        if (level == "h1")
            title = plain
        next
    }
    print "<" level " id=\"" anchor "\">" redirect(text) "</" level ">"
    next
}
what == "index" { next }

# A comment of C may go over several lines of a block.
/<a / { print redirect($0); next }
/<t[dh]/ || !/<(img|t[dh] )/ {
    gsub(/<table>/, "<div class=wide><table>")
    gsub(/<\/table>/, "</table></div>")
    print links($0)
    next
}
{ print }
