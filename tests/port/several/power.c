#define ASKS_LOCAL
#include "asks.h"

struct hidden {
    double x;
};

double JOINED(library, cube)(double x) { return x * x * x; }

double power(double x, int n)
{
    double v = 1;
    for (int i = 0; i < n; i++)
        v *= x;
    return v;
}
