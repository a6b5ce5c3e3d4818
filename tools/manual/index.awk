# The index as a script, for the search: what is found, where, and what is said.
# SPDX-License-Identifier: MIT-0

function quoted(s)
{
    gsub(/\\/, "\\\\", s)
    gsub(/"/, "\\\"", s)
    return "\"" s "\""
}
BEGIN { FS = "\t"; print "var entries = [" }
$3 == "file" { next }
{ print "[" quoted($1) "," quoted($2) "," quoted($4) "]," }
END { print "];" }
