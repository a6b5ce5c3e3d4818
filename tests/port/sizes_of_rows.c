// tags: part
// SPDX-License-Identifier: MIT-0
// port: the number of rows of a table, and of recorded numbers, from sizes
// function: sizes_of_rows
// with: x
// in: 1
// out: 1
// at: 0.5
// call: y[0] = sizes_of_rows@(x[0]);

double sizes_of_rows(double x)
{
    static const double rows[][2] = { { 1, 0.5 }, { 2, 0.25 }, { 3, 1 } };
    static const int count = (int)(sizeof rows / 2 / sizeof (double));
    double made[4][3];
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += rows[i][0] * x + rows[i][1] * x * x;
    for (int i = 0; i < (int)(sizeof made / 3 / sizeof (double)); i++)
        for (int k = 0; k < 3; k++)
            made[i][k] = sum * (i + k);
    return made[3][2] + made[0][1];
}
