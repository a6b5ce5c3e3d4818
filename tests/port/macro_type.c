// tags: part
// SPDX-License-Identifier: MIT-0
// port: the type of numbers is a macro and a typedef of the program
// function: macro_type
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// call: y[0] = macro_type@(x);
#define PORT_SCALAR double
typedef PORT_SCALAR port_scalar;
typedef port_scalar port_pair[2];

port_scalar macro_type(const PORT_SCALAR *x)
{
    port_pair p = { x[1], x[0] };
    const port_scalar half = (port_scalar)1 / 2;
    PORT_SCALAR s = p[0] * half;
    return s + p[1] * s;
}
