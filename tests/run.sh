#!/bin/sh
# Runs a plan:                          sh tests/run.sh JOBS PLAN
#
# A plan has a line for each group of builds,
#
#     COMPILER | FLAGS | WORD ... [but WORD ...] [, WORD ...]
#
# A word with a dot is a test, by the name of its file: `tape.c`, `docs.sh`.
# Any other word is a tag, and stands for all tests that have it. Each part
# between commas chooses what its words before `but` stand for, without what
# those after it stand for:
#
#     core array but slow             tests/core/*.c and tests/array/*.c,
#                                     without those that are `slow`
#     all but recorded, sparse.c      and sparse.c, which is `recorded`
#
# A test says in its first six lines which tags it has, and which flags and
# units it needs besides; a script has `# tags:`, and none of the others:
#
#     // tags: slow threads
#     // flags: -DADREV_TRACE=1
#     // with: errors_plain.c
#     // needs: quadmath.h xxhash.h -llapack
#     // libs: -lquadmath
#     // packages: petsc mpi
#
# A need `long-double` is one that is wider than double, for oracles.
#
# tests/tags.txt lists the tags. A test in C has two more, `all` and its folder;
# a script has not, since flags mean something else to each of them. `needs` are
# headers and libraries without which a test is skipped by name; so it is without
# the `packages`, whose flags and libraries pkg-config knows.
#
# Builds start in the order of the lines and of the words in a line; of the
# tests that a tag stands for, those that are `slow` start first. Lines that
# take long come first in a plan: then no core waits for them at the end. The
# run ends before it begins if a word of a plan is neither a tag nor a test, if
# a part chooses no test, or if a file in a folder says nothing of tags.
#
# Tests that include implementation.h share a unit, which is compiled once for
# those of a group of builds that have the same flags of their own, unless they
# have -DADREV_STATIC.
#
# Every build is strict, runs, and prints `name: N passed, M failed`. The last
# line is the sum. A build that fails counts as a failure; a compiler that is not
# there is skipped by name. `cpu` in the folder of the plan's builds
# says how many seconds of CPU each took, and how many of them to compile; its
# first line is the sum. A plan's line `# cpu: SECONDS` says what that came to
# when it was last measured, so that a run can say at once how long it takes.
#
# With PART=2/8, the second of eight parts: every eighth build from the second
# on. (`make asan PART=2/8`: the whole takes hours.)
# SPDX-License-Identifier: MIT-0

jobs=$1
plan=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
out=$root/build/$(basename "$plan" .txt)
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion"
strict="$strict -DADREV_STRICT=1"       # warnings about the headers, too
headers=$root/${HEADERS:-.}             # HEADERS=src: the rooms they are made of

# AddressSanitizer takes freed memory again sooner than by default, while it is
# there: new pages cost more than the tests themselves.
: "${ASAN_OPTIONS=quarantine_size_mb=8:thread_local_quarantine_size_kb=64}"
ASAN_OPTIONS=$ASAN_OPTIONS:malloc_context_size=4
export ASAN_OPTIONS

# For compilers of this machine the linker that takes least.
linker=
for name in lld mold; do
    ! command -v ld.$name > /dev/null 2>&1 || linker=-fuse-ld=$name
done

# A process costs some 10 ms, so what is done for each build is done by the shell
# itself, and what is done for all of them by one awk.

# find_file NAME: $file is where a test or a unit stands.
find_file() {
    for file in "$here"/*/"$1" "$here/$1"; do
        [ ! -f "$file" ] || return 0
    done
}

# read_head FILE: what a test in C says of itself, to $own_flags, $with, $needs,
# $libs and $packages.
read_head() {
    own_flags='' with='' needs='' libs='' packages='' lines=0
    while [ $lines -lt 6 ] && read -r slashes key words; do
        lines=$((lines + 1))
        case $slashes$key in
            //flags:) own_flags="$own_flags $words" ;;
            //with:) with="$with $words" ;;
            //needs:) needs="$needs $words" ;;
            //libs:) libs="$libs $words" ;;
            //packages:) packages="$packages $words" ;;
        esac
    done < "$1"
}

# read_counts LOG: $counted if it has a count of checks, $failed if some of them
# failed.
read_counts() {
    counted='' failed=''
    while read -r words; do
        case $words in
            *': '*' passed, 0 failed'*) counted=1 ;;
            *': '*' passed, '[1-9]*' failed'*) counted=1 failed=1 ;;
        esac
    done < "$1"
}

# All tests, slow ones first, each with its tags. A `part` is no test, but
# belongs to one. A file without a line of tags would never run: a mistake. So is
# one with the name of a test, which might be found in its place.
table() {
    (cd "$here" && awk '
        function wrong(text) { print text > "/dev/stderr"; bad = 1 }
        FILENAME == "tags.txt" { known[$1]; next }
        FNR == 1 { file[++count] = name = substr(FILENAME, 3) }
        FNR <= 6 && sub(/^(\/\/|#) tags:/, "") { tags[name] = $0 " " }
        END {
            for (i = 1; i <= count; i++) {
                if (!(file[i] in tags))
                    wrong("tests/" file[i] " has no line `tags:`")
                n = split(tags[file[i]], tag, " ")
                for (k = 1; k <= n; k++)
                    if (!(tag[k] in known))
                        wrong("tests/" file[i] ": tests/tags.txt has no `" \
                              tag[k] "`")
                n = split(file[i], at, "/")
                named[at[n]]++
                if (tags[file[i]] !~ / part /)
                    tests[at[n]]
            }
            for (name in tests)
                if (named[name] > 1)
                    wrong("two files are named " name)
            for (others = 0; others <= 1; others++)
                for (i = 1; i <= count; i++) {
                    own = tags[file[i]]
                    n = split(file[i], at, "/")
                    if (own !~ / part / && (own !~ / slow /) == others)
                        print at[n] (at[n] ~ /c$/ ? " all " at[n - 1] : "") own
                }
            exit bad
        }' tags.txt ./fuzz.sh ./*/*.c ./*/*.sh)
}

# choose LINE WORDS: the tests that the words of a plan stand for.
choose() {
    awk -v where="$1" -v words="$2" '
        function wrong(text) {
            print where ": " text > "/dev/stderr"
            bad = 1
        }
        {
            test[NR] = $1
            for (i = 1; i <= NF; i++) {
                has[NR, $i]
                known[$i]
            }
        }
        END {
            parts = split(words, part, ",")
            for (p = 1; p <= parts; p++) {
                split("", less)
                end = n = split(part[p], word, " ")
                for (k = n; k >= 1; k--)
                    if (word[k] == "but") {
                        end = k - 1
                    } else if (!(word[k] in known))
                        wrong((word[k] ~ /\./ ? "there is no test `" \
                               : "no test has the tag `") word[k] "`")
                for (k = end + 2; k <= n; k++)
                    for (t = 1; t <= NR; t++)
                        if ((t, word[k]) in has)
                            less[t]
                chosen = 0
                for (k = 1; k <= end; k++)
                    for (t = 1; t <= NR; t++)
                        if ((t, word[k]) in has && !(t in less)) {
                            chosen = 1
                            if (!(t in done))
                                print test[t]
                            done[t]
                        }
                if (!chosen && !bad)
                    wrong("part " p " chooses no test")
            }
            exit bad
        }' "$out/tests"
}

# Each test that includes implementation.h, with its own flags and its headers.
units() {
    find "$here" -name '*.c' -exec awk '
        FNR == 1 { if (unit) print name, own; unit = 0; own = ""
                   name = FILENAME; sub(/.*\//, "", name) }
        FNR <= 6 && sub(/^\/\/ flags: */, "") { own = $0 }
        /^#include "implementation\.h"$/ { unit = 1 }
        unit && /^#include "adrev[a-z_]*\.h"$/ { own = own " " $2 }
        END { if (unit) print name, own }' {} +
}

# Of the builds NUMBER | COMPILER | FLAGS | TEST those that share a unit write
# its number to NUMBER.unit: those of a group with the same flags of their own.
# Tests of adrev.h alone have one of theirs; that of the others has all headers
# that one of them includes, and hooks. (adrev_loop.h replays steps only beside
# adrev_function.h: without it, tests share with those of the same headers.)
# Units are counted on from $number.
#     UNIT COMPILER FLAGS HEADERS, each with a zero behind it
share() {
    units > "$out/units"
    awk -F '|' -v out="$out" -v unit="$number" '
        FILENAME ~ /units$/ {
            n = split($0, word, " ")
            for (i = 2; i <= n; i++)
                if (word[i] ~ /^"/) {
                    more[word[1]] = more[word[1]] " " word[i]
                } else if (word[i] != "-pthread")
                    own[word[1]] = own[word[1]] " " word[i]
            next
        }
        $4 in more && $3 !~ /-DADREV_STATIC/ {
            alone = more[$4] == " \"adrev.h\""
            flags = own[$4]
            if (!alone)
                sub(/ -DADREV_TRACE=1/, "", flags)
            kind = alone
            if (more[$4] ~ /loop/ && more[$4] !~ /function/)
                kind = more[$4]
            key = $2 "|" $3 flags " -pthread|" kind
            if (!(key in tests))
                keys[++count] = key
            tests[key] = tests[key] " " $1
            n = split(more[$4], word, " ")
            for (i = 1; i <= n; i++)
                wanted[key, word[i]]
        }
        function tell(text, file) { print text > file; close(file) }
        END {
            n = split("adrev parallel function assemble bulk loop implicit " \
                      "struct tensor", name, " ")
            for (k = 1; k <= count; k++) {
                m = split(tests[keys[k]], test, " ")
                if (m == 1)
                    continue
                unit++
                headers = ""
                for (i = 1; i <= n; i++) {
                    header = "\"adrev" (i > 1 ? "_" name[i] : "") ".h\""
                    if ((keys[k], header) in wanted)
                        headers = headers " " header
                }
                split(keys[k], part, "|")
                printf "%s%c%s%c%s%c%s%c", unit, 0, part[1], 0, part[2], 0,
                       headers, 0
                tell(part[1] " " part[2], out "/" unit ".what")
                for (i = 1; i <= m; i++)
                    tell(unit, out "/" test[i] ".unit")
            }
        }' "$out/units" "$out/builds"
}

# implement NUMBER COMPILER FLAGS HEADERS: a unit. Where it does not build, the
# tests say why.
implement() {
    { echo '#define ADREV_IMPLEMENTATION'
      case $4 in *_*) echo '#define ADREV_TRACE 1' ;; esac
      for header in $4; do echo "#include $header"; done; } > "$out/$1.c"
    std=-std=c11
    case $3 in *-std=*) std= ;; esac
    # shellcheck disable=SC2086  # flags are a list
    $2 $std $strict -Werror $3 -I"$headers" -c "$out/$1.c" -o "$out/$1.o" \
        > "$out/$1.log" 2>&1
    echo "implementation: $4, 0 failed" >> "$out/$1.log"
    echo "implementation" > "$out/$1.name"
    times > "$out/$1.compiling"
}

# has NEED COMPILER: whether a header, or a library `-lname`, is installed, or
# whether `long double` is wider than double. (A linker that root runs may
# replace /dev/null, so it writes a file of its own.)
has() {
    case $1 in
        -l*) echo 'int main(void) { return 0; }' \
                 | $2 -x c - -o "$log.linked" "$1" ;;
        long-double)
            { echo '#include <float.h>'
              echo 'int wide[LDBL_MANT_DIG > DBL_MANT_DIG ? 1 : -1];'; } \
                | $2 -c -x c - -o "$log.linked" ;;
        *) echo "#include <$1>" | $2 -c -x c - -o "$log.linked" ;;
    esac > /dev/null 2>&1
}

# runner COMPILER: what runs its programs, if this machine does not: qemu for
# ARCH-linux-gnu-gcc, Wine for MinGW.
runner() {
    case $1 in
        *-w64-mingw32-gcc) command -v wine || echo /usr/lib/wine/wine64 ;;
        i686-linux-*) echo qemu-i386 -L /usr/i686-linux-gnu ;;
        powerpc64-linux-*) echo qemu-ppc64 -L /usr/powerpc64-linux-gnu ;;
        *-linux-gnu*-gcc)
            target=${1%-gcc}
            echo "qemu-${1%%-*} -L /usr/$target" ;;
    esac
}

# one NUMBER COMPILER FLAGS TEST: output to $out/NUMBER.log
one() {
    log=$out/$1.log
    cc=$2
    flags=$3
    name=${4%.c}
    find_file "$4"
    source=$file
    case $source in
        *.sh)
            sh "$source" "$cc" "$flags" "$out/$1" > "$log" 2>&1
            read_counts "$log"
            [ "$counted" ] || echo "$name: 0 passed, 1 failed" >> "$log"
            return ;;
    esac
    std=-std=c11
    case $flags in *-std=*) std= ;; esac
    read_head "$source"
    for need in $needs; do
        if ! has "$need" "$cc"; then
            { echo "$name: skipped, $need is not installed"
              echo "$name: 0 passed, 0 failed"; } > "$log"
            return
        fi
    done
    # shellcheck disable=SC2086  # lists
    if [ -n "$packages" ] && ! pkg-config --exists $packages; then
        { echo "$name: skipped, $packages not installed, or not pkg-config"
          echo "$name: 0 passed, 0 failed"; } > "$log"
        return
    fi 2> /dev/null
    # Leaks of libraries are told apart by functions far up the stack (petsc.c).
    [ -z "$packages" ] || ASAN_OPTIONS=$ASAN_OPTIONS:malloc_context_size=30
    units=
    for unit in $with; do
        find_file "$unit"
        units="$units $file"
    done
    if [ -f "$out/$1.unit" ]; then
        read -r unit < "$out/$1.unit"
        wait_for "$out/$unit.times"
        [ ! -f "$out/$unit.o" ] \
            || units="$units -DTESTS_UNIT $out/$unit.o -pthread"
    fi
    # shellcheck disable=SC2046,SC2086  # flags and units are lists
    if $cc $std $strict -Werror $flags $own_flags -I"$headers" \
        -I"$here/support" -I"$root/adapters" \
        $([ -z "$packages" ] || pkg-config --cflags-only-I $packages) \
        "$source" $units $linker -o "$out/$1.bin" $libs \
        $([ -z "$packages" ] || pkg-config --libs $packages) -lm \
        > "$log" 2>&1; then
        times > "$out/$1.compiling"
        # shellcheck disable=SC2046  # a list
        (cd "$root" && timeout 900 $(runner "$cc") "$out/$1.bin") \
            > "$log" 2>&1
        status=$?
        rm -f "$out/$1.bin"
        # ThreadSanitizer says what it found by the status alone: the program
        # has gone on, and printed that all is well.
        read_counts "$log"
        if [ -z "$counted" ] || { [ $status != 0 ] && [ -z "$failed" ]; }; then
            echo "$name: 0 passed, 1 failed (status $status)" >> "$log"
        fi
    else
        echo "$name: 0 passed, 1 failed (does not build)" >> "$log"
    fi
}

# wait_for FILE: until it is there, which is soon: another shell writes it. If
# that was killed the unit is part of the program, as if nobody shared it.
wait_for() {
    waited=0
    until [ -f "$1" ] || [ $waited -gt 120 ]; do
        sleep 1
        waited=$((waited + 1))
    done
}

# build NUMBER COMPILER FLAGS TEST-OR-HEADERS: called back by xargs below.
if [ "$1" = build ]; then
    out=$2
    shift 2
    case $2 in *-*) linker= ;; esac
    case $4 in
        *\"*) implement "$@" ;;
        *) one "$@" ;;
    esac
    times > "$out/$1.running"   # not in a pipe: that would be a shell's own
    mv "$out/$1.running" "$out/$1.times"
    exit 0
fi

# quicker COMPILER: whoever calls it, clang is called by tests/clang.sh. (gcc has a
# heap of its own, and starts sooner. Programs that are tested have memory as it
# is.)
quicker() {
    real=$(command -v "$1") || return
    { echo "#!/bin/sh"
      echo "exec sh '$here/clang.sh' '$out/bin' $real \"\$@\""
    } > "$out/bin/$1"
    chmod +x "$out/bin/$1"
}

rm -rf "$out"
mkdir -p "$out/bin"
for name in clang clang++; do
    quicker $name
done
PATH=$out/bin:$PATH
export PATH
table > "$out/tests" || exit 2
line=0
number=0
seen=0
part=${PART:-1/1}
: > "$out/list"
: > "$out/builds"
while IFS='|' read -r cc flags words; do
    line=$((line + 1))
    case $cc in '#'* | '') continue ;; esac
    tests=$(choose "$plan:$line" "$words") || exit 2
    cc=$(echo "$cc" | tr -d ' ')
    if ! command -v "$cc" > /dev/null 2>&1; then
        echo "skipped: $cc is not installed"
        continue
    fi
    for name in $tests; do
        seen=$((seen + 1))
        [ $((seen % ${part#*/})) = $((${part%/*} % ${part#*/})) ] || continue
        number=$((number + 1))
        printf '%s\0%s\0%s\0%s\0' "$number" "$cc" "$flags" "$name" \
            >> "$out/list"
        echo "$number|$cc|$flags|$name" >> "$out/builds"
        echo "$cc $flags" > "$out/$number.what"
        echo "$name" > "$out/$number.name"
    done
done < "$plan"

seconds=$(sed -n 's/^# cpu: *//p' "$plan")
cores=$(nproc 2> /dev/null || echo "$jobs")
time="${seconds:+about $((seconds / (jobs < cores ? jobs : cores) / 60 + 1)) min}"
echo "$number builds, $jobs at a time: ${time:-a long time}"

# Units come first, so that those who wait for them do not wait for long.
share > "$out/shared"
number=$((number + $(tr -cd '\0' < "$out/shared" | wc -c) / 4))
cat "$out/shared" "$out/list" \
    | xargs -0 -n 4 -P "$jobs" sh "$here/run.sh" build "$out"

# The report: failures are shown whole, the rest is a count per group of builds.
# And the seconds of CPU that each build took, and to compile it, as `times` has
# written them, to $out/builds.cpu.
awk -v out="$out" -v last="$number" '
    # The only line of a file, with single spaces; the last one of several.
    function line_of(file,    line, found) {
        while ((getline line < file) > 0)
            found = line
        close(file)
        gsub(/ +/, " ", found)
        sub(/ $/, "", found)
        return found
    }
    # Of the children, as minutes and seconds for the user and for the system.
    function seconds(file,    part) {
        split(line_of(file), part, "[ms] *")
        return 60 * (part[1] + part[3]) + part[2] + part[4]
    }
    function show(lines, n,    i) {
        for (i = 1; i <= n; i++)
            print lines[i]
    }
    # Reads the log of a build of `what`, and adds up its checks.
    function read_log(file, what,    line, n, lines, m, skipped, bad, word) {
        n = m = good = bad = 0
        while ((getline line < file) > 0) {
            if (n < 40)
                lines[++n] = line
            if (line ~ /: skipped, /)
                skipped[++m] = line
            if (line ~ /^[^ ]*: [0-9]+ passed, [0-9]+ failed/) {
                split(line, word, " ")
                if (!(what in programs))
                    order[++groups] = what
                programs[what]++
                passed[what] += word[2]
                failed[what] += word[4]
                all_passed += word[2]
                all_failed += word[4]
            }
            good = good || line ~ /, 0 failed/
            bad = bad || line ~ / passed, [1-9][0-9]* failed/
        }
        close(file)
        if (!bad && !good) {    # it was cut short, or never began
            lines[++n] = "no count of checks"
            all_failed++
        }
        if (bad || !good) {
            print "--- " what
            show(lines, n)
        } else
            show(skipped, m)
    }
    BEGIN {
        for (i = 1; i <= last; i++) {
            start = out "/" i
            what = line_of(start ".what")
            printf "%8.2f %7.2f  %s %s\n", seconds(start ".times"),
                   seconds(start ".compiling"), line_of(start ".name"),
                   what > (out "/builds.cpu")
            read_log(start ".log", what)
        }
        for (i = 1; i <= groups; i++)
            printf "%-60s %3d programs %9d passed %5d failed\n", order[i],
                   programs[order[i]], passed[order[i]], failed[order[i]]
        printf "%d passed, %d failed\n", all_passed, all_failed
        exit all_failed != 0
    }'
status=$?
awk '{ sum += $1; compiling += $2; print }
     END { printf "%8.2f %7.2f  all\n", sum, compiling }' "$out/builds.cpu" \
    | sort -rn > "$out/cpu"
exit $status
