// tags: part
// SPDX-License-Identifier: MIT-0
// port: definitions in the style of before 1989, called before they stand
//       there
// function: old_order
// with: xx
// in: 1
// out: 1
// at: 0.75
// call: y[0] = old_order@(x[0]);

static double old_numbers[4] = { 1, -0.5, 0.25, 2 };
static double old_series();

double old_order( xx )
double xx;
{
    double w = old_series( xx, old_numbers, 3 );
    return( w * old_series( 0.5, old_numbers, 2 ) );
}

static double old_series( x, coef, N )
double x;
double coef[];
int N;
{
    double ans;
    int i;
    double *p;

    p = coef;
    ans = *p++;
    i = N;
    do
        ans = ans * x  +  *p++;
    while( --i );
    return( ans );
}
