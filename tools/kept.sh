#!/bin/sh
# What a program keeps of adrev and of the C library, and why, by the map of the
# GNU linker (-Wl,-Map=FILE, with -ffunction-sections -fdata-sections and
# -Wl,--gc-sections, or each file is kept whole):
#     sh tools/kept.sh MAP [HEADER]
# A line for each function and constant: its bytes, its name, the room of the
# header that it is of or the library's file, and the function through which the
# program needs it: the nearest one that is kept. A dash: the program calls it;
# "statements": what its statements were compiled to, or a rule for sweeps, does.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/.." && pwd)
[ -r "$1" ] || { echo "usage: kept.sh MAP [HEADER]" >&2; exit 2; }

awk -v header="${2:-$root/adrev.h}" '
function bytes_of(hex,   n, i) {
    hex = tolower(substr(hex, 3))
    for (n = 0; hex != ""; hex = substr(hex, 2))
        n = n * 16 + index("0123456789abcdef", substr(hex, 1, 1)) - 1
    return n
}
function kept(section, size, file,   name) {
    name = section
    sub(/^\.(text|rodata|data|sdata|srodata)\.?/, "", name)
    sub(/^(unlikely|startup|str[0-9.]*)\.?/, "", name)
    sub(/\.(constprop|isra|part|cold)\..*$|\.[0-9]+$/, "", name)
    sub(/^.*\//, "", file)
    if (name == "" || file ~ /\(/)
        name = file
    bytes[name] += size
    from[name] = file
}
# Who calls whom in the header, and which room each is of.
function read_header(   line, word, n, i, current, room) {
    while ((getline line < header) > 0) {
        if (line ~ /^\/\* === /)
            room = substr(line, 8, index(substr(line, 8), " =") - 1)
        if (line ~ /^[a-zA-Z].*\(/ && line !~ /^typedef|;$/) {
            current = line
            if (match(current, /\(ad_[a-z0-9_]*\)\(/))      # (ad_sum)(...
                current = substr(current, RSTART + 1, RLENGTH - 3)
            sub(/ *\(.*$/, "", current)
            sub(/^.*[ *]/, "", current)
            rooms[current] = room
        }
        n = split(line, word, /[^a-zA-Z0-9_]+/)
        for (i = 1; i <= n; i++)
            if (word[i] ~ /^adx?_/ && word[i] != current)
                calls[current] = calls[current] " " word[i]
        if (line ~ /^}/)
            current = ""
    }
}
# From the functions that the program calls: why[f] is the nearest kept one.
function reach(   queue, head, tail, f, n, i, word) {
    for (f in bytes)
        if (f ~ /^ad_/) {
            why[f] = "-"
            queue[tail++] = f
        }
    while (head < tail) {
        f = queue[head++]
        n = split(calls[f], word, " ")
        for (i = 1; i <= n; i++)
            if (!(word[i] in why)) {
                why[word[i]] = f in bytes ? f : why[f]
                queue[tail++] = word[i]
            }
    }
}
/^Archive member included/ { members = 1; next }
/^Discarded input sections|^Memory Configuration/ { members = 0 }
members && /^[^ ]/ { member = $1; sub(/^.*\//, "", member) }
members && /\([^)]*\)$/ {
    symbol = $NF
    needed[member] = substr(symbol, 2, length(symbol) - 2)
}
/^Linker script and memory map/ { map = 1 }
!map { next }
/^ \.(text|rodata|data|sdata|srodata)/ {
    section = $1
    if (NF >= 4) kept(section, bytes_of($3), $4)
    next
}
section != "" && NF == 3 && $1 ~ /^0x/ && $2 ~ /^0x/ {
    kept(section, bytes_of($2), $3)
}
{ section = "" }
END {
    read_header()
    reach()
    for (f in bytes) {
        if (bytes[f] == 0)
            continue
        if (f ~ /^adx_loops_/)                      # rows of the table
            rooms[f] = "array/sums"
        of = f in rooms ? rooms[f] : from[f] ~ /\(/ ? "library" : "program"
        because = f in needed ? needed[f] : f in why ? why[f] \
                : f in rooms ? "statements" : "-"
        printf "%7d  %-32s %-18s %s\n", bytes[f], f, of, because
        sum[of] += bytes[f]
        all += bytes[f]
    }
    for (of in sum)
        printf "%7d  %-32s %-18s\n", sum[of], "all", of
    printf "%7d  %-32s\n", all, "all"
}' "$1" | sort -k2,2 -k1,1nr | awk '
$2 == "all" { all[n++] = $0; next }
{ print | "sort -k1,1nr" }
END { close("sort -k1,1nr"); for (i = 0; i < n; i++) print all[i] }'
