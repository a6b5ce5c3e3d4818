# The public part of headers as a stream of records, a letter and a text:
#
#     awk -f tools/manual/entries.awk docs/names.txt HEADER ... > entries
#
#     P file      a header begins        S title     a section begins
#     T line      prose of either        E name ...  an entry, with its names
#     C line      its comment            D line      its declaration
#
# An entry is what stands between two empty lines: a comment, and what it is
# about. Public names are those of docs/names.txt, the switches, and what
# adapters define. What follows ADREV_IMPLEMENTATION says nothing new.
# SPDX-License-Identifier: MIT-0

function record(letter, text) { print letter "\t" text }

# Code without comments and strings, for counting.
function bare(s)
{
    sub(/\/\/.*/, "", s)
    gsub(/\/\*[^*]*\*\//, "", s)
    gsub(/"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/, "", s)
    return s
}

function count(s, c) { return gsub(c, "", s) }

function is_public(name)
{
    return (name in public || adapter && name ~ /^(ad|ADREV)_/) \
        && !(name in seen) && name !~ /_H$/
}

function add_name(name)
{
    if (!is_public(name))
        return
    seen[name] = 1
    names = names (names == "" ? "" : " ") name
}

# All names in a text that begin with ad_ or ADREV_.
function add_all(s, prefix)
{
    while (match(s, prefix "[A-Za-z0-9_]+")) {
        add_name(substr(s, RSTART, RLENGTH))
        s = substr(s, RSTART + RLENGTH)
    }
}

# The names that a statement declares.
function declares(s)
{
    gsub(/[ \t]+/, " ", s)
    if (s ~ /^ ?typedef/ && match(s, /} ?[a-zA-Z0-9_#]+ ?;/)) {
        if (s ~ /^ ?typedef enum/)
            add_all(substr(s, 1, RSTART) (s ~ /ad_opcode/ ? opcodes : ""), "ADREV_")
        add_all(substr(s, match(s, /} ?[a-zA-Z0-9_#]+ ?;/)), "ad_")
    } else if (s ~ /^ ?enum/) {
        add_all(s, "ADREV_")
    } else if (match(s, /[ *(]ad_[a-z0-9_]+\)? ?\(/)) {
        add_all(substr(s, RSTART, RLENGTH), "ad_")
    } else if (match(s, /ad_[a-z0-9_]+ ?;/)) {
        add_all(substr(s, RSTART), "ad_")
    }
}

# How a line of a declaration is shown: without what only compilers read.
function shown(s,    n, tag)
{
    if (s ~ /^[A-Za-z#]/)
        shift = 0
    if (match(s, /^(ADX_API|ADX_TRY|ADX_INLINE|ADX_COLD|ADX_EXTERN|static inline) (ADX_UNUSED )?/)) {
        shift = RLENGTH
        s = substr(s, RLENGTH + 1)
    } else if (shift > 0 && substr(s, 1, shift) ~ /^ *$/) {
        s = substr(s, shift + 1)
    }
    sub(/static inline ADX_UNUSED |ADX_UNUSED /, "", s)
    return s
}

# The head of a macro, or all of it if it is short and public.
function macro(s)
{
    sub(/ *\\$/, "", s)
    if (s ~ /^ *#define [A-Za-z0-9_]+\(/) {
        match(s, /\([^()]*\)/)
        s = substr(s, 1, RSTART + RLENGTH - 1)
    } else if (s ~ /ADX_/) {
        sub(/[ ]+[^ ]*ADX_.*/, "", s)
    }
    if (s ~ /\)$/)
        sub(/^ *#define /, "", s)
    return s
}

# A row of a table of statuses gives a name; one of operations, a name of
# ad_opcode, which is declared later.
function rows_of(table, s,    prefix, name, rest)
{
    prefix = table
    sub(/STATUS_TABLE|TABLE/, "", prefix)
    while (match(s, /ROW\( *[A-Za-z0-9_]+/)) {
        name = substr(s, RSTART, RLENGTH)
        rest = substr(s, RSTART + RLENGTH)
        sub(/.*[ (]/, "", name)
        if (table ~ /_TABLE$/) {
            add_name(prefix name)
            sub(/ *\) *\\?$/, "", rest)
            line[++lines] = prefix name rest
            return
        }
        opcodes = opcodes " ADREV_OP_" name
        s = rest
    }
}

# A paragraph has ended.
function finish(    i)
{
    if (names != "") {
        if (room != "")
            record("S", room)
        room = ""
        for (i = 1; i <= proses; i++)
            print prose[i]
        proses = 0
        record("E", names)
        for (i = 1; i <= comments; i++)
            record("C", comment[i])
        if (usual != "") {
            record("C", "")
            record("C", usual)
        }
        for (i = 1; i <= lines; i++)
            if (line[i] ~ /\{$/ && line[i + 1] ~ /^}/)     # all is private
                line[i + 1] = line[i] " ... " line[i + 1]
            else
                record("D", line[i])
    }
    comments = lines = depth = parens = 0
    names = statement = usual = ""
    body = more = 0
}

function take_prose(s)
{
    sub(/^ \* ?/, "", s)
    if (s ~ /^  (needs|offers) /)
        mute = 1
    if (!mute)
        prose[++proses] = "T\t" s
}

FILENAME ~ /names.txt$/ { public[$1] = 1; next }

FNR == 1 {
    finish()
    file = FILENAME
    sub(/.*\//, "", file)
    adapter = FILENAME ~ /adapters\//
    record("P", file)
    proses = over = skip = 0
    room = ""
    titled = 0
}

over { next }
/^#if.*ADREV_IMPLEMENTATION/ { finish(); over = 1; next }

# The title, to its list of rooms or to the license.
titled == 0 && /^\/\* adrev[a-z_.]* - / { titled = 1; mute = 0; sub(/^\/\* /, "") }
titled == 1 {
    if (/ \* Rooms, each|SPDX|\*\/$/) {
        titled = 2
        inside = !/\*\/$/
        mute = 1
    } else {
        s = $0
        sub(/^ \* ?/, "", s)
        record("T", s)
    }
    next
}

# Rooms and sections.
/^\/\* === / {
    finish()
    room = $3
    skip = room ~ /^cpp\//
    room = room ~ /\/config/ ? "Switches" : room ~ /\/types/ ? "Types" \
         : room ~ /\/fronts/ ? "Numbers and operators" \
         : room ~ /\/operations/ ? "The table of operations" \
         : room ~ /\/recording/ ? "Recording" : "Interface"
    proses = 0
    inside = 1
    mute = 0
    next
}
/^\/\* --- / {
    finish()
    title = $0
    sub(/^\/\* --- /, "", title)
    sub(/ -*( \*\/)?$/, "", title)
    # Prose of a room stays although no entry comes before its first section.
    if (proses > 0 && room == "Interface") {
        record("S", room)
        for (i = 1; i <= proses; i++)
            print prose[i]
    }
    room = toupper(substr(title, 1, 1)) substr(title, 2)
    proses = 0
    mute = 0
    inside = !/\*\/$/
    next
}
inside {
    if (/\*\/$/)
        inside = 0
    s = $0
    sub(/ *(=*|-*) *\*\/$/, "", s)
    if (!/^ \* =+ \*\/$/ && s !~ /^ ?\*?$|SPDX/ || /^ \*$/)
        take_prose(s)
    next
}
skip { next }

# What only C++ sees.
/^ *#if(def __cplusplus| defined __cplusplus)/ && !foreign { foreign = 1; next }
foreign && /^ *#if/ { foreign++ }
foreign && /^ *#endif/ { foreign--; next }
foreign == 1 && /^ *#el/ { foreign = 0; next }
foreign { next }

/^$/ && depth == 0 && parens == 0 && !more { finish(); next }

# A comment begins a paragraph; a switch is named by its comment.
/^\/\// && depth == 0 && parens == 0 && !more {
    if (lines > 0 || body)
        finish()
    s = $0
    sub(/^\/\/ ?/, "", s)
    if (comments > 0 && switched && s ~ /^ADREV_[A-Z_]+  /)
        finish()
    if (comments == 0 && (switched = match(s, /^ADREV_[A-Z_]+  +/))) {
        split(s, word)
        public[word[1]] = 1
        add_name(word[1])
        s = substr(s, RLENGTH + 1)
        s = toupper(substr(s, 1, 1)) substr(s, 2)
    } else if (switched) {
        sub(/^  /, "", s)
    }
    if (switched && match(s, /  +default .*/)) {
        usual = substr(s, RSTART, RLENGTH)
        sub(/^ +default +/, "  default      ", usual)
        comment[++comments] = substr(s, 1, RSTART - 1)
        s = ""                          # and a paragraph ends
    }
    if (s != "clang-format off")
        comment[++comments] = s
    next
}

{
    code = $0
    if (!/^ *#/ && !more && match(code, /ADX_TAG\([a-z0-9_]+,/)) {   # the name alone
        tag = substr(code, RSTART + 8, RLENGTH - 9)
        sub(/ADX_TAG\(.*/, tag, code)
        add_all($0, "ad_expr_of_")
        code = code " {"
        open_tag = !/\{$/
        line[++lines] = code
        statement = statement " " code
        depth++
        next
    }
    if (open_tag) {
        open_tag = 0
        next
    }
}

# Macros.
/^ *#define / && !more {
    name = $2
    sub(/\(.*/, "", name)
    n = names
    add_name(name)
    if (names != n)
        line[++lines] = depth > 0 ? "" : macro($0)
    more = /\\$/
    table = name ~ /_TABLE$/ || name ~ /^ADREV_(OPS|STEPS|COMPARISONS)$/ ? name \
        : ""
    next
}
more {
    more = /\\$/
    if (table != "")
        rows_of(table, $0)
    if (/ad_expr_##N;/) {
        for (i = 1; i <= 12; i++)
            add_name("ad_expr_" i)
        line[++lines] = "typedef struct ad_expr_1 ad_expr_1;     // ... ad_expr_12"
    }
    next
}
/^ *#/ { next }

# Declarations. The body of a function is not shown.
{
    code = bare($0)
    if (depth == 0 && parens == 0 && code ~ /^\{/ || body) {
        if (!body) {
            declares(statement " ")
            line[lines] = line[lines] ";"
        }
        body = 1
        statement = ""
    }
    up = count(code, "\\{")
    down = count(code, "}")
    if (!body && depth == 0 && parens == 0 && up > 0 && up == down \
        && code !~ /enum|struct/) {          # a body in the same line
        s = code
        sub(/ *\{.*/, ";", s)
        line[++lines] = shown(s)
        declares(s)
        statement = ""
        next
    }
    if (!body) {
        statement = statement " " code
        s = $0
        if (depth == 0 ? s !~ /^(ADX_[A-Z]+\(|typedef struct adx_)/ : s !~ /adx_|ADX_/)
            line[++lines] = shown(s)
    }
    depth += up - down
    parens += count(code, "\\(") - count(code, "\\)")
    if (depth == 0 && parens == 0 && code ~ /; *$/) {
        declares(statement)
        statement = ""
    }
    if (body && depth == 0)
        body = 0
}
END { finish() }
