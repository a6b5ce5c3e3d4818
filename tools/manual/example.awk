# The source of an example as HTML. With text.awk; -v index_file=.
# SPDX-License-Identifier: MIT-0

BEGIN { read_index(index_file) }
FNR == 1 {
    title = $0
    sub(/^\/\* */, "", title)
    print "<h1>" escape(title) "</h1>"
    source = FILENAME
    printf "<h2 id=source>%s</h2>\n<pre>", escape(source)
}
{ print c_line($0) }
END { print "</pre>" }
