// tags: part
// SPDX-License-Identifier: MIT-0
// port: enumerations that count the rows of tables, one of which is named there only
// function: table_rows
// with: x
// in: 1
// out: 1
// at: 0.35
// at: -2
// passive: row_scale
// keeps: enum { ROW_KINDS = ROWS_OF(row_scale_ad),
// call: y[0] = table_rows@(x[0]);

#define ROWS_OF(table) (sizeof (table) / sizeof (table)[0])

static const double row_scale[] = { 0.5, 1.5, 2.5, 3.5 };
static const char *const row_name[] = { "one", "two", "three" };

enum { ROW_KINDS = ROWS_OF(row_scale),
       ROW_NAMES = sizeof row_name / sizeof *row_name };

double table_rows(double x)
{
    double s = 0;
    for (int i = 0; i < (int)ROW_KINDS; i++)
        s += row_scale[i] * x * x;
    return s * ROW_NAMES;
}
