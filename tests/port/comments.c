// tags: part
// SPDX-License-Identifier: MIT-0
// port: comments and blank lines are kept
// function: comments
// with: x
// in: 1
// out: 1
// at: 2
// keeps: sums of squares, see the text
// keeps: twice the square
// keeps: at the end of a line
// call: y[0] = comments@(x[0]);

/* comments() - sums of squares, see the text */
double comments(double x)
{
    /* twice the square,
     * in two steps */
    double s = x * x;       /* at the end of a line */

    // and this
    s += /* inside */ s;
    return s;
}
