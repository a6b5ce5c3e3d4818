// tags: part
// SPDX-License-Identifier: MIT-0
// port: a thread that uses static data
// function: refused_thread_static
// with: x:2

#include <pthread.h>

static double refused_work_in, refused_work_out;

static void *refused_work(void *unused)
{
    refused_work_out = refused_work_in * refused_work_in;
    return unused;
}

double refused_thread_static(const double *x)
{
    pthread_t thread;
    refused_work_in = x[0];
    pthread_create(&thread, 0, refused_work, 0); // refused: pthread_create
    pthread_join(thread, 0);
    return refused_work_out * x[1];
}
