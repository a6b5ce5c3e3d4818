// tags: part
// SPDX-License-Identifier: MIT-0
// port: several tables in one declaration at file scope
// function: file_declarators
// with: x
// in: 1
// out: 1
// at: 0.5
// call: y[0] = file_declarators@(x[0]);
// keeps: static const double *declared_at_ad = declared_b_ad

// Coefficients.
static const double declared_a = 1.5, declared_b[2] = { 2.25, -1 },
                    *declared_at = declared_b, declared_unused = 3;
static double declared_first, declared_second;

double file_declarators(double x)
{
    declared_second = x * declared_at[1];
    declared_first = declared_a * x;
    return declared_first * declared_b[0] + declared_second;
}
