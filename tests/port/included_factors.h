// Statements of a loop each.
#define FACTOR_FIRST 1
for (int i = FACTOR_FIRST; i < n; i++)
    product *= x[i];
product += x[0];
