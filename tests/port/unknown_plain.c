// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions that are not known, of constants only
// function: unknown_plain
// with: x
// in: 1
// out: 1
// at: 0.35
// call: y[0] = unknown_plain@(x[0]);
#include <stdlib.h>
#include <time.h>

double unknown_plain(double x)
{
    double scale = atof("2.5");
    const char *text = getenv("NOBODY_SETS_THIS");
    if (text != NULL)
        scale = strtod(text, NULL);
    if (clock() == (clock_t)-2 || labs(-3) != 3)
        abort();
    return scale * x * x;
}
