// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function that is not seen may call one that reads static data
// function: refused_static_unseen
// with: x:2

static double refused_seen_before;
double refused_seen_after;
void refused_run_all(void);

void refused_helper(void)
{
    refused_seen_after = 2 * refused_seen_before;
}

double refused_static_unseen(const double *x)
{
    refused_seen_before = x[0]; // refused: refused_run_all.*seen_before
    refused_run_all();
    return refused_seen_after * x[1];
}
