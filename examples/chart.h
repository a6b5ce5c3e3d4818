/* chart.h - points and curves as a picture in SVG, for the examples.
 *
 *     chart c = { .left = 0, .right = 10, .top = 300 };    // bottom: 0
 *     if (chart_open(&c, "picture.svg", "time (s)", "height (m)")) {
 *         chart_curve(&c, n, x, y, "model");
 *         chart_points(&c, m, u, v, "measured");
 *         good = chart_close(&c);
 *     }
 *
 * Before another curve, or other points, .colour and .line may be set. A second
 * chart below the first, in the same file:
 *
 *     chart d = { .below = &c, .left = 0, .right = 10, .top = 1 };
 *     chart_open(&d, NULL, "time (s)", "slope (m/s)");     // c.panels is 2
 *
 * Texts are XML: write &amp; for an ampersand.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef CHART_H
#define CHART_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct chart {
    double left;            // x where the axes cross
    double right;           // the largest x, above left
    double bottom;          // y where the axes cross; rounded down
    double top;             // the largest y, above bottom; rounded up
    double radius;          // of a point; 0: 5
    bool equal;             // as much x as y to the centimetre: the narrower
                            // side is widened
    const char *colour;     // of what comes; NULL: red curves, blue points
    int line;               // of the legend, for what comes; 0: the usual one
    int panels;             // charts in the file; 0: 1
    const struct chart *below;  // it is drawn below this one, which is open
    FILE *file;
} chart;

enum { CHART_WIDTH = 720, CHART_HEIGHT = 450 };
enum { CHART_LEFT = 75, CHART_RIGHT = 695, CHART_TOP = 20, CHART_BOTTOM = 385 };
enum { CHART_LEGEND = 460 };

static double chart_x(const chart *c, double x)
{
    double part = (x - c->left) / (c->right - c->left);
    return CHART_LEFT + part * (CHART_RIGHT - CHART_LEFT);
}

static double chart_y(const chart *c, double y)
{
    double part = (y - c->bottom) / (c->top - c->bottom);
    return CHART_BOTTOM - part * (CHART_BOTTOM - CHART_TOP);
}

// 1, 2 or 5 times a power of ten: not more than that many to a span.
static double chart_tick(double span, int many)
{
    double power = pow(10, floor(log10(span / many)));
    double least = span / many / power;
    return power * (least > 5 ? 10 : least > 2 ? 5 : least > 1 ? 2 : 1);
}

// Rounds bottom and top to ticks, and makes the scales equal if they are to be.
static void chart_limits(chart *c)
{
    const double shape = (double)(CHART_RIGHT - CHART_LEFT)
                       / (CHART_BOTTOM - CHART_TOP);
    double missing = (c->right - c->left) / shape - (c->top - c->bottom);
    if (c->equal && missing > 0) {
        c->bottom -= missing / 2;
        c->top += missing / 2;
    }
    double tick = chart_tick(c->top - c->bottom, 8);
    c->bottom = floor(c->bottom / tick) * tick;
    c->top = ceil(c->top / tick) * tick;

    missing = (c->top - c->bottom) * shape - (c->right - c->left);
    if (c->equal && missing > 0) {
        c->left -= missing / 2;
        c->right += missing / 2;
    }
}

// The tick as it is written: 0 is not what rounding left of it.
static double chart_label(double at, double tick)
{
    return fabs(at) < 1e-9 * tick ? 0 : at;
}

static void chart_axes(const chart *c)
{
    double tick = chart_tick(c->top - c->bottom, 8);
    for (double y = c->bottom; y < c->top + tick / 2; y += tick)
        fprintf(c->file,
                "<path d='M%d %.1fH%d' stroke='#ddd'/>\n"
                "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n",
                CHART_LEFT, chart_y(c, y), CHART_RIGHT, CHART_LEFT - 9,
                chart_y(c, y) + 5, chart_label(y, tick));

    tick = chart_tick(c->right - c->left, 16);
    for (double x = ceil(c->left / tick) * tick; x <= c->right; x += tick)
        fprintf(c->file,
                "<path d='M%.1f %dv6' stroke='#222'/>\n"
                "<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n",
                chart_x(c, x), CHART_BOTTOM, chart_x(c, x), CHART_BOTTOM + 24,
                chart_label(x, tick));
    fprintf(c->file, "<path d='M%d %dV%dH%d' fill='none' stroke='#222'/>\n",
            CHART_LEFT, CHART_TOP, CHART_BOTTOM, CHART_RIGHT);
}

// The paper.
static void chart_begin(const chart *c)
{
    const int height = CHART_HEIGHT * (c->panels > 1 ? c->panels : 1);
    fprintf(c->file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d'"
            " viewBox='0 0 %d %d'"
            " font-family='Helvetica, Arial, sans-serif' font-size='16'"
            " fill='#222'>\n<rect width='%d' height='%d' fill='#fff'/>\n",
            CHART_WIDTH, height, CHART_WIDTH, height, CHART_WIDTH, height);
}

// Draws the axes. Returns false, and errno says why, if there is no file.
static bool chart_open(chart *c, const char *path, const char *x_title,
                       const char *y_title)
{
    c->file = c->below != NULL ? c->below->file : fopen(path, "w");
    if (c->file == NULL)
        return false;

    chart_limits(c);
    if (c->below == NULL)
        chart_begin(c);
    else
        fprintf(c->file, "<g transform='translate(0 %d)'>\n", CHART_HEIGHT);
    chart_axes(c);
    fprintf(c->file,
            "<text x='%d' y='%d' text-anchor='middle'>%s</text>\n"
            "<text transform='translate(22 %d) rotate(-90)'"
            " text-anchor='middle'>%s</text>\n"
            "<rect x='%d' y='%d' width='%d' height='60' fill='#fff'/>\n",
            (CHART_LEFT + CHART_RIGHT) / 2, CHART_BOTTOM + 52, x_title,
            (CHART_TOP + CHART_BOTTOM) / 2, y_title, CHART_LEGEND,
            CHART_TOP + 10, CHART_RIGHT - CHART_LEGEND);
    return true;
}

// The height of the legend's text for what comes.
static int chart_line(const chart *c, int usual)
{
    return CHART_TOP + 32 + 25 * ((c->line > 0 ? c->line : usual) - 1);
}

// NAN among the coordinates leaves a gap.
static inline void chart_curve(const chart *c, int n, const double x[],
                               const double y[], const char *name)
{
    const int line = chart_line(c, 2);
    fprintf(c->file, "<path fill='none' stroke='%s' stroke-width='2.5' d='",
            c->colour != NULL ? c->colour : "#c33");
    char pen = 'M';
    for (int i = 0; i < n; i++) {
        bool gap = isnan(x[i]) || isnan(y[i]);
        if (!gap)
            fprintf(c->file, "%c%.1f %.1f%s", pen, chart_x(c, x[i]),
                    chart_y(c, y[i]), i % 8 == 7 ? "\n" : "");
        pen = gap ? 'M' : 'L';
    }
    fprintf(c->file, "M%d %dh36'/>\n<text x='%d' y='%d'>%s</text>\n",
            CHART_LEGEND + 8, line - 5, CHART_LEGEND + 56, line, name);
}

static inline void chart_points(const chart *c, int n, const double x[],
                                const double y[], const char *name)
{
    double r = c->radius > 0 ? c->radius : 5;
    const int line = chart_line(c, 1);
    fprintf(c->file, "<g fill='#fff' stroke='%s' stroke-width='%g'>\n",
            c->colour != NULL ? c->colour : "#036", fmin(2, r / 2));
    for (int i = 0; i < n; i++)
        fprintf(c->file, "<circle cx='%.1f' cy='%.1f' r='%g'/>\n",
                chart_x(c, x[i]), chart_y(c, y[i]), r);
    fprintf(c->file,
            "<circle cx='%d' cy='%d' r='%g'/>\n</g>\n"
            "<text x='%d' y='%d'>%s</text>\n",
            CHART_LEGEND + 26, line - 5, r, CHART_LEGEND + 56, line, name);
}

// Returns whether everything has been written; if not, errno says why. A chart
// below another one is closed first.
static bool chart_close(const chart *c)
{
    if (c->below != NULL)
        return fputs("</g>\n", c->file) >= 0;
    fputs("</svg>\n", c->file);
    bool good = ferror(c->file) == 0;
    return (fclose(c->file) == 0) && good;
}

#endif
