// tags: part
// SPDX-License-Identifier: MIT-0
// port: literals of float in an expression of doubles
// function: literal_float
// with: x
// in: 1
// out: 1
// at: 0.4
// call: y[0] = literal_float@(x[0]);

double literal_float(double x)
{
    return 0.1f * x + (double)(1.0f / 3.0f) - x / 0.3f + (1 / 3) * x;
}
