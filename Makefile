# adrev: nothing to build. This file tests, runs and measures.
# SPDX-License-Identifier: MIT-0

CC     = gcc
STRICT = -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
         -Wdouble-promotion -Werror
FAST   = -O3 -march=native
CFLAGS = -O2
LEVEL  = -O1
JOBS  := $(shell n=$$(nproc 2> /dev/null || echo 2); echo $$((n + 1)))
# one more than cores: some tests wait
SECONDS = 60
TRIALS = 2000
TEXTS  = 400
TESTS  = all
B      = build
PREFIX = /usr/local
LIBDIR = lib

EXAMPLES = $(notdir $(basename \
               $(wildcard examples/[0-9]*.c examples/[0-9]*.cpp)))
ADAPTERS = $(notdir $(basename $(wildcard adapters/examples/*.c)))
SUITE    = sh tests/run.sh $(JOBS)

help:               ## this list
	@sed -n 's/^\([a-z-]*\):.*## */\1	/p' Makefile | expand -t 12

test:               ## everything a change must pass
	@sh tests/setup.sh
	@$(SUITE) tests/plans/test.txt

check:              ## a part of it, in a minute: for the cycle of work
	@$(SUITE) tests/plans/check.txt

run:                ## build the examples and run the main ones
	@sh tests/setup.sh examples
	@$(MAKE) --no-print-directory -j $(JOBS) examples
	$B/06_influenza examples/influenza.txt $B/influenza.svg
	$B/10_gaussian_mixture examples/mixture.txt $B/mixture.svg
	$B/17_convolution $B/convolution.svg
	$B/23_hares examples/hares.txt $B/hares.svg
	$B/26_attitude examples/attitude.txt $B/attitude.svg
	$B/27_tiny_network
	[ ! -x $B/11_monte_carlo ] || $B/11_monte_carlo
	[ ! -x $B/25_titanic ] || sh examples/on_ranks.sh 4 $B/25_titanic \
	    examples/titanic.txt
	[ ! -x $B/28_heat ] || sh examples/on_ranks.sh 4 $B/28_heat $B/heat.svg

examples: $(EXAMPLES:%=$B/%)

adapters: $(ADAPTERS:%=$B/%)    ## build the examples of adapters, and draw
	@for a in $(ADAPTERS); do [ ! -x $B/$$a ] || $B/$$a $B/$$a.svg || exit 1; \
	done

include examples/build.mk

adrev-port: $B/adrev-port       ## the converter from C, docs/porting-tool.md

$B/adrev-port: $(wildcard port/*.c port/*.h)
	@mkdir -p $B
	$(CC) $(STRICT) $(LEVEL) port/*.c -o $@

install:            ## all of it: PREFIX=/usr/local DESTDIR= LIBDIR=lib
	@sh package/install.sh $@ "$(PREFIX)" "$(DESTDIR)" "$(CC)" "$(CFLAGS)" \
	    "$(LIBDIR)"

uninstall:          ## takes that away again
	@sh package/install.sh $@ "$(PREFIX)" "$(DESTDIR)" "$(CC)" "$(CFLAGS)" \
	    "$(LIBDIR)"

deb:                ## Debian packages in build/deb, which lintian accepts
	@sh package/deb.sh "$B/deb"

matrix:             ## all compilers, standards and levels (long)
	@sh tests/setup.sh matrix
	@$(SUITE) tests/plans/matrix.txt

firmware:           ## boards under QEMU; the tables of docs/small-machines.md
	@sh tests/setup.sh firmware
	@mkdir -p $B
	@sh tests/firmware/tables.sh $(CC) $B/firmware $(JOBS) \
	    > $B/small-machines.md && cp $B/small-machines.md docs/small-machines.md

portable:           ## other C libraries, compilers and processors (long)
	@sh tests/setup.sh portable
	@WINEDEBUG=-all $(SUITE) tests/plans/portable.txt

asan:               ## the suite under ASan and UBSan (hours: PART=1/8)
	@$(SUITE) tests/plans/asan.txt

tsan:               ## what runs on several threads, under TSan
	@$(SUITE) tests/plans/tsan.txt

stress:             ## TRIALS=2000 random programs and schedules, TSan (long)
	@mkdir -p $B
	$(CC) $(STRICT) -O1 -g -fsanitize=thread -DADREV_PTHREADS=1 \
	    -DADREV_CHAOS=1 -I. -Itests/support tests/parallel/schedules.c \
	    -o $B/stress -lm -pthread
	$B/stress $(TRIALS)

texts:              ## TEXTS=400 random texts as C code, 100 as machine code
	@mkdir -p $B
	for t in written machine_code; do $(CC) $(STRICT) -O1 -I. -Itests/support \
	    $$(sed -n '1,6s|^// flags: *||p' tests/tensor/$$t.c) \
	    tests/tensor/$$t.c -o $B/$$t -lm -pthread || exit 1; done
	$B/written $(TEXTS)
	$B/machine_code $$(($(TEXTS) / 4)) 1000

hostile:            ## smallest blocks, every switch flipped
	@$(SUITE) tests/plans/hostile.txt

fuzz:               ## each fuzzer for SECONDS=60, clang's libFuzzer
	@sh tests/fuzz.sh clang "-g" $B/fuzz $(SECONDS)

mutate:             ## each partial or sum wrong by 1e-4 must be noticed
	@sh tests/mutate.sh $(JOBS)

chain:              ## 10^8 statements on a stack of 64 kB (4 GB of memory)
	@mkdir -p $B
	$(CC) $(STRICT) -O2 -I. -Itests/support tests/core/chain.c -o $B/chain \
	    -lm -pthread
	$B/chain 100000000

coverage:           ## lines and branches of each header that TESTS=all reach
	@sh tests/coverage.sh $(JOBS) "$(TESTS)"

bench:              ## the table of BENCHMARKS.md, gcc and clang
	@sh bench/all.sh "$(FAST)"

statements:         ## what it costs to compile them (ADEPT=DIR joins)
	@sh bench/statements.sh gcc g++
	@sh bench/statements.sh clang clang++

rooms:              ## what each of src/ says that it needs and offers
	@sh tools/rooms.sh write

headers:            ## adrev*.h from src/, and those adapters that have rooms
	@for h in adrev*.h adapters/adrev_lapack.h adapters/adrev_sundials.h; do \
	    awk -f tools/join.awk src/$${h##*/} > $$h || exit 1; done

wasm:               ## a part of the suite as WebAssembly, under node
	@mkdir -p "$B/wasm"
	@sh tests/project/wasm.sh clang "" "$$(cd "$B/wasm" && pwd)" numbers.c \
	    arrays.c structs.c control_flow.c nested.c bulk.c recorded_paths.c \
	    frozen.c scan.c

single:             ## all headers as one file, build/adrev_single.h
	@mkdir -p $B
	@awk -f tools/single.awk adrev_all.h > $B/adrev_single.h

docs:               ## docs/operations.md, docs/tests.md, docs/names.txt
	@mkdir -p $B
	@$(CC) $(STRICT) -O1 -I. tools/reference.c -o $B/reference -lm
	$B/reference > docs/operations.md
	sh tools/index.sh > docs/tests.md
	sh tools/names.sh > docs/names.txt

manual:             ## HTML and man pages in build/manual
	@sh tests/setup.sh manual
	@$(MAKE) --no-print-directory examples $(ADAPTERS:%=$B/%)
	@sh tools/manual/man.sh $B/manual/man3
	@sh tools/manual/manual.sh $B $(CC)

manual-check:       ## whether `make manual` made what it should, in Chromium
	@sh tests/setup.sh manual-check
	@sh tests/project/manual.sh $(CC) "" $B

misra:              ## docs/misra.md, by cppcheck
	@sh tests/setup.sh misra
	@mkdir -p $B
	@sh tools/misra.sh $B/misra > $B/misra.md && cp $B/misra.md docs/misra.md

analyse:            ## gcc, clang, cppcheck and valgrind on adrev.h (long)
	@sh tests/setup.sh analyse
	@sh tools/analyse.sh $B/analyse

lint:               ## contents, versions, references, limits
	@sh tools/lint.sh

clean:
	rm -rf $B

.PHONY: help test check run examples adapters adrev-port install uninstall \
        matrix firmware portable asan tsan stress texts hostile fuzz mutate \
        chain coverage bench statements rooms headers wasm single deb docs \
        manual manual-check misra analyse lint clean
