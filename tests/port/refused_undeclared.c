// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function that no header declares, as C90 allows it
// function: refused_undeclared
// with: x

double refused_undeclared(double x)
{
    return x * nobody_knows(x);           // refused: not declared
}
