# The source of an example as HTML. With text.awk; -v index_file=.
# SPDX-License-Identifier: MIT-0

BEGIN { read_index(index_file) }
FNR == 1 {
    print "<p><a href=\"#output\">What it prints</a></p>"
    printf "<h2 id=source>%s</h2>\n<pre>", escape(FILENAME)
}
{ print c_line($0) }
END { print "</pre>" }
