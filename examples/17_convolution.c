/* 17  A camera that shook: from a chart and its photograph to the path that the
 *     shutter saw.
 *
 * The photograph is the chart, filtered by a kernel of 7 by 7, with noise. The
 * kernel is found by L-BFGS, from a kernel of zeros; nothing is known of it but
 * the two pictures.
 *
 * Shows    a text with reads that may be outside, x?[..]; a gradient by one
 *          input of several; an optimiser that knows nothing of adrev
 * Needs    10, 16
 * Usage    17_convolution [picture.svg]
 * Prints   misfit 0.5183 for each pixel, the kernel off by 0.2308 at most
 *          misfit 0.0011 for each pixel, the kernel off by 0.0004 at most
 *           . . . . . . .
 *           . . . . . . .
 *           . 1 1 . . . .
 *           . . . 1 2 . .
 *           . . . . 2 . .
 *           . . . . 3 . .
 *           . . . 3 . . .
 *          174 gradients, L-BFGS
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "formulas.h"
#include "minimise.h"
#include "noise.h"

#include <errno.h>

enum { H = 36, W = 48, R = 3, K = 2 * R + 1 };

static const char text[] =
    "in x[h,w], k[-r:r+1,-r:r+1], z[h,w];\n"
    "y[i<h,j<w] = sum(a,b) x?[i+a,j+b]*k[a,b];\n"
    "out f = 0.5*sum(i,j) (y[i,j] - z[i,j])^2;\n";

static double chart[H * W], photo[H * W];           // 0: black, 1: white

// A circle that is cut into sectors, on a board of squares.
static double drawn(int i, int j)
{
    double y = i - (H - 1) / 2.0, x = j - (W - 1) / 2.0;
    bool board = (i / 4 + j / 4) % 2 == 0;
    bool sector = sin(9 * atan2(y, x)) > 0;
    return (hypot(x, y) < 14 ? sector : board) ? 0.9 : 0.1;
}

// How long the shutter saw what is (a - R, b - R) off: a hook. Together 1.
static double shaken(int a, int b)
{
    static const char path[] = "......." "......." ".11...." "...12.."
                               "....2.." "....3.." "...3...";
    char part = path[a * K + b];
    return part == '.' ? 0 : (part - '0') / 13.0;
}

static double photographed(int i, int j)
{
    static uint32_t random = 17;
    double sum = 0.002 * noise(&random);
    for (int a = 0; a < K; a++)
        for (int b = 0; b < K; b++) {
            int u = i + a - R, v = j + b - R;
            if (u >= 0 && u < H && v >= 0 && v < W)
                sum += chart[u * W + v] * shaken(a, b);
        }
    return sum;
}

static ad_status misfit(void *t, size_t n, const double kernel[], double *f,
                        double g[])
{
    const double *in[] = { chart, kernel, photo };
    double *by[] = { NULL, g, NULL };               // only by the kernel
    (void)n;
    return ad_tensor_gradient(t, in, f, by);
}

static void report(ad_tensor *t, const double kernel[K * K])
{
    double f = 0, g[K * K], off = 0;
    must(misfit(t, K * K, kernel, &f, g));
    for (int a = 0; a < K; a++)
        for (int b = 0; b < K; b++)
            off = fmax(off, fabs(kernel[a * K + b] - shaken(a, b)));
    printf("misfit %.4f for each pixel, the kernel off by %.4f at most\n",
           sqrt(2 * f / (H * W)), off);
}

// Squares of `size` points, from black, 0, to white, `white`.
static void draw(FILE *file, int left, int size, int h, int w,
                 const double *v, double white)
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) {
            double grey = 255 * fmin(1, fmax(0, v[i * w + j] / white));
            fprintf(file, "<path d='M%d %dh%dv%dh-%d' fill='#%02x%02x%02x'/>\n",
                    left + j * size, 20 + i * size, size, size, size,
                    (int)grey, (int)grey, (int)grey);
        }
}

static void picture(const char *path, const double kernel[K * K])
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        fail(5, "cannot write %s: %s", path, strerror(errno));
    fprintf(file, "<svg xmlns='http://www.w3.org/2000/svg' width='800' height="
            "'230' shape-rendering='crispEdges'>\n<rect width='800' height="
            "'230' fill='#fff'/>\n");
    draw(file, 20, 5, H, W, chart, 1);
    draw(file, 280, 5, H, W, photo, 1);
    draw(file, 540, 25, K, K, kernel, 3 / 13.0);
    fprintf(file, "<g font-family='Helvetica, Arial, sans-serif' font-size="
            "'16'>\n<text x='20' y='220'>chart</text>\n<text x='280' y='220'>"
            "photograph</text>\n<text x='540' y='220'>kernel that was found"
            "</text>\n</g>\n</svg>\n");
    bool good = ferror(file) == 0;
    if (fclose(file) != 0 || !good)
        fail(5, "cannot write %s: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
    double kernel[K * K] = { 0 };
    if (argc > 2)
        fail(2, "usage: 17_convolution [picture.svg]");
    for (int i = 0; i < H * W; i++)
        chart[i] = drawn(i / W, i % W);
    for (int i = 0; i < H * W; i++)
        photo[i] = photographed(i / W, i % W);

    ad_tensor *t = formulas(text);
    must(ad_tensor_size(t, "h", H));
    must(ad_tensor_size(t, "w", W));
    must(ad_tensor_size(t, "r", R));
    bind_formulas(t);
    report(t, kernel);
    minimum found = minimise_by(misfit, t, K * K, kernel);
    must(found.status);
    report(t, kernel);
    ad_tensor_free(t);
    for (int i = 0; i < K * K; i++) {
        long part = lround(13 * kernel[i]);
        printf(" %c%s", part == 0 ? '.' : (char)('0' + part),
               i % K == K - 1 ? "\n" : "");
    }
    printf("%d gradients, %s\n", found.gradients, found.method);
    picture(argc > 1 ? argv[1] : "convolution.svg", kernel);
    return 0;
}
