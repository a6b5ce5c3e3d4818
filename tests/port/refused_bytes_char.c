// tags: part
// SPDX-License-Identifier: MIT-0
// port: the bytes of numbers are exchanged
// function: refused_bytes_char
// with: x:2

static void exchange_bytes(void *a, void *b, unsigned long n)
{
    unsigned char *p = a, *q = b; // refused: byte|char|alias|type
    while (n--) {
        unsigned char t = *p;
        *p++ = *q;
        *q++ = t;
    }
}

double refused_bytes_char(const double *x)
{
    double a = x[0], b = x[1];
    exchange_bytes(&a, &b, sizeof a);
    return a * a - b;
}
