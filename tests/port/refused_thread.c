// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers handed to a thread
// function: refused_thread
// with: x

#include <pthread.h>

static void *squares_it(void *p)
{
    double *v = p;
    *v *= *v;
    return 0;
}

double refused_thread(double x)
{
    pthread_t thread;
    double v = x;
    pthread_create(&thread, 0, squares_it, &v); // refused: pthread_create
    pthread_join(thread, 0);
    return v;
}
