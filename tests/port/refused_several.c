// tags: part
// SPDX-License-Identifier: MIT-0
// port: all that is refused is named, not only the first
// function: refused_several
// with: x:2

#include <stdint.h>
#include <string.h>

double legacy_first(double);
double legacy_second(double);

double refused_several(const double *x)
{
    uint64_t bits;
    double r = legacy_first(x[0]); // refused: legacy_first
    r += legacy_second(x[1]); // refused: legacy_second
    memcpy(&bits, &r, sizeof r); // refused: byte|alias
    return bits >> 63 ? -r : r;
}
