#!/bin/sh
# tags:
# Programs for boards without an operating system, run under QEMU: their results
# are those of the host, to the bit where no function of the C library is called;
# derivatives on the tape are those by hand; and nothing is linked that a float
# build in fixed memory has no use for.
#
# Two targets and two programs; with -DMORE=1 all of them, and with -DTABLE=1 the
# lines of docs/small-machines.md, too; with -DTAPES=1 the tape, array statements
# and some C code, and one line for each target. -DPICOLIBC=1 is for ARM, which has newlib otherwise.
# -DPROGRAM=NAME and -DTARGET=NAME choose one of them, -DVARIANTS=NAME,NAME some
# of a program's variants:
#     sh tests/firmware/firmware.sh gcc "-DMORE=1 -DTABLE=1 -DPROGRAM=attitude
#         -DTARGET=M4F" build/attitude
#                                     sh tests/firmware/firmware.sh CC FLAGS DIR
# SPDX-License-Identifier: MIT-0

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=$3
more=0
table=0
tapes=0
arm_library=nano
number=float
level=-Os
one_program=
one_target=
some_variants=
for flag in $2; do
    case $flag in
        -DMORE=1) more=1 ;;
        -DTABLE=1) table=1 ;;
        -DPROGRAM=*) one_program=${flag#*=} ;;
        -DTARGET=*) one_target=${flag#*=} ;;
        -DVARIANTS=*) some_variants=,${flag#*=}, ;;
        -DTAPES=1) tapes=1 ;;
        -DPICOLIBC=1) arm_library=picolibc ;;
        -DDOUBLE) number=double ;;
        -O[12s]) level=$flag ;;
    esac
done
rm -rf "$dir"
mkdir -p "$dir"
script=firmware.sh
. "$root/tests/support/check.sh"
define=
[ "$number" = float ] || define=-DDOUBLE

# Of a target: compiler and flags, the beginning of its tools' names, QEMU, the
# file that starts it, and where its memory is.
target() {
    link="-nostartfiles -T $dir/board.ld -Wl,-e,reset"
    start=arm.c
    rom=0x00000000
    ram=0x20000000
    case $1 in
        M0)  cpu="-mcpu=cortex-m0 -mthumb"
             board="qemu-system-arm -M microbit" ;;
        M4F) cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
             board="qemu-system-arm -M mps2-an386" ;;
        M7)  cpu="-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16"
             board="qemu-system-arm -M mps2-an500" ;;
        RV32IMAC)    cpu="-march=rv32imac -mabi=ilp32"
                     board="qemu-system-riscv32 -cpu rv32,f=false,d=false" ;;
        RV32IMAFDC)  cpu="-march=rv32imafdc -mabi=ilp32d"
                     board="qemu-system-riscv32 -cpu rv32" ;;
        RV64IMAFDC)  cpu="-march=rv64imafdc -mabi=lp64d -mcmodel=medany"
                     board="qemu-system-riscv64 -cpu rv64" ;;
        AVR) cpu="-mmcu=atmega2560"
             board="qemu-system-avr -M mega2560" ;;
    esac
    case $1 in
        M*) prefix=arm-none-eabi
            library=newlib-nano
            specs="--specs=nano.specs --specs=nosys.specs"
            if [ $arm_library = picolibc ]; then
                library=picolibc
                specs=--specs=picolibc.specs
            fi
            cc="$prefix-gcc $cpu $specs" ;;
        AVR) prefix=avr
             library=avr-libc
             cc="$prefix-gcc $cpu"
             link=-Wl,-T,$here/avr.ld
             start=avr.c ;;
        *)  prefix=riscv64-unknown-elf
            library=picolibc
            cc="$prefix-gcc $cpu --specs=picolibc.specs"
            board="$board -M virt -bios none"
            start=riscv.c
            rom=0x80000000
            ram=0x80100000 ;;
    esac
}

flags="-std=gnu11 -Wall -Wextra -Werror -ffp-contract=off $define -I$root
    -DADREV_FIXED=1 -DADREV_STATIC -DADREV_IMPLEMENTATION"

# write_code PROGRAM WRITE FILE: its model as C, by a program of the host;
# WRITE_FORMULAS: its formulas
write_code() {
    # shellcheck disable=SC2086  # lists
    gcc -std=gnu11 -O0 $define "-I$root" "-D$2" -DADREV_IMPLEMENTATION \
        -DADREV_TRACE=1 "$here/$1.c" -o "$dir/$1/write" -lm -ldl -pthread \
        && "$dir/$1/write" > "$dir/$1/$3"
}

# The samples of an example's file, as it stands in the memory of a board.
write_record() {
    awk 'BEGIN { print "static const IN_FLASH int16_t record[][9] = {" }
         !/^#/ { text = "    { " $1
                 for (i = 2; i <= 9; i++)
                     text = text ", " $i
                 print text " },"
                 n++ }
         END { print "};"; exit n < 3 }' "$root/examples/$1.txt" \
        > "$dir/$1/record.h"
}

# on_host PROGRAM VARIANT: what it prints there
on_host() {
    # shellcheck disable=SC2086  # lists
    gcc -O1 $flags "-D$2" "-I$dir/$1" "$here/main.c" "$here/host.c" "$here/$1.c" \
        -o "$dir/host" -lm && "$dir/host" > "$dir/$1.$2.host"
}

# build PROGRAM VARIANT [FLAG]: for the target, as $elf
build() {
    elf=$dir/$1.$2.$name_of_target
    sed "s/ROM/$rom/; s/RAM/$ram/" "$here/board.ld" > "$dir/board.ld"
    # shellcheck disable=SC2086  # lists
    $cc $level -ffunction-sections -fdata-sections $flags "-D$2" $3 \
        "-I$dir/$1" "$here/main.c" "$here/$start" "$here/$1.c" $link \
        -Wl,--gc-sections -Wl,-Map="$elf.map" -lm -o "$elf"
}

# on_avr [TRACE]: as on_board, where QEMU has to be ended, after the byte 4.
on_avr() {
    : > "$elf.out"
    # shellcheck disable=SC2086  # lists
    $board -display none -monitor none -serial "file:$elf.out" -bios "$elf" \
        ${1:+-singlestep -d exec,nochain -D "$1"} 2> /dev/null &
    tenths=3000
    until grep -q "$(printf "\004")" "$elf.out" || [ $tenths = 0 ]; do
        sleep 0.1
        tenths=$((tenths - 1))
    done
    kill $!
    wait $!
    [ $tenths -gt 0 ] && ! grep -q failed "$elf.out"
}

# on_board [TRACE]: what it prints there, and a line for each instruction
on_board() {
    if [ "$name_of_target" = AVR ]; then
        on_avr "$@"
        return
    fi
    # shellcheck disable=SC2086  # lists
    timeout 300 $board -semihosting -display none -monitor none -serial none \
        ${1:+-singlestep -d exec,nochain -D "$1"} -kernel "$elf" \
        > "$elf.out" 2>&1
}

# strangers ELF: what a float program in fixed memory has no use for: double in
# software, memory, output, errno, functions of <math.h> for double; and
# functions that compute with double in hardware, but for three of newlib's for
# float, which do.
strangers() {
    { "$prefix-nm" "$1" | awk '
        $3 ~ /^__aeabi_(d|c?dcmp|f2d|u?[il]2d)/ || $3 ~ /^__[a-z]+df[a-z0-9]*$/ \
            || $3 ~ /^_*([mc]alloc|realloc|free)/ \
            || $3 ~ /^(_*printf|fputs|_*errno)/ \
            || $3 ~ /^a?(sin|cos|tan)h?$|^(log(2|10|1p|b)?|exp(2|m1)?)$/ \
            || $3 ~ /^(atan2|pow|sqrt|cbrt|hypot|erfc?|[lt]gamma)$/ \
            || $3 ~ /^(fmod|frexp|ldexp|floor|ceil|fma|fmax|fmin)$/ { print $3 }'
      "$prefix-objdump" -d "$1" | awk '
        /^[0-9a-f]+ <.*>:$/ { current = $2 }
        /\tv(add|sub|n?mul|div|n?ml[as]|f|sqrt|cmp|cvt)[a-z]*\.[a-z0-9.]*f64/ \
            || /\tf(add|sub|mul|div|n?m(add|sub)|sqrt|eq|lt|le)\.d\t/ \
            || /\tfcvt\.(d\.|[a-z]+\.d)/ {
                if (current !~ /^<(exp|sin|cos)f>:$/) print current }' ; } | sort -u
}

# None but those that the C library brings into the plain program, too.
no_strangers() {
    strangers "$dir/$1.PLAIN.$name_of_target" > "$dir/plain"
    strangers "$elf" | comm -13 "$dir/plain" - > "$dir/others"
    cat "$dir/others"
    [ ! -s "$dir/others" ]
}

# instructions TRACE: between the two marks of main.c
instructions() {
    begin=$("$prefix-nm" "$elf" | awk '$3 == "counting_begins" { print $1 }')
    end=$("$prefix-nm" "$elf" | awk '$3 == "counting_ends" { print $1 }')
    awk -v begin="$begin" -v end="$end" '
        function bare(x) { sub(/^0+/, "", x); return x }
        BEGIN { begin = bare(begin); end = bare(end) }
        /^Trace/ {
            split($0, part, "/")
            at = bare(part[2])
            if (at == begin) on = 1
            else if (at == end) on = 0
            else if (on) n++
        }
        END { print n + 0 }' "$1"
}

# measure PROGRAM VARIANT: a line of the table, or a part of one
measure() {
    case $1 in attitude | training) build "$1" "$2" -DBRIEF ;; esac \
        > /dev/null 2>&1
    on_board "$dir/trace"
    count=$(instructions "$dir/trace")
    rm -f "$dir/trace"
    if [ $tapes = 1 ]; then
        "$prefix-size" "$elf" | awk -v count="$count" \
            'NR == 2 { printf " %d, %d |", $1, count }'
        return
    fi
    stack=$(sed -n 's/^stack 0*\([0-9a-f]*\) .*/\1/p' "$elf.out")
    "$prefix-size" "$elf" | awk -v row="$name_of_target | $1 | $2" \
        -v count="$count" -v stack="$(printf '%d' "0x${stack:-0}")" 'NR == 2 {
            printf "| %s | %d | %d | %d | %d |\n", row, $1, $2 + $3, stack, count }'
}

# C code where all variants run, and of two programs where the tape does: its
# writer takes long to compile.
variants_of() {
    code=
    case $more$tapes$1 in
        10* | 11quaternion | 11formulas) code=CODE ;;
    esac
    case $1 in
        network) echo PLAIN HAND TAPE ARRAYS ;;
        quaternion) echo PLAIN TAPE $code ;;
        formulas) echo PLAIN HAND TAPE $code ${code:+FORMULAS} ;;
        *) echo PLAIN HAND TAPE $code ;;
    esac
}

# chosen VARIANT: whether it is one of those that are asked for
chosen() { case ${some_variants:-,$1,} in *,"$1",*) ;; *) return 1 ;; esac; }

# Those that call functions of the C library have last bits of their own.
ulps_of() {
    case $1 in kalman | network) echo 8 ;; *) echo 0 ;; esac
}

# Values of C code have the tape's bits; derivatives have them where products of
# partials are exact in any order.
ulps_of_code() {
    case $1 in rosenbrock | quaternion | kalman) echo 0 ;; *) echo 8 ;; esac
}

programs="rosenbrock quaternion"
targets="M4F RV32IMAC"
if [ $more = 1 ]; then
    programs="rosenbrock quaternion kalman network attitude training formulas"
    targets="M0 M4F M7"
    [ $arm_library = picolibc ] || targets="$targets RV32IMAC RV32IMAFDC RV64IMAFDC"
    # On AVR double has 32 bits.
    [ "$arm_library-$number" != nano-float ] || targets="$targets AVR"
fi
if [ $tapes = 1 ]; then
    programs="rosenbrock quaternion kalman network formulas"
    some_variants=${some_variants:-,TAPE,ARRAYS,CODE,FORMULAS,}
fi
programs=${one_program:-$programs}
targets=${one_target:-$targets}
gcc "$here/compare.c" $define -o "$dir/compare" -lm || exit 1
for program in $programs; do
    variants=" $(variants_of $program) "
    mkdir -p "$dir/$program"
    case $variants in *" CODE "*)
        check "$program: its C code" write_code $program WRITE model.h ;;
    esac
    case $variants in *" FORMULAS "*)
        check "$program: C code of formulas" write_code $program \
            WRITE_FORMULAS formulas.h
    esac
    [ "$program" != attitude ] \
        || check "$program: samples" write_record $program
    for variant in $variants; do
        check "$program, $variant, host" on_host $program "$variant"
    done
    case $variants in *" HAND "*)
        check "$program: the tape and by hand" "$dir/compare" 8 \
            "$dir/$program.HAND.host" "$dir/$program.TAPE.host" ;;
    esac
    case $variants in *" ARRAYS "*)
        check "$program: arrays and by hand" "$dir/compare" 8 \
            "$dir/$program.HAND.host" "$dir/$program.ARRAYS.host" ;;
    esac
    case $variants in *" FORMULAS "*)
        check "$program: formulas and by hand" "$dir/compare" 8 \
            "$dir/$program.HAND.host" "$dir/$program.FORMULAS.host" ;;
    esac
    case $variants in *" CODE "*)
        check "$program: the tape and C code" "$dir/compare" \
            "$(ulps_of_code $program)" \
            "$dir/$program.CODE.host" "$dir/$program.TAPE.host" ;;
    esac
done

for name_of_target in $targets; do
    target "$name_of_target"
    if ! command -v "$prefix-gcc" > /dev/null 2>&1 \
        || ! command -v "${board%% *}" > /dev/null 2>&1; then
        echo "firmware.sh: $name_of_target skipped, $prefix-gcc or ${board%% *}" \
            "is not installed"
        continue
    fi
    [ $tapes = 0 ] || printf '| %s | %s | %s | %s |' "$name_of_target" "$library" \
        "$level" "$number" >> "$dir/table"
    for program in $programs; do
        for variant in $(variants_of $program); do
            # Of the plain program others ask what symbols it has.
            [ "$variant" = PLAIN ] || chosen "$variant" || continue
            what="$program, $variant, $name_of_target"
            check "$what: build" build "$program" "$variant"
            [ -f "$elf" ] && chosen "$variant" || continue
            check "$what: run" on_board
            check "$what: results" "$dir/compare" "$(ulps_of $program)" \
                "$dir/$program.$variant.host" "$elf.out"
            [ $number = double ] || check "$what: symbols" no_strangers "$program"
            case $table$tapes$variant in
                10* | 11TAPE) measure "$program" "$variant" >> "$dir/table" ;;
            esac
            [ "$name_of_target-$variant" = AVR-TAPE ] || continue
            # There double has 32 bits as well: the same results.
            check "$what: build in double" build "$program" "$variant" -DDOUBLE
            check "$what: run in double" on_board
            check "$what: results in double" "$dir/compare" \
                "$(ulps_of $program)" "$dir/$program.$variant.host" "$elf.out"
        done
    done
    [ $tapes = 0 ] || echo >> "$dir/table"
done
[ $table = 0 ] || cat "$dir/table"
echo "firmware.sh: $passed passed, $failed failed"
