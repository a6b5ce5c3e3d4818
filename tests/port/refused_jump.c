// tags: part
// SPDX-License-Identifier: MIT-0
// port: setjmp and longjmp
// function: refused_jump
// with: x

#include <setjmp.h>

static jmp_buf refused_back;

static double jump_if(double x)
{
    if (x < 0)
        longjmp(refused_back, 1); // refused: longjmp|setjmp|jump
    return x * x;
}

double refused_jump(double x)
{
    if (setjmp(refused_back)) // refused: setjmp|jump
        return 0;
    return jump_if(x);
}
