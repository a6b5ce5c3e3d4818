# Makes of the cases that it reads: cases.h, their list and their points;
# plain.c and quad.c, the originals; twins.c, what adrev-port made of them.
# Folder: -v out=FOLDER.
# SPDX-License-Identifier: MIT-0

FNR == 1 {
    finish()
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.c$/, "", name)
    head = 1
    inputs = outputs = points = 0
    tolerance = "1e-11"
    call = at = macros = jacobian = plain_only = ""
}
head && /^\/\/ in: /        { inputs = $3 }
head && /^\/\/ out: /       { outputs = $3 }
head && /^\/\/ tolerance: / { tolerance = $3 }
head && /^\/\/ bytes: /     { plain_only = 1 }
head && /^\/\/ at: /        { at = at numbers(inputs); points++ }
head && /^\/\/ gradient: /  { jacobian = numbers(inputs * outputs) }
head && /^\/\/ call: /      { call = call "    " substr($0, 10) "\n" }
!/^\/\// { head = 0 }
/^# *define / {
    macro = $0
    sub(/^# *define +/, "", macro)
    sub(/[^A-Za-z0-9_].*/, "", macro)
    macros = macros "#undef " macro "\n"
}
END { finish(); close_all() }

function numbers(count,    i, text) {
    if (NF != count + 2) {
        print FILENAME ": " NF - 2 " numbers, not " count > "/dev/stderr"
        exit 1
    }
    for (i = 3; i <= NF; i++)
        text = text " " $i ","
    return text
}

function say(file, text) { printf "%s", text > (out "/" file) }

# A function that computes y[] from x[], with what stands for @.
function wrapper(suffix,    text) {
    text = call
    gsub(/@/, suffix, text)
    return "static void port_" name "(const real *x, real *y)\n{\n" text "}\n"
}

function begin() {
    begun = 1
    say("plain.c", "#include \"plain.h\"\n")
    say("quad.c", "#include \"quad.h\"\n")
    say("twins.c", "#include \"twins.h\"\n")
    say("cases.h", "#define PORT_CASES(ROW) \\\n")
}

function finish(    source) {
    if (!begun)
        begin()
    if (name == "")
        return
    source = "#include \"" name ".c\"\n"
    say("plain.c", source wrapper("") macros)
    if (!plain_only)
        say("quad.c", source wrapper("") macros)
    quads = quads "    " (plain_only ? "NULL" : "port_" name) ",\n"
    say("twins.c", "#include \"" name ".h\"\n# 1 \"" name ".call\"\n" \
        wrapper("_ad") macros)
    say("cases.h", "    ROW(" name ", " inputs ", " outputs ", " points ", " \
        tolerance ", " (jacobian == "" ? "NULL" : name "_jacobian") ") \\\n")
    rows = rows "    port_" name ",\n"
    data = data "static const double " name "_at[] = {" at " };\n"
    if (jacobian != "")
        data = data "static const double " name "_jacobian[] = {" jacobian \
            " };\n"
}

function close_all() {
    say("cases.h", "\n" data)
    say("plain.c", "void (*const port_plain[])(const real *, real *) = {\n" \
        rows "};\n")
    say("quad.c", "static void (*const port_runs[])(const real *, real *) " \
        "= {\n" quads "};\n#include \"oracle_quad.h\"\n")
    say("twins.c", "# 1 \"table\"\nvoid (*const TABLE[])(const real *, real *) = {\n" \
        rows "};\n")
}
