#!/bin/sh
# tags:
# Plain C programs, and what adrev-port makes of them:
#
#     sh tests/port/port.sh CC FLAGS OUT [CASE ...]
#
# Each other file of this folder is a case: a function of plain C, and above it
#
#     // tags: part
#     // port: what the case is about
#     // function: NAME              or several
#     // with: PARAMETER[:COUNT]     an input: --with; a line for each
#     // of: PARAMETER[:COUNT]       an output: --of
#     // in: 3                       how many numbers x[] has
#     // out: 1                      how many numbers y[] has
#     // at: 1 2 0.5                 a point; a line for each
#     // call: y[0] = name@(x, 3);   statements that compute y[] from x[]
#
# and where they are needed
#
#     // tolerance: 1e-9             of derivatives; 1e-11 if it is left out
#     // gradient: 1 0 0.5           the Jacobian, row by row, at the first
#                                    point: where differences are no judge
#     // bytes: 8                    the original needs numbers of 8 bytes;
#                                    derivatives by differences in double
#     // keeps: TEXT                 stands in what is written
#     // passive: NAME ...           are no recorded numbers there
#     // own: NAME ...               functions that have no twins: they are called
#     // may: refuse                 as good as converting it
#     // number: ad_fwd              refused with these numbers
#
# In `call`, @ is nothing for the original and the suffix for its twin. `real`
# is the type of a number: double, __float128, ad_rev and ad_fwd in turn. Plain
# numbers get into structures by PUT(place, number), which takes places of
# either kind. Names of functions, types and variables differ from case to case,
# because all cases are compiled together.
#
# The original with __float128 in place of double gives the derivatives that
# twins must have; the original as it is gives the values, bit by bit.
#
# A case that must be refused has, in each line that is to blame,
#
#     // refused: WORDS              a pattern: what the message must speak of
#
# SPDX-License-Identifier: MIT-0

cc=$1
flags=$2
out=$3
shift 3
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/port
port=${ADREV_PORT:-$root/build/adrev-port}
strict="-Wall -Wextra -Werror=incompatible-pointer-types -Werror=implicit"
strict="$strict -Wno-unknown-pragmas -ffp-contract=off -I$root -I$here"
export CC="$cc"                         # --check builds by it, or quickly
passed=0
failed=0
case $flags in *-DFEW*) one_in=12 ;; *) one_in=4 ;; esac

skip() {
    echo "port: skipped, $1"
    echo "port: 0 passed, 0 failed"
    exit 0
}

# Programs of --check are built by tcc, if it is there, in a third of the time. It
# has no levels, and links all there is; where it cannot, $cc follows at -O1.
check_quickly() {
    command -v tcc > /dev/null || return 0
    cat > "$out/quick" << EOF
#!/bin/sh
case " \$* " in *" -O1 "*) exec $cc "\$@" ;; esac
for flag; do
    shift
    case \$flag in
        -Wl,*) ;;
        -std=gnu11) set -- "\$@" -std=c11 ;;
        *) set -- "\$@" "\$flag" ;;
    esac
done
exec tcc -DADREV_NO_THREADS=1 -D_Thread_local= "\$@"
EOF
    chmod +x "$out/quick"
    export CC="$out/quick"
}

field() {                               # field CASE NAME
    sed -n "1,/^[^/]/s|^// $2: *||p" "$here/$1.c"
}

right() { passed=$((passed + 1)); }
wrong() {                               # wrong CASE TEXT [FILE]
    failed=$((failed + 1))
    echo "$1: $2"
    [ -z "$3" ] || head -n 6 "$3" | sed 's/^/    /'
}

# That one reads numbers from text counts for all that is converted with it: a
# case that is refused for what it prints or scans stands alone.
#
# Of each case a line: its name; whether it is to be `converted`, `refused` or
# `either`; whether its text is `looked` at; `as` if it has company, or `-` if it
# stands alone; arguments of adrev-port.
list() {
    awk 'function finish() {
             if (refused)
                 may = "refused"
             if (alone)
                 company = "-"
             if (name != "")
                 print name, may, looked, company, arguments
         }
         FNR == 1 {
             finish()
             name = FILENAME
             sub(/.*\//, "", name)
             sub(/\.c$/, "", name)
             refused = 0
             may = "converted"
             looked = "-"
             arguments = ""
             company = "as"
             alone = 0
             head = 1
         }
         !/^\/\// { head = 0 }
         /^# *(include "|pragma|undef)/ { alone = 1 }
         / \/\/ refused: / { refused = 1 }
         / \/\/ refused: .*(print|scan)/ { alone = 1 }
         !head { next }
         $2 == "number:" { alone = 1 }
         $2 == "may:" { may = "either" }
         $2 == "keeps:" || $2 == "passive:" || $2 == "own:" { looked = "looked" }
         $2 == "function:" || $2 == "with:" || $2 == "of:" {
             sub(/:/, "", $2)
             for (i = 3; i <= NF; i++)
                 arguments = arguments " --" $2 " " $i
         }
         END { finish() }' "$@"
}

# convert CASE NUMBER WRITTEN: the status of adrev-port; what it says in
# CASE.said
convert() {
    # shellcheck disable=SC2086  # a list
    (cd "$here" && exec "$port" "$1.c" $arguments --number "$2" -o "$3") \
        > "$out/$1.said" 2>&1
}

# A refusal: `FILE:LINE:COLUMN: TEXT`, then the expression, then a proposal. Of
# the marked lines of FILE.c, which are left in `marks`, those where it is not
# that: `LINE TEXT` says what is wrong.
unrefused() {                           # unrefused FILE.c
    file=$(basename "$1" .c)
    awk '/\/\/ refused: / { sub(/^.*\/\/ refused: /, ""); print FNR, $0 }' "$1" \
        > "$out/marks"
    awk -v begins="^[^ ]*$file[.]c:" '
        FILENAME ~ /said$/ { said[lines = FNR] = $0; next }
        {
            words = $0
            sub(/^[0-9]+ /, "", words)
            why = "is not refused"
            for (i = 1; i <= lines && why != ""; i++) {
                if (said[i] !~ begins $1 ":[0-9]+: ")
                    continue
                if (tolower(said[i]) !~ tolower(words))
                    why = "is refused, but not with"
                else
                    why = i + 2 > lines || said[i + 1] ~ /:[0-9]+:[0-9]+: / \
                        || said[i + 2] ~ /:[0-9]+:[0-9]+: / \
                        ? "is refused, but nothing is proposed" : ""
            }
            if (why != "")
                print $1, why ": " words
        }' "$out/$file.said" "$out/marks"
}

must_refuse() {
    numbers=$(field "$1" number)
    convert "$1" "${numbers:-ad_rev}" "$out/rev/$1.h"
    status=$?
    if [ $status != 1 ]; then
        wrong "$1" "status $status in place of 1" "$out/$1.said"
    elif [ -e "$out/rev/$1.h" ]; then
        wrong "$1" "refused, but something is written"
    else
        right
    fi
    rm -f "$out/rev/$1.h"
    unrefused "$here/$1.c" > "$out/unrefused"
    while read -r line why; do
        wrong "$1" "line $line $why" "$out/$1.said"
    done < "$out/unrefused"
    passed=$((passed + $(wc -l < "$out/marks") - $(wc -l < "$out/unrefused")))
}

# The twin over forward numbers: one in four by adrev-port (with -DFEW=1 among
# FLAGS one in twelve), which must differ from that over recorded numbers in
# names only, others by these names. A twin that asks the tape what two equal numbers
# depend on asks less without one.
forward() {
    number=$((number + 1))
    sed 's/ad_rev/ad_fwd/g; s/ad_rec/ad_dual/g; /ad_tie(/,/;$/d' "$out/rev/$1.h" \
        > "$out/fwd/$1.h"
    [ $((number % one_in)) = 0 ] && ! grep -q 'ad_tie(' "$out/rev/$1.h" || return 0
    tr -d ' \n' < "$out/fwd/$1.h" > "$out/names"
    if [ -n "$2" ]; then
        $2 ad_fwd "$out/fwd/$1.h" || return
    else
        convert "$1" ad_fwd "$out/fwd/$1.h" || return
    fi
    tr -d ' \n' < "$out/fwd/$1.h" | cmp -s - "$out/names"
}

must_convert() {
    convert "$1" ad_rev "$out/rev/$1.h"
    status=$?
    if [ $status = 1 ] && [ "$kind" = either ]; then
        if grep -qE "^[^ ]*$1\.c:[0-9]+:[0-9]+: " "$out/$1.said"; then
            right
            optional="$optional $1"
        else
            wrong "$1" "refused, but no line is named" "$out/$1.said"
        fi
        return
    fi
    if [ $status != 0 ]; then
        wrong "$1" "status $status" "$out/$1.said"
    elif [ ! -s "$out/rev/$1.h" ]; then
        wrong "$1" "nothing is written"
    elif ! forward "$1"; then
        wrong "$1" "--number ad_fwd is not ad_rev with other names"
    else
        right
        converted="$converted $1"
    fi
}

# Several cases in one program: most of the time goes into starts of clang.
in_company() {                          # in_company FILE CASE ...
    several=$1
    shift
    # shellcheck disable=SC2046  # a list
    arguments=$(awk -v program="$out/$several.c" -v begins="$out/$several.begins" '
         function put(text) { print text > program; lines++ }
         FILENAME ~ /\/list$/ {
             for (i = 5; i < NF; i += 2) {
                 if ($i != "--function")
                     sub(/:.*/, "", $(i + 1))
                 argument[$1] = argument[$1] " " $i " " $(i + 1)
             }
             next
         }
         FNR == 1 {
             for (i = 1; i <= macros; i++)
                 put("#undef " macro[i])
             macros = 0
             name = FILENAME
             sub(/.*\//, "", name)
             sub(/\.c$/, "", name)
             print lines + 1, name > begins
             n = split(argument[name], word, " ")
             for (i = 1; i < n; i += 2)
                 if (!((word[i], word[i + 1]) in seen)) {
                     printf " %s %s", word[i], word[i + 1]
                     seen[word[i], word[i + 1]]
                 }
         }
         /^# *define / {
             macro[++macros] = $0
             sub(/^# *define +/, "", macro[macros])
             sub(/[^A-Za-z0-9_].*/, "", macro[macros])
         }
         { put($0) }' "$out/list" $(printf "$here/%s.c\n" "$@"))
}

# shellcheck disable=SC2086  # a list
convert_company() {                     # convert_company NUMBER WRITTEN
    (cd "$out" && exec "$port" $several.c $arguments --number "$1" -o "$2") \
        > "$out/$several.said" 2>&1
}

# Those of a company that may be refused, and are, are counted, and the others
# come again; if another is, it is converted alone.
together() {                            # together FILE CASE ...
    in_company "$@"
    shift
    convert_company ad_rev "$out/rev/$several.h"
    status=$?
    if [ $status = 0 ] && forward "$several" convert_company; then
        for name in "$@"; do
            right
            echo "#include \"$several.h\"" > "$out/rev/$name.h"
            echo "#include \"$several.h\"" > "$out/fwd/$name.h"
        done
        converted="$converted $*"
        return
    fi
    rm -f "$out/rev/$several.h" "$out/fwd/$several.h"
    blamed=$(sed -n "s/^[^ ]*$several\.c:\([0-9]*\):[0-9]*: .*/\1/p" \
                 "$out/$several.said" | owners)
    [ -n "$blamed" ] || blamed=$*
    for name in $blamed; do
        if [ $status = 1 ] && [ "$(kind_of "$name")" = either ]; then
            right
            optional="$optional $name"
        else
            alone "$name"
        fi
    done
    others=
    for name in "$@"; do
        case " $blamed " in
            *" $name "*) ;;
            *) others="$others $name" ;;
        esac
    done
    # shellcheck disable=SC2086  # a list
    [ -z "$others" ] || together "$several" $others
}

# The cases that lines of the company's program belong to.
owners() {                              # owners < NUMBERS
    awk 'NR == FNR { begin[NR] = $1; name[NR] = $2; n = NR; next }
         { for (i = n; i > 1 && begin[i] > $1; i--)
               continue
           found[name[i]] }
         END { for (i in found) print i }' "$out/$several.begins" - \
        | sort | tr '\n' ' '
}

# All marked lines of a company are refused; cases of which one is not say alone
# why.
refuse_together() {                     # refuse_together FILE CASE ...
    in_company "$@"
    shift
    convert_company ad_rev "$out/rev/$several.h"
    status=$?
    unrefused "$out/$several.c" > "$out/unrefused"
    others=$(owners < "$out/unrefused")
    if [ $status != 1 ] || [ -e "$out/rev/$several.h" ]; then
        rm -f "$out/rev/$several.h"
        others=$*
    fi
    passed=$((passed + $# + $(wc -l < "$out/marks")))
    for name in $others; do
        passed=$((passed - 1 - $(grep -c '// refused: ' "$here/$name.c")))
    done
    # shellcheck disable=SC2086  # a list
    alone $others
}

arguments_of() {                        # arguments_of CASE
    awk -v name="$1" '$1 == name { $1 = $2 = $3 = $4 = ""; print }' "$out/list"
}

kind_of() { awk -v name="$1" '$1 == name { print $2 }' "$out/list"; }

alone() {                               # alone CASE ...
    for name in "$@"; do
        arguments=$(arguments_of "$name")
        kind=$(kind_of "$name")
        case $kind in
            refused) must_refuse "$name" ;;
            *) must_convert "$name" ;;
        esac
    done
}

# looks CASE: at the text of the twin, or of all those that it was converted with
looks() {
    twin=$(sed -n '1s|^#include "\(as_[^"]*\)"$|\1|p' "$out/rev/$1.h")
    twin=$out/rev/${twin:-$1.h}
    field "$1" keeps > "$out/keeps"
    while IFS= read -r text; do
        grep -qF -e "$text" "$twin"
        count_look $? "$1" "does not keep: $text"
    done < "$out/keeps"
    for name in $(field "$1" passive); do
        ! grep -qE "\<ad_rev[ *]+$name\>" "$twin"
        count_look $? "$1" "$name is recorded, and need not be"
    done
    for name in $(field "$1" own); do
        ! grep -qE "\<${name}_ad\>" "$twin"
        count_look $? "$1" "$name is written, and need not be"
    done
}

count_look() {                          # count_look STATUS CASE TEXT
    if [ "$1" = 0 ]; then right; else wrong "$2" "$3"; fi
}

own_functions() {                       # of all cases: -G NAME ...
    # shellcheck disable=SC2046  # a list
    sed -n 's|^// own: *||p' $(printf "$here/%s.c\n" $converted) \
        | tr -s ' ' '\n' | sed 's/^/-G /'
}

# build UNIT FLAGS: one file of all cases
build() {
    # shellcheck disable=SC2086  # flags are a list
    $cc -std=gnu11 $strict $flags $2 -c "$out/$1.c" -o "$out/$3.o" \
        > "$out/$3.log" 2>&1
}

twins() {
    build twins "-DNUMBER=ad_rev -I$out/rev" rev \
        && build twins "-DNUMBER=ad_fwd -I$out/fwd" fwd
}

generate() {                            # generate CASE ...
    # shellcheck disable=SC2046  # a list
    awk -v out="$out" -f "$here/driver.awk" \
        $(for name in "$@"; do echo "$here/$name.c"; done)
}

# Cases whose twins do not compile, alone or beside the others, are named and
# left out: those that errors point to.
suspects() {
    cat "$out/rev.log" "$out/fwd.log" 2> /dev/null \
        | sed -n 's|^\([^ ]*/\)*\([a-z0-9_]*\)\.[a-z]*:[0-9:]* error.*|\2|p' \
        | sort -u | tr '\n' ' '
}

leave_out() {                           # leave_out CASE ...
    good=
    for name in $converted; do
        case " $* " in
            *" $name "*)
                cat "$out/rev.log" "$out/fwd.log" 2> /dev/null \
                    | grep "/$name\.[a-z]*:[0-9:]* error\|^$name\.call" \
                    > "$out/errors"
                wrong "$name" "does not compile" "$out/errors" ;;
            *)
                good="$good $name" ;;
        esac
    done
    converted=$good
}

# What was converted together is converted alone when something does not
# compile: then it is known which.
compile() {
    generate $converted
    rm -f "$out/rev.log" "$out/fwd.log" "$out/rev.o" "$out/fwd.o"
    twins && return
    set +f
    accompanied=$(cd "$out/rev" && grep -l '^#include "as_' ./*.h \
        | sed 's|^./||; s|\.h$||' | tr '\n' ' ')
    [ -z "$accompanied" ] || rm "$out"/rev/as_*
    set -f
    if [ -n "$accompanied" ]; then
        for name in $accompanied; do
            converted=$(echo " $converted " | sed "s/ $name / /")
        done
        alone $accompanied
        generate $converted
        twins && return
    fi
    before=$converted
    leave_out $(suspects)
    [ "$before" = "$converted" ] || compile
}

tell_warnings() {
    if grep -q 'warning:' "$out/rev.log" "$out/fwd.log"; then
        grep -h 'warning:' "$out/rev.log" "$out/fwd.log" > "$out/warnings"
        wrong twins "compile with $(wc -l < "$out/warnings") warnings" \
            "$out/warnings"
    else
        right
    fi
}

# Originals have the same names in plain.o and quad.o: only tables are global.
judge() {
    # shellcheck disable=SC2046,SC2086  # lists
    build plain "" plain \
        && { gcc -std=gnu11 $strict -c "$out/quad.c" -o "$out/quad.o" \
             > "$out/quad.log" 2>&1; } \
        && objcopy -G port_plain $(own_functions) "$out/plain.o" \
        && objcopy -G port_quad "$out/quad.o" \
        && $cc -std=gnu11 $strict $flags -I"$out" "$here/driver.c" \
            "$out/plain.o" "$out/quad.o" "$out/rev.o" "$out/fwd.o" \
            -o "$out/driver" -lquadmath -lm > "$out/driver.log" 2>&1
}

# Wrong use: status 2, and what is said has these words.
misuse() {                              # misuse TEXT WORDS ARGUMENT ...
    text=$1
    words=$2
    shift 2
    (cd "$here" && "$port" "$@") > "$out/said" 2>&1
    status=$?
    if [ $status != 2 ]; then
        wrong misuse "$text: status $status in place of 2" "$out/said"
    elif ! grep -q -e "$words" "$out/said"; then
        wrong misuse "$text: it does not say: $words" "$out/said"
    else
        right
    fi
}

# works TEXT STATUS COMMAND ...
works() {
    text=$1
    want=$2
    shift 2
    [ ! -s "$out/said" ] || cp "$out/said" "$out/said_before"
    (cd "$here" && "$@") > "$out/said" 2>&1
    status=$?
    if [ $status = "$want" ]; then
        right
    else
        wrong options "$text: status $status in place of $want" "$out/said"
    fi
}

# The user writes the twin of a function of arrays: what goes into it comes out.
stub_of_arrays() {
    printf '%s\n' 'double lib_mean(int n, const double *x);' \
        'double spread(const double *x, int n)' \
        '{ const double m = lib_mean(n, x); double s = 0;' \
        '  for (int i = 0; i < n; i++) s += (x[i] - m) * (x[i] - m);' \
        '  return s + m; }' > "$out/spread.c"
    printf '%s\n' '#pragma once' '#include "adrev.h"' \
        'static ad_rev lib_mean_ad(int n, const ad_rev *x)' \
        '{ ad_rev s = { 0 };' \
        '  for (int i = 0; i < n; i++) ad_acc(&s, ad_div(x[i], n));' \
        '  return s; }' > "$out/mean.h"
    # The derivatives are 2 (x[i] - m) + 1/n.
    printf '%s\n' '#define ADREV_IMPLEMENTATION' '#include "spread_ad.h"' \
        'int main(void) { ad_tape *t = ad_tape_new(); ad_use(t);' \
        '  const ad_real at[4] = { 1, 2, 4, 9 }, want[4] = { -5.75, -3.75, 0.25, 10.25 };' \
        '  ad_rev x[4]; ad_real g[4]; int wrong = 0; ad_inputs(4, at, x);' \
        '  if (ad_gradient(t, spread_ad(x, 4), 4, x, g) != ADREV_OK) return 1;' \
        '  for (int i = 0; i < 4; i++) wrong += g[i] != want[i];' \
        '  ad_tape_free(t); return wrong; }' > "$out/spread_main.c"
    set -- "$port" "$out/spread.c" --function spread --with x:n
    works "arrays, without a stub" 1 "$@" -o "$out/none.h"
    works "it proposes one" 0 grep -q 'a function lib_mean_ad of recorded numbers' \
        "$out/said_before"
    printf '%s\n' '/* lib_mean_ad( */' \
        'static ad_rev old_lib_mean_ad(ad_rev x) { return x; }' > "$out/none_here.h"
    works "a stub of another name" 1 "$@" --stubs "$out/none_here.h" -o "$out/none.h"
    works "arrays, with a stub" 0 "$@" --stubs "$out/mean.h" -o "$out/spread_ad.h"
    works "the stub's program" 0 "$cc" -std=c11 $strict -Wno-unused-function \
        -I"$root" "$out/spread_main.c" -o "$out/spread" -lm
    works "the stub's derivatives" 0 "$out/spread"
    printf '%s\n' 'double lib_mean(int n, const double *x)' \
        '{ double s = 0; for (int i = 0; i < n; i++) s += x[i] / n; return s; }' \
        > "$out/mean.c"
    works "its library" 0 "$cc" -c "$out/mean.c" -o "$out/mean.o"
    works "as an archive" 0 ar rcs "$out/libmean.a" "$out/mean.o"
    works "the stub is checked" 0 "$@" --stubs "$out/mean.h" --check --points 1 \
        -- -I"$root" -L"$out" -lmean
}

options() {
    twin=$out/option.h
    set -- "$port" polynomial.c --function polynomial --with x:2
    works "--suffix, --number real" 0 "$@" --suffix _twin --number real -o "$twin"
    works "the suffix" 0 grep -q 'polynomial_twin(' "$twin"
    for kind in ADREV_PORT_PLAIN ADREV_PORT_FORWARD ANY; do
        works "real as $kind" 0 "$cc" -std=c11 -Wall -Wextra -Werror \
            -Wno-unused-function -D$kind -I"$root" -fsyntax-only \
            -x c "$twin"
    done
    works "--check" 0 "$@" --check --points 2 --set n=5 \
        -o "$out/polynomial_ad.h" -- -I"$root"
    works "--check in float" 0 "$port" float_cast.c --function float_cast \
        --with x --check --points 2 -- -I"$root"
    works "it says so" 0 grep -q 'in float, .* not judged' "$out/said_before"
    works "--stubs" 1 "$port" refused_unknown.c --function refused_unknown \
        --with x:2 --stubs "$out/stubs.h" -o "$twin"
    works "the stub" 0 grep -q 'legacy_spline_ad(' "$out/stubs.h"
    stub_of_arrays
    printf '%s\n' '#if PORT_ORDER != 3' '#error' '#endif' \
        'double option(double x) { return PORT_ORDER * x; }' > "$out/option.c"
    printf '[{"directory":"%s","file":"option.c","command":"%s"}]\n' "$out" \
        "cc -DPORT_ORDER=3 -c option.c" > "$out/compile_commands.json"
    printf '%s\n' 'extern double given[2]; void report(const char *text);' \
        'double beside(double x) { if (x < given[0]) report("small");' \
        'return given[1] * x; }' > "$out/beside.c"
    works "what is not seen, and plain global data" 0 "$port" "$out/beside.c" \
        --function beside --with x -o "$twin"
    works "-p" 0 "$port" "$out/option.c" --function option --with x \
        -p "$out/compile_commands.json" -o "$twin"
    sed -i 's/-DPORT_ORDER=3/& -march=armv7e-m -mthumb -mcpu=cortex-m4/' \
        "$out/compile_commands.json"
    works "-p of another processor" 0 "$port" "$out/option.c" --function option \
        --with x -p "$out/compile_commands.json" -o "$twin"
    works "flags" 0 "$port" "$out/option.c" --function option --with x \
        -o "$twin" -- -DPORT_ORDER=3
    works "without flags" 2 "$port" "$out/option.c" --function option --with x \
        -o "$twin"
    printf '%s\n' '#if 0' '{' '#endif' 'double hidden(double x) { return 2 * x; }' \
        > "$out/hidden.c"
    works "text that is left out hides a definition" 0 "$port" polynomial.c \
        "$out/hidden.c" --function hidden --with x -o "$twin"
    echo 'static double alone(double x) { return 2 * x; }' > "$out/alone.c"
    works "a file of a library" 0 "$port" several/asks.c several/power.c \
        several/distance.c several/root.c \
        --function asks --with all --check --points 1 -o "$twin" \
        -- -I"$root" -std=c99
    works "its twin, whose name is a macro" 0 grep -q 'library_asks_ad(' "$twin"
    works "a static function, beside a file that cannot be read" 0 "$port" \
        "$out/alone.c" several/other.c --function alone --with x -o "$twin"
    printf '%s\n' '#include <stdlib.h>' 'double ends(double x, int n)' \
        '{ if (n < 100) exit(n % 2 ? 1 : 42); return x; }' > "$out/ends.c"
    works "what exits is not right" 2 "$port" "$out/ends.c" --function ends \
        --with x --check -o "$twin" -- -I"$root"
    case $flags in *-DFEW*) ;; *) memory_runs_out ;; esac
    names_by_macros
    equal_inputs
    copies
    whole
    many_functions
}

# Of a check: the original limits its memory.
memory_runs_out() {
    printf '%s\n' '#include <sys/resource.h>' \
        '__attribute__((constructor)) void limit(void)' \
        '{ struct rlimit most = { 64 << 20, 64 << 20 }; setrlimit(RLIMIT_AS, &most); }' \
        'double much(double x) { double s = 0; for (int i = 0; i < 3000000; i++)' \
        's += 1e-6 * x; return s; }' > "$out/much.c"
    works "memory runs out" 2 "$port" "$out/much.c" --function much --with x \
        --check --points 1 -o "$out/much_ad.h" -- -I"$root"
    works "it says so" 0 grep -q 'memory runs out' "$out/said_before"
}

# Functions whose names macros make, in files of a list.
names_by_macros() {
    printf '%s\n' '#define JOINED(a, b) a##_##b' '#define power named_power' \
        'double named_power(double x);' 'double named_cube(double x);' > "$out/named.h"
    printf '%s\n' '#include "named.h"' \
        'double named(double x) { return power(x) + named_cube(x); }' > "$out/named.c"
    printf '%s\n' '#include "named.h"' 'double power(double x) { return x * x; }' \
        > "$out/raised.c"
    printf '%s\n' '#include "named.h"' \
        'double JOINED(named, cube)(double x) { return x * x * x; }' > "$out/cubed.c"
    comma=
    for name in named raised cubed; do
        printf '%s{"directory":"%s","file":"%s.c","command":"cc -c %s.c"}' \
            "$comma" "$out" $name $name
        comma=,
    done | sed 's/^/[/; s/$/]/' > "$out/named.json"
    works "names that macros make" 0 "$port" "$out/named.c" --function named \
        --with x -p "$out/named.json" -o "$out/named_ad.h"
    works "a name that is a macro" 0 grep -q 'named_power_ad(' "$out/named_ad.h"
    works "a name of two words" 0 grep -q 'named_cube_ad(' "$out/named_ad.h"
}

# A result that is used again where two inputs are equal: asked by a whole number,
# which only the check sees, and by ==, which the user may say is meant.
equal_inputs() {
    printf '%s\n' '#include <math.h>' 'static long key; static double sine;' \
        'static double kept(double x) { const long k = lrint(x * 1e9);' \
        'if (k != key) sine = sin(x); key = k; return sine; }' \
        'double again(const double *x) { key = 0;' \
        'return 100 * (x[0] + x[1]) + kept(x[0]) + kept(x[1]); }' \
        'double mean(double a, double b) { return a == b ? a : (a - b) / log(a / b); }' \
        > "$out/equal.c"
    works "a derivative is lost" 1 "$port" "$out/equal.c" --function again --with x:2 \
        --check --points 1 -o "$out/equal_ad.h" -- -I"$root"
    works "an input is named" 0 grep -q 'lost: dy.0./dx.[01]. .* equal to x' \
        "$out/said_before"
    set -- "$port" "$out/equal.c" --function mean --with a --with b
    works "two inputs are compared" 1 "$@" --number ad_fwd -o "$out/none.h"
    works "--equal" 0 "$@" --equal mean -o "$out/equal_ad.h"
    printf '%s\n' '#include <math.h>' 'static double at, sine;' \
        'double beside(const double *x) { double s = x[0] == x[1] ? 0 : x[0] - x[1];' \
        'at = -7; for (int i = 0; i < 2; i++) {' \
        'if (fabs(x[i] - at) > 1e-12) { at = x[i]; sine = sin(x[i]); }' \
        's += (i + 1) * sine; } return s; }' > "$out/beside_equal.c"
    works "--equal beside a cache" 1 "$port" "$out/beside_equal.c" --function beside \
        --with x:2 --equal beside -o "$out/none.h"
    works "the cache is refused" 0 grep -q 'c:5:.* kept from before' "$out/said_before"
}

# Global data, where all files are given: one that is not read may use them, and
# a function that is not converted may set them.
whole() {
    printf '%s\n' 'double shared; void share(double x) { shared = x * x; }' \
        > "$out/shared.c"
    printf '%s\n' 'extern double shared; void share(double x);' \
        'double whole(double x) { share(x); return shared * x; }' > "$out/whole.c"
    echo 'double user(void) { extern double shared; return shared; }' > "$out/user.c"
    echo 'void setter(void) { extern double shared; shared = 2; }' >> "$out/whole.c"
    set -- "$port" "$out/whole.c" "$out/shared.c" --function whole --with x
    works "global data of several files" 1 "$@" -o "$out/none.h"
    works "a function that sets them" 1 "$@" --whole -o "$out/none.h"
    works "it is named" 0 grep -q 'convert setter' "$out/said_before"
    sed -i /setter/d "$out/whole.c"
    works "--whole" 0 "$@" --whole --check --points 2 -o "$twin" -- -I"$root"
    works "a file that is not read" 1 "$@" "$out/user.c" --whole -o "$out/none.h"
    works "it is named, too" 0 grep -q 'user.c may use' "$out/said_before"
}

# More functions than one would type.
many_functions() {
    awk -v last=70 'BEGIN { for (i = 0; i <= last; i++)
        printf "double many%d(double x) { return x + %d; }\n", i, i }' > "$out/many.c"
    # shellcheck disable=SC2046  # a list
    works "many functions" 0 "$port" "$out/many.c" --with x -o "$out/many_ad.h" \
        $(sed 's/double \(many[0-9]*\).*/--function \1/' "$out/many.c")
    works "all of them" 0 grep -q 'many70_ad(' "$out/many_ad.h"
}

# What is written (by `options`) records what a port by hand records.
same_tape() {
    # shellcheck disable=SC2086  # flags are a list
    works "same_tape.c" 0 "$cc" -std=c11 $strict $flags -I"$out" same_tape.c \
        -o "$out/same_tape" -lm
    works "the same tape" 0 "$out/same_tape"
}

# A function that two files define is no function of the program's that a twin
# could call: nobody knows which one it would be.
twice() {
    printf '%s\n' 'int twice_next(int i) { static int n; n++; return i + n * 0; }' \
        'double twice(double x) { return x * twice_next(2); }' > "$out/twice.c"
    printf '%s\n' 'double twice(double x);' \
        'int twice_next(int i) { static int n; n++; return i * 3 + n * 0; }' \
        'double thrice(double x) { return twice(x) * twice_next(3); }' \
        > "$out/thrice.c"
    works "a function of two files" 0 "$port" "$out/twice.c" "$out/thrice.c" \
        --function twice --function thrice --with x -o "$out/twice_ad.h"
    works "it is written" 0 grep -q 'twice_next_ad(' "$out/twice_ad.h"
}

# Numbers that are compared with their copies, and with others.
copies() {
    set -- "$port" copies.c --function copies --with x:4
    works "copies" 0 "$@" --check --points 2 -o "$out/copies_ad.h" -- -I"$root"
    works "others, which are equal" 0 grep -q 'the tape fails, at . of 7 points' \
        "$out/said_before"
    works "copies, without a tape" 1 "$@" --number ad_fwd -o "$out/none.h"
    # shellcheck disable=SC2046  # a list
    works "seen in the run" 0 "$port" seen_equal.c --with x:2 -o "$out/seen_equal_ad.h" \
        $(sed -n 's|^double \(seen_[a-z_]*\)(const.*|--function \1|p' "$here/seen_equal.c")
    works "seen_run.c" 0 "$cc" -std=c11 -Wall -Wextra -O0 -I"$root" -I"$out" seen_run.c \
        -o "$out/seen_run" -lm
    works "the tape fails" 0 "$out/seen_run"
    # shellcheck disable=SC2046  # a list
    works "orders, without a tape" 0 "$port" compared_orders.c --with x:3 \
        $(sed -n 's|^// function: |--function |p' "$here/compared_orders.c") \
        --number ad_fwd -o "$out/orders_ad.h"
}

# Two files that mean something else by one name.
set_apart() {
    works "a macro of two headers" 0 "$port" several/line.c several/plane.c \
        --function line --with x --check --points 2 -o "$out/line_ad.h" \
        -- -I"$root"
    works "a type of two files" 1 "$port" several/line.c several/plane.c \
        --function line --with x -o "$out/none.h" -- -DTWO_TYPES
    works "both files are named" 0 grep -q 'point is another type in' \
        "$out/said_before"
    works "a type of a header, which is not one to each" 1 "$port" several/line.c \
        several/plane.c --function line --with x -o "$out/none.h" -- -DTWO_SIZES
    works "its file is named" 0 grep -q 'sized is something else in plane.c than' \
        "$out/said_before"
}

# What a source defines before it includes a header. (line.c has more of these.)
settings() {
    printf '%s\n' '#if MODE == 1' 'static double scale(void) { return 3; }' '#else' \
        'static double scale(void) { return 5; }' '#endif' > "$out/scale.h"
    printf '%s\n' '#define NDEBUG' '#define MODE 1' '#include <assert.h>' \
        '#include "scale.h"' 'double scaled(double x);' \
        'double set(double x) { assert(x > 0); return scale() * scaled(x); }' \
        > "$out/set.c"
    printf '%s\n' '#define MODE 2' '#include "scale.h"' \
        'double scaled(double x) { return scale() * x; }' > "$out/scaled.c"
    set -- --function set --with x -o "$out/none.h"
    works "a header in two ways" 0 "$port" "$out/set.c" "$out/scaled.c" "$@"
    works "that of the second file is written" 0 \
        grep -q 'double scale_ad(void) { return 5' "$out/none.h"
    rm "$out/none.h"
    sed 's|MODE 2|NDEBUG 2|; s|^#include.*|#include <assert.h>|; s|scale() ||;
         s|return \*|return|' "$out/scaled.c" > "$out/system.c"
    works "a header of the system in two ways" 1 "$port" "$out/set.c" \
        "$out/system.c" "$@"
    works "the second one is named" 0 \
        grep -q 'system.c:1:1: two files set' "$out/said_before"
    sed '1s|MODE 2|MODE  1 /* as there */\r|' "$out/scaled.c" > "$out/alike.c"
    set -- --function set --with x -o "$out/set_ad.h"
    works "a header in one way" 0 "$port" "$out/set.c" "$out/alike.c" "$@"
    works "a setting is kept" 0 grep -q '^#define MODE 1' "$out/set_ad.h"
    printf '%s\n' '#include "adrev.h"' '#include "set_ad.h"' > "$out/set_run.c"
    works "NDEBUG is kept, as its assertions are" 0 \
        $cc -std=c11 $flags -I"$root" -c "$out/set_run.c" -o "$out/set_run.o"
}

# A file of code that is included twice, with macros of its own, and with others.
included_twice() {
    printf '%s\n' '#define TWICE(x) (2 * (x))' 'double NAME(double x) {' \
        'const double two = TWICE(1);' '#if KIND == 1' 'return x * two;' '#else' \
        'return x;' '#endif' '}' '#undef TWICE' > "$out/twice_part.c"
    for name in first second; do
        printf '%s\n' "#define NAME $name" '#include "twice_part.c"' '#undef NAME'
    done > "$out/twice_in.c"
    echo 'double sum(double x) { return first(x) + second(x); }' >> "$out/twice_in.c"
    set -- "$port" "$out/twice_in.c" --function sum --with x -o "$out/twice_in.h"
    works "a file included twice" 0 "$@"
    sed -i '1i #define KIND 2
        /NAME second/i #undef KIND\n#define KIND 1' "$out/twice_in.c"
    works "a condition that changes" 1 "$@"
    works "it is told where" 0 grep -q 'part.c:2:.* included again' "$out/said_before"
    sed -i '/^#if/d; /^#else/,/^#endif/d; s/two;/two * KIND;/' "$out/twice_part.c"
    works "a number that changes" 1 "$@"
}

# What macros mean in a header, around it, or when it is read again: nothing is written
# where they would mean something else.
meanings() {
    mkdir -p "$out/senses"
    senses=$out/senses
    set -- --function f --with x -o "$out/none.h"
    printf '%s\n' 'static double NAME(double x) { return KIND * x; }' > "$senses/kind.h"
    for name in first second; do
        printf '%s\n' "#define NAME $name" "#define KIND 1 // $name" \
            '#include "kind.h"' '#undef NAME' '#undef KIND'
    done > "$senses/kinds.c"
    echo 'double f(double x) { return first(x) + second(x); }' >> "$senses/kinds.c"
    sed '/KIND/d; 1i #define KIND 1' "$senses/kinds.c" > "$senses/kind.c"
    works "a header read twice in one way" 0 "$port" "$senses/kind.c" "$@"
    sed -i 's|1 // second|2|' "$senses/kinds.c"
    works "a header read twice in two ways" 1 "$port" "$senses/kinds.c" "$@"
    works "it is told which macro" 0 grep -q 'kind.h:1:.* KIND means' "$out/said_before"

    printf '%s\n' '#define MODE 3' '#include "mode.h"' '#undef MODE' > "$senses/around.h"
    printf '%s\n' 'static double mode(double x) {' '#ifdef MODE' 'return 2 * x;' \
        '#else' 'return x;' '#endif' '}' > "$senses/mode.h"
    printf '%s\n' '#include "around.h"' 'double f(double x) { return mode(x); }' \
        > "$senses/mode.c"
    works "a macro around a header" 1 "$port" "$senses/mode.c" "$@"
    works "it is named" 0 grep -q 'mode.h:1:.* MODE means' "$out/said_before"

    printf '%s\n' '#undef RANK' '#define RANK 7' \
        'static double ranked(double x) { return RANK * x; }' > "$senses/anew.h"
    printf '%s\n' '#define RANK 1' '#include "anew.h"' \
        'double f(double x) { return ranked(x) * x; }' > "$senses/anew.c"
    works "a setting that a header changes" 1 "$port" "$senses/anew.c" "$@"
    printf '%s\n' 'static double ranked(double x) { return RANK * x; }' \
        > "$senses/anew.h"
    sed -i 's/#define RANK 1//; 2a #undef RANK\n#define RANK 5' "$senses/anew.c"
    works "one of the command line that the source changes" 1 "$port" \
        "$senses/anew.c" "$@" -- -DRANK=3

    echo '#define K 1' > "$senses/one.h"
    printf '%s\n' '#ifndef K' '#define K 2' '#endif' > "$senses/two.h"
    printf '%s\n' '#if K == 1' 'static double weight(void) { return 3; }' '#else' \
        'static double weight(void) { return 5; }' '#endif' > "$senses/weight.h"
    printf '%s\n' '#include "one.h"' 'double two(double x);' 'double three(double x);' \
        'double f(double x) { return K * x + two(x) + three(x); }' > "$senses/one.c"
    printf '%s\n' '#include "two.h"' 'double two(double x);' \
        'double two(double x) { return K * x; }' > "$senses/two.c"
    printf '%s\n' '#include "one.h"' '#include "weight.h"' 'double three(double x);' \
        'double three(double x) { return weight() * x; }' > "$senses/three.c"
    works "a macro that ends before a header" 1 "$port" "$senses/one.c" \
        "$senses/two.c" "$senses/three.c" "$@"
    works "that header is named" 0 grep -q 'weight.h:.* say something else' \
        "$out/said_before"

    printf '%s\n' 'enum { ORDER = RANK };' 'static const double of[2] = { ORDER, 1 };' \
        'static double scale(double x) { return of[0] * x; }' > "$senses/order.h"
    printf '%s\n' '#define RANK 2' '#include "order.h"' 'double other(double x);' \
        'double f(double x) { return scale(x) + other(x); }' > "$senses/order.c"
    printf '%s\n' '#define RANK 5' '#include "order.h"' 'double other(double x);' \
        'double other(double x) { return scale(x) * x; }' > "$senses/other.c"
    works "data of an enumerator of two values" 1 "$port" "$senses/order.c" \
        "$senses/other.c" "$@"
    works "it is told where" 0 grep -q 'ORDER is something else in' "$out/said_before"
    sed -i 's/RANK 5/RANK 2/' "$senses/other.c"
    works "of one value" 0 "$port" "$senses/order.c" "$senses/other.c" "$@"
    rm "$out/none.h"
}

# Several files: folder several/.
several() {
    set -- "$port" --function energy --with 'x:2*n' --with v:n
    several=$here/several
    works "several files" 0 "$@" several/orbit.c several/force.c \
        several/tables.c several/limits.c several/other.c --check --points 2 --set n=4 \
        -o "$out/orbit_ad.h" --depend "$out/orbit.d" -- -I"$root"
    works "a static function of two files" 0 grep -q 'orbit_shift_ad(' \
        "$out/orbit_ad.h"
    works "a macro of two files" 0 grep -q '^#undef SCALE' "$out/orbit_ad.h"
    works "an include that is not read" 1 grep -q windows.h "$out/orbit_ad.h"
    works "a structure of two files" 0 test 1 = \
        "$(grep -c '^} total_ad;' "$out/orbit_ad.h")"
    works "--depend" 0 grep -q 'several/body.h:' "$out/orbit.d"
    works "--depend, not read" 1 grep -q other "$out/orbit.d"
    works "two definitions" 1 "$@" several/orbit.c several/force.c \
        several/tables.c several/again.c -o "$out/none.h"
    works "two definitions are named" 0 grep -q 'weight_of is defined in' \
        "$out/said_before"
    set_apart
    settings
    included_twice
    meanings
    twice
    mkdir -p "$out/build"
    printf '[{"directory":".","file":"%s/orbit.c","arguments":["cc","-c","x"]},
{"directory":"build","file":"../force.c","command":"cc -I ../inc -c x"},
{"file":"tables.c","directory":"%s","command":"cc -DQ=\\"a b\\" -c x"},
{"directory":".","file":"%s/limits.c","command":"cc"},
{"directory":".","file":"%s/other.c","command":"cc"}]\n' \
        "$several" "$several" "$several" "$several" > "$out/compile_commands.json"
    sed 's|"body.h"|<body.h>|' "$several/force.c" > "$out/force.c"
    ln -s "$several" "$out/inc"
    works "-p finds files" 0 "$@" several/orbit.c \
        -p "$out/compile_commands.json" -o "$out/orbit_p.h"
    sed -i s/ORBIT_P_H/ORBIT_AD_H/ "$out/orbit_p.h"
    sed -i '/body\.h/d' "$out/orbit_ad.h" "$out/orbit_p.h"
    works "-p, the same" 0 cmp "$out/orbit_ad.h" "$out/orbit_p.h"
}

command -v clang > /dev/null 2>&1 || skip "clang is not installed"
echo '#include <quadmath.h>' | gcc -fsyntax-only -x c - > /dev/null 2>&1 \
    || skip "quadmath.h is not installed"
# Warnings of gcc's optimiser are looked for without -DFEW=1.
case $flags in *-DFEW*) again= ;; *) again="-B LEVEL=-O2" ;; esac
# shellcheck disable=SC2086  # nothing, or two words
[ -n "$ADREV_PORT" ] || make -s -C "$root" $again adrev-port || port=
if [ ! -x "$port" ]; then
    echo "port: there is no adrev-port"
    echo "port: 0 passed, 1 failed"
    exit 1
fi

rm -rf "$out"
mkdir -p "$out/rev" "$out/fwd"
case $flags in *-DFEW*) check_quickly ;; esac
# shellcheck disable=SC2046  # a list
[ $# -gt 0 ] || set -- $(cd "$here" && grep -l '^// port: ' ./*.c \
                         | sed 's|^./||; s|\.c$||')
set -f                                  # counts like n*n are no patterns
converted=
optional=
number=0
# shellcheck disable=SC2046  # a list
list $(printf "$here/%s.c\n" "$@") > "$out/list"
while read -r name kind looked company arguments; do
    case $company$kind in
        -refused) must_refuse "$name" ;;
        -*) must_convert "$name" ;;
    esac
done < "$out/list"

# Companies of cases of one kind, a line for each. --with and --of are for all
# functions of a company: what is an input of one case, or an output, is that in
# each case that has the name; and either all cases name their outputs, or none.
# shellcheck disable=SC2046  # a list
awk '
    function has_room(c, i,    n, k) {
        if (of_kind[c] != kind[i] \
            || size[c] + size_of[i] > (kind[i] ~ /refused/ ? 20 : 60))
            return 0
        n = split(roles[i], role, " ")
        for (k = 1; k <= n; k++)
            if ((c, role[k]) in plain)
                return 0
        n = split(roles[c], role, " ")
        for (k = 1; k <= n; k++)
            if (!((i, role[k]) in own) && (i, name_of[role[k]]) in word)
                return 0
        return 1
    }
    function join(c, i,    r) {
        size[c] += size_of[i]
        names[c] = names[c] " " i
        for (r in name_of)
            if ((i, r) in own) {
                if (!((c, r) in own))
                    roles[c] = roles[c] " " r
                own[c, r]
            } else if ((i, name_of[r]) in word)
                plain[c, r]
    }
    FILENAME ~ /\/list$/ {
        if ($4 == "-")
            next
        cases[++count] = $1
        kind[$1] = $3 != "-" ? "looked" : $2
        if ($0 ~ / --of /)
            kind[$1] = kind[$1] "_of"
        for (i = 5; i < NF; i += 2)
            if ($i == "--function") {
                size_of[$1]++
            } else {
                parameter = $(i + 1)
                sub(/:.*/, "", parameter)
                name_of[$i parameter] = parameter
                roles[$1] = roles[$1] " " $i parameter
                own[$1, $i parameter]
            }
        next
    }
    FNR == 1 {
        name = FILENAME
        sub(/.*\//, "", name)
        sub(/\.c$/, "", name)
    }
    {
        n = split($0, part, /[^A-Za-z0-9_]+/)
        for (i = 1; i <= n; i++)
            word[name, part[i]]
    }
    END {
        for (k = 1; k <= count; k++) {
            for (c = 1; c <= companies && !has_room(c, cases[k]); c++)
                continue
            if (c > companies)
                of_kind[companies = c] = kind[cases[k]]
            join(c, cases[k])
        }
        for (c = 1; c <= companies; c++)
            print of_kind[c] ~ /refused/ ? "refuse_together" : "together",
                  "as_" of_kind[c] "_" c names[c]
    }' "$out/list" $(printf "$here/%s.c\n" "$@") > "$out/companies"
while read -r how names; do
    # shellcheck disable=SC2086  # a list
    $how $names
done < "$out/companies"
while read -r name kind looked company arguments; do
    case "$looked $converted " in
        "looked "*" $name "*) looks "$name" ;;
    esac
done < "$out/list"

# shellcheck disable=SC2046,SC2086  # lists
if [ -n "$converted" ]; then
    compile
    tell_warnings
    if judge; then
        "$out/driver" 2> /dev/null | tr -d '\000' > "$out/driver.said"
        grep -av '^port: ' "$out/driver.said"
        set -- $(sed -n 's/^port: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p
                        ' "$out/driver.said")
        passed=$((passed + ${1:-0}))
        failed=$((failed + ${2:-1}))
    else
        cat "$out"/driver.log "$out"/quad.log "$out"/plain.log 2>&1 \
            | grep -i error > "$out/errors"
        wrong all "nothing is judged" "$out/errors"
    fi
fi

# What stands with the example is what is written of it.
example() {
    works "examples/predators.c" 0 "$port" "$root/examples/predators.c" \
        --function misfits --with p:PARAMETERS -o "$out/predators_ad.h"
    works "examples/predators_ad.h" 0 cmp "$out/predators_ad.h" \
        "$root/examples/predators_ad.h"
}

options
same_tape
example
several
mistakes() {
    set -- polynomial.c --function polynomial --with x:2 -o "$out/none.h"
    misuse "no such file" "no_such_file.c" no_such_file.c "$@"
    misuse "no such function" "no function nothing .* polynomial.c" \
        polynomial.c --function nothing --with x -o "$out/none.h"
    misuse "no such parameter" "--with nothing: .* polynomial has x, n" "$@" \
        --with nothing
    misuse "no such output" "--of nothing: .* polynomial has x, n" "$@" \
        --of nothing
    misuse "no derivatives" "--with n: neither double" "$@" --with n
    misuse "no whole number" "--set n=0.5" "$@" --set n=0.5
    misuse "no such option" "--sideways" "$@" --sideways
    misuse "no such number" "--number double" "$@" --number double
    misuse "no count" "--with x:" "$@" --with x:
    misuse "no suffix" "--suffix ''" "$@" --suffix ''
    misuse "no value" "--seed" "$@" --seed
    misuse "no function" "--function" polynomial.c --with x -o "$out/none.h"
    misuse "no such list" "no_such.json" "$@" -p no_such.json
    misuse "no such setting" "--set m" "$@" --set m=2 --check \
        -o "$out/option.h" -- -I"$root"
    misuse "no clang" "no_clang is not installed" "$@" --clang no_clang
    printf '#include "no_such.h"\ndouble f(double x) { return x; }\n' \
        > "$out/bad.c"
    misuse "no such header" "-I and -D" "$out/bad.c" --function f --with x \
        -o "$out/none.h"
    misuse "no folder" "cannot write" polynomial.c --function polynomial \
        --with x:2 -o "$out/no_folder/none.h"
    works "none of them writes" 1 test -e "$out/none.h"
    works "--version" 0 "$port" --version
    works "--help" 0 "$port" --help
    works "--help tells" 0 grep -q -e --check "$out/said_before"
}
mistakes

[ -z "$PORT_SHOWS" ] || echo "refused, as they may be:$optional"
echo "port: $passed passed, $failed failed"
[ $failed = 0 ]
