// tags: part
// SPDX-License-Identifier: MIT-0
// port: a tree of nodes from an array, with numbers in some of them
// function: struct_nodes
// with: x:2
// in: 2
// out: 1
// at: 0.75 2
// call: y[0] = struct_nodes@(x);
#include <stddef.h>

typedef struct tree_node {
    char kind;
    double value;
    struct tree_node *left, *right;
} tree_node;

struct tree_pool { tree_node node[8]; int used; };

static tree_node *tree_new(struct tree_pool *p, char kind, double value,
                           tree_node *left, tree_node *right)
{
    tree_node *n = &p->node[p->used++];
    *n = (tree_node){ kind, value, left, right };
    return n;
}

static double tree_value(const tree_node *n)
{
    switch (n->kind) {
    case '+': return tree_value(n->left) + tree_value(n->right);
    case '*': return tree_value(n->left) * tree_value(n->right);
    default: return n->value;
    }
}

double struct_nodes(const double *x)
{
    struct tree_pool pool = { .used = 0 };
    tree_node *a = tree_new(&pool, 'v', x[0], NULL, NULL);
    tree_node *b = tree_new(&pool, 'v', 2.5, NULL, NULL);
    tree_node *c = tree_new(&pool, '*', 0, a, b);
    tree_node *d = tree_new(&pool, '+', 0, c, a);
    double r = tree_value(d);
    b->value = x[1];
    return r * tree_value(tree_new(&pool, '*', 0, d, c));
}
