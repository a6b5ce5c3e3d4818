// Of line.c.
// SPDX-License-Identifier: MIT-0
#define ORDER 3
typedef struct { double at; } point;
