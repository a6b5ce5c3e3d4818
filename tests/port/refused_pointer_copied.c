// tags: part
// SPDX-License-Identifier: MIT-0
// port: a table that a function which is not converted writes by a copied address
// function: refused_pointer_copied
// with: x

static double refused_copied_table[3] = { 1, 0.5, 0.25 };

static void refused_copied_set(double *c, double x)
{
    double *p = c, *q;
    q = p;
    q += 1;
    *q++ = x;
}

void refused_copied_prepare(double x)
{
    refused_copied_set(refused_copied_table, x);
}

double refused_pointer_copied(double x)
{
    return x * refused_copied_table[1]; // refused: global|writes
}
