// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions with a format attribute that give numbers
// function: refused_format
// with: x:2
// function: refused_format_result

double refused_format_value(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void refused_format_set(double *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const double *refused_format_numbers(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
struct refused_format_pair { double a, b; };
struct refused_format_pair refused_format_both(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void *refused_format_any(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

double refused_format(const double *x)
{
    double set;
    refused_format_set(&set, "%g", x[1]); // refused: source of refused_format_set
    return refused_format_value("%g", x[0]) * set; // refused: source of .*_value
}

double refused_format_result(const double *x)
{
    const double *p = refused_format_numbers("%g", x[0]); // refused: source of
    struct refused_format_pair q = refused_format_both("%g", x[1]); // refused: source of
    const double *r = refused_format_any("%g", x[0]); // refused: source of
    return p[0] * q.a * r[0];
}
