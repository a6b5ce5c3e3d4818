// tags: part
// SPDX-License-Identifier: MIT-0
// port: static data that is declared first and defined later, and const data
//       that is read by an address in other data
// function: declared_later
// with: x
// in: 1
// out: 1
// at: 0.5
// call: y[0] = declared_later@(x[0], 1);

static const double later_table[3];
static const double *const later_rows[2];

static double later_at(int row, int i)
{
    return later_rows[row][i];
}

double declared_later(double x, int row)
{
    return later_at(row, 1) * x + later_table[2] * x * x;
}

static const double later_first[3] = { 4, 5, 6 };
static const double later_table[3] = { 1, 2, 3 };
static const double *const later_rows[2] = { later_table, later_first };
