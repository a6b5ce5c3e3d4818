// tags: part
// SPDX-License-Identifier: MIT-0
// port: outputs that are only assigned within called functions
// function: output_last_argument
// with: x:2
// of: f:2
// in: 2
// out: 2
// at: 1.5 2
// call: output_last_argument@(x, y);

struct output_view { double *to; int step; };

static void put_into(struct output_view w, int i, double v)
{
    w.to[i * w.step] = v;
}

static void put_all(const double *x, struct output_view *w)
{
    for (int i = 0; i < 2; i++)
        put_into(*w, i, x[i] * x[0]);
}

void output_last_argument(const double *x, double *f)
{
    struct output_view w = { f, 1 };
    put_all(x, &w);
}
