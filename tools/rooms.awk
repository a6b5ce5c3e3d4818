# What the rooms of src/ need of each other, and what they offer:
#     awk -f tools/rooms.awk src/core/config.h src/core/types.h ...
# in the order in which they are joined. Prints, for each room, the lines that
# its opening should have; and `UP ROOM:LINE NAME of ROOM` for each name that
# is used in a room before the one that defines it.
# A function of a later room may not be declared to be called before it.
#
# Names are those with our prefixes. One that is pasted together in a macro,
# adx_f_##name, is known by its beginning. The rooms of core/ that every other
# stands on are not listed. Members of structs do not count.
# SPDX-License-Identifier: MIT-0

function code_of(s,   open, line, head, end) {
    gsub(/\\"/, "", s)
    gsub(/"[^"]*"/, "\"\"", s)
    for (;;) {
        if (comment) {
            end = index(s, "*/")
            if (!end)
                return ""
            s = substr(s, end + 2)
            comment = 0
        }
        open = index(s, "/*")
        line = index(s, "//")
        if (line && (!open || line < open))
            return substr(s, 1, line - 1)
        if (!open)
            return s
        head = substr(s, 1, open - 1)
        s = substr(s, open + 2)
        end = index(s, "*/")
        if (!end) {
            comment = 1
            return head
        }
        s = head " " substr(s, end + 2)
    }
}

function ours(name) { return name ~ /^(ad_|adx_|ADX_|ADREV_)/ }

function define(name) {
    if (!ours(name) || (room, name) in own)
        return
    own[room, name] = 1
    defined[++names] = room SUBSEP name
}

# What a macro makes: it is known by what stands before the ##.
function define_pasted(s,   name, before) {
    while (match(s, /[A-Za-z_][A-Za-z_0-9]*_##/)) {
        name = substr(s, RSTART, RLENGTH - 2)
        before = substr(s, 1, RSTART - 1)
        if (ours(name) && name !~ /^(adx|ADX|ad|ADREV)_$/ \
            && (name ~ /^AD/ || before ~ /ADX_INLINE|static|ADX_API|typedef|struct|ADX_APART/)) {
            own[room, name] = 1
            if (!(name in family))
                family[name] = room
            define(name "*")
        }
        s = substr(s, RSTART + RLENGTH)
    }
}

# At file scope: a type, a function, a variable.
function define_here(s,   word) {
    gsub(/ADX_(STATIC_ASSERT|PRINTF|OVERLOAD|TRY)\(/, "(", s)
    gsub(/__attribute__ *\(/, "(", s)
    if (s ~ /^typedef (struct|union) [a-z_0-9]+ [a-z_0-9]+;/) {
        split(s, word, /[ ;]+/)
        define(word[4])
    } else if (s ~ /^(typedef )?(struct|union|enum) [a-z_0-9]+ *\{/) {
        split(s, word, " ")
        define(word[1] == "typedef" ? word[3] : word[2])
    } else if (match(s, /^\} *[a-z_0-9]+/)) {
        s = substr(s, RSTART, RLENGTH)
        sub(/^\} */, "", s)
        define(s)
    } else if (match(s, /\(ad_[a-z_0-9]+\)\(/)) {
        define(substr(s, RSTART + 1, RLENGTH - 3))
    } else if (s ~ /^static .*(ad|adx)_[a-z_0-9]+\(/ && s !~ /=/) {
        match(s, /(ad|adx)_[a-z_0-9]+\(/)
        pending = substr(s, RSTART, RLENGTH - 1)    # or only declared
    } else if (match(s, /(ad|adx)_[a-z_0-9]+\(/)) {
        define(substr(s, RSTART, RLENGTH - 1))
    } else if (s ~ /^(static|extern|typedef|const|ADX_API|ADX_INLINE|ADX_EXTERN)/ \
               && match(s, /(ad|adx|ADX)_[A-Za-z_0-9]+( ADX_UNUSED)? *(\[|=|;)/)) {
        sub(/ *(\[|=|;).*/, "", s)
        sub(/ ADX_UNUSED$/, "", s)
        sub(/^.*[ *]/, "", s)
        define(s)
    }
}

function define_constants(s,   name, next_one) {
    while (match(s, /(ADX|ADREV)_[A-Z_0-9a-z]+/)) {
        name = substr(s, RSTART, RLENGTH)
        next_one = substr(s, RSTART + RLENGTH)
        if (next_one !~ /^ *\(/)
            define(name)
        s = next_one
    }
}

function use_all(s, asked,   name) {
    gsub(/(->|\.)(ad|adx)_[a-z_0-9]+/, "", s)
    gsub(/(struct|union) adx_[a-z_0-9]+ \*/, "", s)     # opaque
    while (match(s, /[A-Za-z_][A-Za-z_0-9]*/)) {
        name = substr(s, RSTART, RLENGTH)
        if (ours(name) && !((room, name) in used)) {
            used[room, name] = FNR
            only_asked[room, name] = asked
            uses[++use_count] = room SUBSEP name
        } else if (!asked)
            only_asked[room, name] = 0
        s = substr(s, RSTART + RLENGTH)
    }
}

FNR == 1 {
    room = ++rooms
    path[room] = FILENAME
    sub(/^.*src\//, "", path[room])
    sub(/\.h$/, "", path[room])
    comment = macro = constants = members = 0
    pending = ""
}
{
    s = code_of($0)
    in_macro = macro || s ~ /^#define/
    asked = s ~ /^# *(if|elif)/
    if (s ~ /^#(define|undef)/ && !macro) {
        split(s, word, /[ (]+/)
        if (s ~ /^#define/)
            define(word[2])
        else
            local[room, word[2]] = 1
        sub(/^#(define|undef) +[A-Za-z_0-9]+/, "", s)
    }
    if (in_macro)
        define_pasted(s)
    else if (s ~ /^[A-Za-z_}]/)
        define_here(s)
    if (pending != "" && s ~ /[{;]/) {
        if (s ~ /\{/)
            define(pending)
        else {
            declared[room, pending] = 1
            if (!(pending in first_declared))
                first_declared[pending] = room
        }
        pending = ""
    }
    if (!in_macro) {
        if (s ~ /^(typedef )?(struct|union)[^;]*\{/ && s !~ /\}/)
            members = 1
        if (members && match(s, /(ad|adx)_[a-z_0-9]+(\[[^]]*\])?( : [0-9]+)?;/)) {
            name = substr(s, RSTART, RLENGTH)
            sub(/[^a-z_0-9].*/, "", name)
            own[room, name] = 1
        }
        if (s ~ /^\}/)
            members = 0
        if (s ~ /enum( [a-z_0-9]+)? *\{/)
            constants = 1
        if (constants)
            define_constants(s)
        if (s ~ /\}/)
            constants = 0
    }
    use_all(s, asked)
    macro = in_macro && $0 ~ /\\$/
}

function print_list(title, list,   i, n, word, line) {
    n = split(list, word, " ")
    line = sprintf(" *   %-7s", title)
    for (i = 1; i <= n; i++) {
        if (length(line) + 1 + length(word[i]) > 79) {
            print line
            line = sprintf(" *   %-7s", "")
        }
        line = line " " word[i]
    }
    if (n > 0)
        print line
}

END {
    for (i = 1; i <= names; i++) {
        split(defined[i], p, SUBSEP)
        if (!((p[1], p[2]) in local) && !(p[2] in where))
            where[p[2]] = p[1]
    }
    for (i = 1; i <= use_count; i++) {
        split(uses[i], p, SUBSEP)
        r = p[1]
        name = p[2]
        if ((r, name) in own)
            continue
        from = name in where ? where[name] : 0
        if (!from && !only_asked[r, name]) {
            best = ""
            for (f in family)
                if (index(name, f) == 1 && length(f) > length(best))
                    best = f
            if (best == "" || (r, best) in own)
                continue
            from = family[best]
            name = best "*"
        }
        if (!from || from == r)
            continue
        if ((r, name) in declared && from > r) {
            print "UP " path[r] ": declares " name " of " path[from]
            continue
        }
        if (from > r && name in first_declared && first_declared[name] < r)
            from = first_declared[name]
        needs[r, from] = 1
        if (from > r)
            print "UP " path[r] ":" used[uses[i]] " " name " of " path[from]
        offered[from, name] = 1
    }
    for (i = 1; i <= names; i++) {
        split(defined[i], p, SUBSEP)
        if (p[2] ~ /^(adx|ADX)_/ && (p[1], p[2]) in offered)
            offers[p[1]] = offers[p[1]] " " p[2]
    }
    for (r = 1; r <= rooms; r++) {
        print path[r]
        list = ""
        for (from = 1; from <= rooms; from++)
            if ((r, from) in needs && (path[r] ~ /^core/ || path[from] !~ /^core\/(config|types|operations|api)/))
                list = list " " path[from]
        print_list("needs", list)
        print_list("offers", offers[r])
    }
}
