// tags: part
// SPDX-License-Identifier: MIT-0
// port: interpolation in a table, by a search by hand
// function: table_lookup
// with: x
// in: 1
// out: 1
// at: 0.35
// at: 2.5
// at: -1
// passive: knot_x knot_y
// call: y[0] = table_lookup@(x[0]);

static const double knot_x[] = { 0, 0.25, 1, 2, 4 };
static const double knot_y[] = { 1, 0.5, 2, 2.5, -1 };

double table_lookup(double x)
{
    int low = 0, high = (int)(sizeof knot_x / sizeof *knot_x) - 1;
    double t;
    if (x <= knot_x[low])
        return knot_y[low];
    while (high - low > 1) {
        const int mid = (low + high) / 2;
        if (knot_x[mid] > x)
            high = mid;
        else
            low = mid;
    }
    t = (x - knot_x[low]) / (knot_x[high] - knot_x[low]);
    return (1 - t) * knot_y[low] + t * knot_y[high];
}
