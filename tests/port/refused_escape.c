// tags: part
// SPDX-License-Identifier: MIT-0
// port: the address of a number is kept by a function that is not there
// function: refused_escape
// with: x

void legacy_register(void *place);
void legacy_run(void);

double refused_escape(double x)
{
    double v = x * x;
    legacy_register(&v); // refused: legacy_register
    legacy_run();
    return v;
}
