// tags: part
// SPDX-License-Identifier: MIT-0
// port: a block of a free list begins with an address, at the end with its own
// function: free_list
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// at: 0.5 -1 2
// call: y[0] = free_list@(x);

static void *free_list_blocks[2];
static void *free_list_first;

static int free_list_length(void)
{
    int n = 1;
    void *last = &free_list_blocks[1];
    free_list_first = &free_list_blocks[0];
    *(void **)free_list_first = last;
    *(void **)last = last;
    for (void *p = free_list_first; p != *(void **)p; p = *(void **)p)
        n++;
    return n;
}

double free_list(const double *x)
{
    double s = x[2];
    for (int i = 0; i < free_list_length(); i++)
        s = s * x[i] + x[0];
    return s;
}
