// tags: part
// SPDX-License-Identifier: MIT-0
// port: assembler on a number
// function: refused_assembler
// with: x

double refused_assembler(double x)
{
    double r = x;
    __asm__("" : "+x"(r)); // refused: asm
    return r * r;
}
