# adrev-port.mk - keeps what adrev-port writes up to date.
#
#     include path/to/adrev/port/adrev-port.mk
#     $(eval $(call adrev_port,model_ad.h,model.c,--function energy --with x:n))
#     $(eval $(call adrev_port,both_ad.h,model.c force.c,--function ...))
#
# Then model_ad.h is made from model.c, and whatever that includes, when one of
# them is newer; model_ad.h.d remembers what was read. Of several files those
# are read that are needed. Who has model_ad.h and no clang can go on: if clang
# is missing, a file that exists is kept, and the rule says so.
#
# SPDX-License-Identifier: MIT-0

ADREV_PORT ?= $(dir $(lastword $(MAKEFILE_LIST)))../build/adrev-port
ADREV_PORT_CLANG ?= clang
ADREV_PORT_FLAGS ?=

# $(1): the file to write. $(2): the sources. $(3): options.
define adrev_port
-include $(1).d
$(1): $(2)
	@if command -v $(ADREV_PORT_CLANG) > /dev/null && [ -x "$(ADREV_PORT)" ]; then \
	    echo adrev-port $(2); \
	    $(ADREV_PORT) $(2) $(3) --clang $(ADREV_PORT_CLANG) -o $(1) \
	        --depend $(1).d -- $(ADREV_PORT_FLAGS); \
	elif [ -f $(1) ]; then \
	    echo "adrev-port or clang is missing: $(1) stays as it is"; \
	else \
	    echo "adrev-port or clang is missing: cannot make $(1)"; false; \
	fi
endef
