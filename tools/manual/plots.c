/* A card for each operation, as HTML with a plot: the value and the partials
 * along x, computed by adrev itself. Made by `make manual`.
 *
 * SPDX-License-Identifier: MIT-0
 */
#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include <math.h>
#include <stdio.h>

enum { POINTS = 161, CURVES = 4 };

// Along one argument from `from` to `to`, the others held: curve[0] is the value, the
// others are partials.
typedef struct plot {
    double from, to;
    double curve[CURVES][POINTS];
    double low, high;       // of what is shown
} plot;

// The middle of the box in which the tests sample an argument.
static double middle(const ad_op_info *op, int argument)
{
    double m = (op->box[2*argument] + op->box[2*argument + 1]) / 2;
    return argument > 0 && m == 0 ? 1 : m;
}

// Which argument varies: y where x is an order, an int.
static int along(int code)
{
    return code == ADREV_OP_polygamma || code == ADREV_OP_jn
        || code == ADREV_OP_yn;
}

// What an argument is while another one varies. Some are ints.
static double held(int code, const ad_op_info *op, int argument)
{
    if (along(code) == 1)
        return 1;
    return code == ADREV_OP_powi || code == ADREV_OP_ldexp
           ? 3 : middle(op, argument);
}

static void compute(ad_tape *t, int code, const ad_op_info *op, plot *p)
{
    size_t n = (size_t)op->arity;

    for (int i = 0; i < POINTS; i++) {
        double x = p->from + (p->to - p->from) * i / (POINTS - 1);
        double at[3];
        ad_rev in[3], y;
        double g[3] = { NAN, NAN, NAN };

        for (int k = 0; k < 3; k++)
            at[k] = k == along(code) ? x : held(code, op, k);
        ad_tape_clear(t);
        ad_inputs(n, at, in);
        ad_each((ad_opcode)code, 1, &in[0], n > 1 ? &in[1] : NULL,
                n > 2 ? &in[2] : NULL, &y);
        p->curve[0][i] = ad_value(y);
        if (ad_gradient(t, y, n, in, g) != ADREV_OK)
            g[0] = NAN;
        for (size_t k = 0; k < 3; k++)
            p->curve[k + 1][i] = g[k];
    }
}

// Heights: everything that is finite, but at most 6 to either side of zero.
static void frame(plot *p, int curves)
{
    p->low = -0.2;
    p->high = 0.2;
    for (int c = 0; c < curves; c++)
        for (int i = 0; i < POINTS; i++) {
            double v = p->curve[c][i];
            if (!isfinite(v))
                continue;
            p->low = fmin(p->low, fmax(v, -6));
            p->high = fmax(p->high, fmin(v, 6));
        }
    double margin = 0.05 * (p->high - p->low);
    p->low -= margin;
    p->high += margin;
}

static double across(const plot *p, double x)
{
    return 300 * (x - p->from) / (p->to - p->from);
}

static double down(const plot *p, double y)
{
    return 160 * (p->high - y) / (p->high - p->low);
}

// A curve ends where it leaves the frame or is not finite, and where it jumps.
static void draw(const plot *p, int c)
{
    bool pen = false;
    double last = 0;

    printf("<path class=c%d d=\"", c);
    for (int i = 0; i < POINTS; i++) {
        double v = p->curve[c][i];
        double x = across(p, p->from + (p->to - p->from) * i / (POINTS - 1));
        bool inside = isfinite(v) && v >= p->low && v <= p->high;
        bool jump = pen && fabs(v - last) > 0.1 * (p->high - p->low);

        if (inside)
            printf("%c%.1f %.1f", pen && !jump ? 'L' : 'M', x, down(p, v));
        pen = inside;
        last = v;
    }
    printf("\"/>");
}

static void escaped(const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '<': printf("&lt;"); break;
        case '>': printf("&gt;"); break;
        case '&': printf("&amp;"); break;
        default: putchar(*text);
        }
}

static void card(const ad_op_info *op, int code, const plot *p, bool partials)
{
    int curves = partials ? op->arity + 1 : 1;

    printf("<figure id=\"ad_%s\"><figcaption>"
           "<a href=\"adrev.html#ad_%s\"><code>ad_%s</code></a></figcaption>"
           "<svg viewBox=\"0 0 300 174\" role=img aria-label=\"%s\">",
           op->name, op->name, op->name, op->name);
    if (p->low < 0 && p->high > 0)
        printf("<path class=axis d=\"M0 %.1fH300\"/>", down(p, 0));
    if (p->from < 0 && p->to > 0)
        printf("<path class=axis d=\"M%.1f 0V160\"/>", across(p, 0));
    draw(p, 0);
    for (int c = curves; c-- > 1; )
        draw(p, c);
    printf("<text x=0 y=172>%c = %g</text><text x=300 y=172 text-anchor=end>%g"
           "</text></svg>", "xy"[along(code)], p->from, p->to);
    printf("<dl><dt class=c0>value</dt><dd><code>");
    escaped(op->value);
    printf("</code></dd>");
    for (int c = 1; c < curves; c++) {
        printf("<dt class=c%d>d/d%c</dt><dd><code>", c, "xyz"[c - 1]);
        escaped(op->partial[c - 1]);
        printf("</code></dd>");
    }
    printf("</dl><p>heights %.2g to %.2g", p->low, p->high);
    for (int k = 0; k < op->arity; k++)
        if (k != along(code))
            printf("; %c = %g", "xyz"[k], held(code, op, k));
    printf("</p>");
    printf("</figure>\n");
}

int main(void)
{
    const ad_op_info *ops = ad_op_table();
    ad_tape *t = ad_tape_new();

    ad_use(t);
    printf("<p>Plots are along one argument; the others are what stands below. "
           "A colour\nis that of its line of the legend; what is above 6 or below -6 is "
           "cut off. What they show is\ncomputed by adrev.</p>\n"
           "<div class=plots>\n");
    for (int code = 0; code < ADREV_OP_lt; code++) {
        const ad_op_info *op = &ops[code];
        bool partials = code < ADREV_OP_floor;
        plot p = { .from = -3, .to = 3 };

        if (along(code) == 1) {
            p.from = 0;
            p.to = 8;
        } else if (op->box[0] > 3 || op->box[1] > 6) {
            p.from = fmin(0, op->box[0]);
            p.to = op->box[1] + 1;
        }
        compute(t, code, op, &p);
        frame(&p, partials ? op->arity + 1 : 1);
        card(op, code, &p, partials);
    }
    printf("</div>\n");
    ad_tape_free(t);
    return ferror(stdout) != 0;
}
