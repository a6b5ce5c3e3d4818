// tags: part
// SPDX-License-Identifier: MIT-0
// port: types that are declared before they are defined
// function: forward_types
// with: x:2
// in: 2
// out: 1
// at: 1 2
// call: y[0] = forward_types@(x);

typedef struct forward_node forward_node;
static double forward_value(const forward_node *n);
struct forward_node { const forward_node *parent; double v; };

double forward_types(const double *x)
{
    forward_node root = { 0, x[0] }, leaf = { &root, x[1] };
    return forward_value(&leaf);
}

static double forward_value(const forward_node *n)
{
    return n ? n->v * n->v + 2 * forward_value(n->parent) : 1;
}
