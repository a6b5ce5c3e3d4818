# Text as HTML, with links from names to what they name. The file `index` has
# a line for each name: name, page#anchor, kind, summary, with tabs.
# SPDX-License-Identifier: MIT-0

function read_index(file,    a, l)
{
    while ((getline l < file) > 0) {
        split(l, a, "\t")
        place[a[1]] = a[2]
    }
    close(file)
}

function escape(s)
{
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/>/, "\\&gt;", s)
    gsub(/"/, "\\&quot;", s)
    return s
}

# Links in a text that is HTML already. `self` is a name without a link.
function links(s, self,    out, word, at)
{
    out = ""
    while (match(s, /(ad|ADREV)_[A-Za-z0-9_]+|[a-z]+(\/[a-z]+)*\/[A-Za-z0-9_-]+\.(cpp|md|c|h)|adrev[a-z_]*\.h/)) {
        at = RSTART + RLENGTH
        word = substr(s, RSTART, RLENGTH)
        out = out substr(s, 1, RSTART - 1)
        if (word in place && word != self && out !~ /[A-Za-z0-9_\/]$/)
            out = out "<a href=\"" place[word] "\">" word "</a>"
        else
            out = out word
        s = substr(s, at)
    }
    return out s
}

function html(s) { return links(escape(s)) }

# The same of a comment, where `this` is code.
function prose(s,    out, at, word)
{
    out = ""
    while (match(s, /`[^`]+`/)) {
        at = RSTART + RLENGTH
        word = substr(s, RSTART + 1, RLENGTH - 2)
        out = out html(substr(s, 1, RSTART - 1)) "<code>"
        out = out html(word) "</code>"
        s = substr(s, at)
    }
    return out html(s)
}

# A line of C: comments and strings apart, and names with links. `within` stays
# true while a comment of several lines lasts.
function c_line(s,    out, at, length_of, word)
{
    out = ""
    while (s != "") {
        if (within) {
            at = index(s, "*/")
            within = at == 0
            out = out "<i>" html(at ? substr(s, 1, at + 1) : s) "</i>"
            s = at ? substr(s, at + 2) : ""
            continue
        }
        if (!match(s, /\/\/|\/\*|"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/))
            return out html(s)
        at = RSTART                     # html() matches, too
        length_of = RLENGTH
        word = substr(s, at, length_of)
        out = out html(substr(s, 1, at - 1))
        if (word == "//")
            return out "<i>" html(substr(s, at)) "</i>"
        s = substr(s, at + length_of)
        within = word == "/*"
        out = out (within ? "<i>/*</i>" : "<b>" html(word) "</b>")
    }
    return out
}
