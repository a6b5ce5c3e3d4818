// Of plane.c.
// SPDX-License-Identifier: MIT-0
#define ORDER 5
