// tags: part
// SPDX-License-Identifier: MIT-0
// port: a list of rows by a macro, expanded in two ways
// function: macro_list
// with: x
// in: 1
// out: 1
// at: 1.5
// call: y[0] = macro_list@(x[0]);
#define PORT_ROWS(ROW) ROW(first, 0.5, 1) ROW(second, 2, 2) ROW(third, 1, 3)

double macro_list(double x)
{
#define PORT_ROW(name, c, e) double name = c;
    PORT_ROWS(PORT_ROW)
#undef PORT_ROW
    double s = 0;
#define PORT_ROW(name, c, e) \
    for (int i = 0; i < e; i++) \
        name *= x; \
    s += name;
    PORT_ROWS(PORT_ROW)
#undef PORT_ROW
    return s;
}
