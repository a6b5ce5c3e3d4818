# How examples, and those of adapters, are built: included by the Makefile.
# SPDX-License-Identifier: MIT-0

# Those that compile adrev by themselves, as they are in float or without the C
# library; those that use adrev_mpi.h. All others link one object. What records
# is in the examples' own files: optimised, they compile the sooner. Objects are
# not: they would take ten seconds more, and all that runs two seconds less.
ALONE = 05_fixed_memory 13_kalman_firmware 26_attitude 27_tiny_network
RANKS = 25_titanic 28_heat
WHOLE = $B/implementation.o $B/implementation_mpi.o
$(filter-out $(ALONE:%=$B/%) $(RANKS:%=$B/%),$(EXAMPLES:%=$B/%) \
    $(ADAPTERS:%=$B/%)): $B/implementation.o
$(RANKS:%=$B/%): $B/implementation_mpi.o
$(WHOLE) $B/05_fixed_memory: LEVEL = -O0

# Without optimisation clang takes a third of the time of gcc.
CLANG := $(shell command -v clang 2> /dev/null)
ifeq ($(CC),gcc)
$(WHOLE) $B/05_fixed_memory: CC = $(if $(CLANG),clang,gcc)
endif

$(WHOLE): $B/%.o: examples/%.c $(wildcard adrev*.h) examples/build.sh
	sh examples/build.sh $@ $(CC) $(STRICT) $(LEVEL)

$B/%: examples/%.c $(wildcard examples/*.h adrev*.h) examples/build.sh
	sh examples/build.sh $@ $(CC) $(STRICT) $(LEVEL)

$B/%: adapters/examples/%.c $(wildcard adapters/*.h adapters/examples/*.h) \
      $(wildcard examples/*.h adrev*.h) examples/build.sh
	sh examples/build.sh $@ $(CC) $(STRICT) $(LEVEL)

$B/%: examples/%.cpp $(wildcard adrev*.h) examples/build.sh
	sh examples/build.sh $@ $(CC) $(STRICT) $(LEVEL)

$B/13_kalman_firmware: $B/13_kalman

# By the converter of now, where clang is; else the file that is there. It reads
# one short file, so what counts is how soon it is built: tcc takes a tenth of a
# second.
$B/23_hares: $B/predators_ad.h
$B/converter: $(wildcard port/*.c port/*.h)
	@mkdir -p $B
	tcc -std=c11 port/*.c -o $@ 2> /dev/null \
	    || $(CC) $(STRICT) -O0 port/*.c -o $@

$B/predators_ad.h: examples/predators.c examples/predators.h \
                   $(if $(CLANG),$B/converter)
	@mkdir -p $B
	$(if $(CLANG),$B/converter $< --function misfits --with p:PARAMETERS -o $@,\
	    cp examples/predators_ad.h $@)
