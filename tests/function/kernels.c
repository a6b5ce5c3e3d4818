// SPDX-License-Identifier: MIT-0
// tags: recorded code
// needs: dlfcn.h
// libs: -ldl
/* kernels.c - C code in dialects: kernels of OpenCL run on the processor where a
 * platform is installed (pocl); the text for CUDA is compiled as C++ and has
 * the bits of the replay; and clang, where it is there, makes PTX of it and
 * reads it as HIP. All operations that a dialect has, guards, arrays, loops
 * with tables, several C functions, sparse matrices, inputs that all points
 * share.
 *
 *     -DMORE=1         also second derivatives, and larger programs          */

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "implementation.h"
#include "adrev_function.h"
#include "check.h"
#include "shell.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined __has_include
#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#define OPENCL 1
#endif
#endif

#ifndef MORE
#define MORE 0
#endif

enum { POINTS = 5, STRIDE = POINTS + 2, ARRAYS = 7, TIMES = MORE ? 900 : 400 };

// What LeakSanitizer is told of memory that pocl leaves behind: that of LLVM,
// and of C++. Nothing of ours runs below their functions.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libLLVM\nleak:libstdc++\nleak:libpocl\n";
}

static char top[] = "/tmp/adrev-kernels-XXXXXX";

/* --- programs -------------------------------------------------------------- */

// Operations that a dialect does not have.
static bool is_missing(unsigned op, ad_c_dialect dialect)
{
    static const char *const names[] = { "jn", "yn", "gamma_p", "gamma_q",
                                         "beta_p", "beta_q" };
    for (size_t i = dialect == ADREV_OPENCL ? 0 : 2;
         i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], ad_op_name(op)) == 0)
            return true;
    return false;
}

// Which argument of an operation is a whole constant; -1: none.
static int parameter_of(unsigned op)
{
    const char *name = ad_op_name(op);
    return strcmp(name, "powi") == 0 || strcmp(name, "ldexp") == 0 ? 1
         : strcmp(name, "polygamma") == 0 || strcmp(name, "jn") == 0
           || strcmp(name, "yn") == 0 ? 0 : -1;
}

static ad_rev apply(unsigned op, const ad_rev at[3])
{
    ad_rev a[3] = { at[0], at[1], at[2] };
    const int whole = parameter_of(op);
    if (whole >= 0)
        a[whole] = (ad_rev){ .v = 2 };
    switch (ad_op_arity(op)) {
    case 1:  return ad_op1(op, a[0]);
    case 2:  return ad_op2(op, a[0], a[1]);
    default: return ad_op3(op, a[0], a[1], a[2]);
    }
}

// Each operation at a point of its own.
static void rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_c_dialect dialect = *(const ad_c_dialect *)ctx;
    for (unsigned op = 0; op < ADREV_OP_COUNT; op++)
        y[op] = is_missing(op, dialect) ? x[3 * op] : apply(op, x + 3 * op);
}

static void branches(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_select(ad_lt(x[0], x[3]), ad_mul(x[0], ad_sqr(x[1])),
                            ad_div(x[4], x[2])));
    y[1] = ad_rec(ad_sub(ad_mul(ad_select(ad_gt(x[1], x[4]), x[1], x[4]), x[3]),
                         ad_mul(x[0], x[2])));
}

static void arrays(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[9];
    (void)ctx;
    y[0] = ad_dot(8, x, x + 1);
    y[1] = ad_norm2(9, x);
    y[2] = ad_logsumexp(9, x);
    ad_matvec(2, 3, x, x + 6, y + 3);
    ad_softmax(9, x, z);
    ad_each(ADREV_OP_sin, 9, z, NULL, NULL, y + 5);
}

static void stencil(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    for (size_t i = 0; i < n; i++) {
        ad_rev e = ad_rec(ad_mul(x[i], ad_add(4, ad_sqr(x[i]))));
        if (i > 0)
            e = ad_rec(ad_sub(e, x[i - 1]));
        if (i + 1 < n)
            e = ad_rec(ad_sub(e, ad_mul(x[i + 1], x[i])));
        y[i] = e;
    }
}

// A sum over data, with guards and tables. Of the inputs the last is common.
static void data(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev s = { 0 };
    for (size_t i = 0; i < n; i++) {
        const double d = (double)(i * 7919 % 1000) / 512;
        ad_rev e = ad_rec(ad_sub(ad_mul(ad_mul(x[0], d), x[1 + i * i % 3]),
                                 d / 4));
        ad_acc(&s, ad_select(ad_lt(e, 3), ad_sqr(e), e));
    }
    y[0] = s;
}

typedef struct program {
    const char *name;
    ad_vector_fn *f;
    void *ctx;
    size_t n, m;
    unsigned functions;
    size_t split, common;
    bool arithmetic;            // no function that devices round differently
    ad_fn *fn;
    ad_real x[3 * ADREV_OP_COUNT + TIMES];      // the point of the recording
} program;

// The inputs of a point.
static ad_real input(const program *p, size_t i, size_t point)
{
    const ad_real at = p->x[i];
    if (i >= p->n - p->common)
        return at;
    if (p->f == rows) {
        const double *box = ad_op_table()[i / 3].box + 2 * (i % 3);
        return (ad_real)(box[0] + (box[1] - box[0]) * (0.3 + 0.1
                                                       * (double)point));
    }
    return at + (ad_real)(point * (1 + i % 3)) / 16;
}

static void record(program *p)
{
    for (size_t i = 0; i < p->n; i++)
        p->x[i] = (ad_real)(0.5 + (double)(i * 5 % 7) / 8);
    for (size_t i = 0; i < p->n && p->f == rows; i++)
        p->x[i] = input(p, i, 0);
    const ad_fn_options once = { .once = true };
    ad_status s = ad_fn_record_with(&p->fn, &once, p->f, p->ctx, p->n, p->x,
                                    p->m);
    CHECK(s == ADREV_OK, "%s: %s", p->name, ad_message(s));
}

static ad_c_options options_of(const program *p, ad_c_dialect dialect)
{
    return (ad_c_options){ .name = p->name, .functions = p->functions,
                           .absorbing = true, .split = p->split,
                           .common = p->common, .dialect = dialect,
                           .single = sizeof(ad_real) == sizeof(float) };
}

/* --- the arrays of a kernel ------------------------------------------------- */

typedef struct kind {
    unsigned bit;
    const char *what, *in;      // in: v and w, as they follow x
} kind;

static const kind kinds[] = {
    { ADREV_C_VALUE, "value", "" }, { ADREV_C_JVP, "jvp", "v" },
    { ADREV_C_VJP, "vjp", "w" }, { ADREV_C_HVP, "hvp", "wv" },
    { ADREV_C_JACOBIAN_SPARSE, "jacobian_sparse", "" },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

// In the order of arguments: x, c, w, v, the result, work.
typedef struct columns {
    ad_real *array[ARRAYS];
    size_t count[ARRAYS];       // of columns
    long long stride[ARRAYS];
    size_t n, result;
    int left[STRIDE];
} columns;

static void add_array(columns *c, size_t count, long long stride)
{
    c->array[c->n] = calloc(count * STRIDE + 1, sizeof **c->array);
    c->count[c->n] = count;
    c->stride[c->n++] = stride;
}

static ad_real weight(size_t i) { return (ad_real)(1 + i % 3) / 4; }

static size_t results_of(const program *p, const kind *k)
{
    ad_sparsity about = { 0 };
    if (k->bit == ADREV_C_JACOBIAN_SPARSE)
        CHECK(ad_fn_jacobian_pattern(p->fn, &about, NULL, NULL, NULL)
              == ADREV_OK, "%s", p->name);
    return k->bit == ADREV_C_JACOBIAN_SPARSE ? about.nonzeros
         : k->bit == ADREV_C_VJP || k->bit == ADREV_C_HVP ? p->n : p->m;
}

static size_t work_of(const program *p, const kind *k, ad_c_dialect dialect)
{
    ad_c_options o = options_of(p, dialect);
    ad_c_size size[ADREV_C_COUNT];
    size_t at = 0;
    o.functions = k->bit;
    CHECK(ad_fn_c_size(p->fn, &o, size, NULL) == ADREV_OK, "%s", p->name);
    while (1u << at != k->bit)
        at++;
    return size[at].work;
}

// Weights and directions are the same for all points: a stride of 0.
static columns begin_columns(const program *p, const kind *k,
                             ad_c_dialect dialect)
{
    columns c = { .n = 0 };
    add_array(&c, p->n - p->common, STRIDE);
    for (size_t i = 0; i < p->n - p->common; i++)
        for (size_t point = 0; point < POINTS; point++)
            c.array[0][i * STRIDE + point] = input(p, i, point);
    if (p->common > 0)
        add_array(&c, p->common, 0);
    for (size_t i = 0; i < p->common; i++)
        c.array[1][i] = p->x[p->n - p->common + i];
    for (const char *in = k->in; *in != '\0'; in++) {
        add_array(&c, *in == 'v' ? p->n : p->m, 0);
        for (size_t i = 0; i < c.count[c.n - 1]; i++)
            c.array[c.n - 1][i] = weight(i);
    }
    c.result = c.n;
    add_array(&c, results_of(p, k), STRIDE);
    for (size_t i = 0; i < c.count[c.result] * STRIDE; i++)
        c.array[c.result][i] = 77;
    add_array(&c, work_of(p, k, dialect), STRIDE);
    return c;
}

static void end_columns(columns *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->array[i]);
}

static ad_status replay(const program *p, const kind *k, const ad_real *x,
                        ad_real *want)
{
    ad_real w[3 * ADREV_OP_COUNT + TIMES];
    for (size_t i = 0; i < sizeof w / sizeof *w; i++)
        w[i] = weight(i);
    switch (k->bit) {
    case ADREV_C_VALUE: return ad_fn_eval(p->fn, x, want);
    case ADREV_C_JVP:   return ad_fn_jvp(p->fn, x, w, want);
    case ADREV_C_VJP:   return ad_fn_vjp(p->fn, x, w, want);
    case ADREV_C_HVP:   return ad_fn_hvp(p->fn, x, w, w, want);
    default:            return ad_fn_jacobian_sparse(p->fn, x, want);
    }
}

// Whether two numbers are the same; where a device has its own functions, as
// near as OpenCL asks of the worst of them: 16 ulps, twice for a derivative.
static bool is_same(ad_real got, ad_real want, bool exact)
{
    const double ulp = sizeof(ad_real) == sizeof(float) ? 0x1p-23 : 0x1p-52;
    const double size = fabs((double)want) > 1 ? fabs((double)want) : 1;
    return memcmp(&got, &want, sizeof got) == 0 || (got != got && want != want)
        || (!exact && fabs((double)got - (double)want) <= 32 * ulp * size);
}

static void compare(const program *p, const kind *k, const char *how,
                    const columns *c, bool exact)
{
    const size_t n = c->count[c->result];
    ad_real *want = calloc(n + 1, sizeof *want);
    ad_real x[3 * ADREV_OP_COUNT + TIMES];
    size_t stopped = 0;
    for (size_t point = 0; point < POINTS; point++) {
        for (size_t i = 0; i < p->n; i++)
            x[i] = input(p, i, point);
        for (size_t i = 0; i < n; i++)
            want[i] = 77;
        const ad_status s = replay(p, k, x, want);
        const int left = s == ADREV_OK ? 0 : 1 + (int)ad_fn_guard().index;
        stopped += s == ADREV_EPATH;
        CHECK((s == ADREV_OK || s == ADREV_EPATH) && c->left[point] == left,
              "%s %s_%s, point %zu: left at %d, want %d (%s)", how, p->name,
              k->what, point, c->left[point], left, ad_message(s));
        for (size_t i = 0; i < n; i++) {
            const ad_real got = c->array[c->result][i * STRIDE + point];
            CHECK(is_same(got, want[i], exact),
                  "%s %s_%s, point %zu: [%zu] is %a, want %a", how, p->name,
                  k->what, point, i, (double)got, (double)want[i]);
        }
    }
    for (size_t i = 0; i < n; i++)
        CHECK(c->array[c->result][i * STRIDE + POINTS] == 77,
              "%s %s_%s: wrote behind the last point", how, p->name, k->what);
    CHECK(p->f != branches || stopped > 0, "%s: all guards passed", p->name);
    free(want);
}

/* --- CUDA's text ------------------------------------------------------------- */

static FILE *file;

static void put(const char *text, size_t n, void *user)
{
    (void)user;
    fwrite(text, 1, n, file);
}

static void write_text(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", top, name);
    FILE *to = fopen(path, "w");
    fputs(text, to);
    fclose(to);
}

// What stands for CUDA's headers: as C++, and for clang's front end.
static const char shim[] =
    "#ifndef SHIM\n#define SHIM\n"
    "#ifdef __CUDA__\n"
    "#define __device__ __attribute__((device))\n"
    "#define __global__ __attribute__((global))\n"
    "#pragma clang force_cuda_host_device begin\n"
    "#include <math.h>\n"
    "#pragma clang force_cuda_host_device end\n"
    "extern const __device__ struct uint3 { unsigned x, y, z; }\n"
    "    blockIdx, blockDim, threadIdx;\n"
    "#else\n"
    "#define __device__\n"
    "#define __global__\n"
    "static struct { unsigned x; } blockIdx, blockDim, threadIdx;\n"
    "#endif\n#endif\n";

// A function that runs a kernel thread by thread, two more than there are
// points.
static void write_run(const program *p, const kind *k, size_t n)
{
    fprintf(file, "#ifndef __CUDA__\n"
            "extern \"C\" void run_%s_%s(long long points, %s **a,\n"
            "                           const long long *s, int *left)\n{\n"
            "    blockDim.x = 3;\n"
            "    for (unsigned t = 0; t < points + 2; t++) {\n"
            "        blockIdx.x = t / 3;\n        threadIdx.x = t %% 3;\n"
            "        %s_%s_kernel(points, ", p->name, k->what,
            sizeof(ad_real) == sizeof(float) ? "float" : "double", p->name,
            k->what);
    for (size_t i = 0; i < n; i++)
        fprintf(file, "a[%zu], s[%zu], ", i, i);
    fprintf(file, "left);\n    }\n}\n#endif\n");
}

static void write_cuda(program *p, size_t programs)
{
    char path[200];
    snprintf(path, sizeof path, "%s/code.cpp", top);
    file = fopen(path, "w");
    for (size_t i = 0; i < programs; i++) {
        const ad_c_options o = options_of(&p[i], ADREV_CUDA);
        ad_status s = ad_fn_write_c(p[i].fn, &o, put, NULL, NULL);
        CHECK(s == ADREV_OK, "%s: %s", p[i].name, ad_message(s));
        for (int k = 0; k < KINDS; k++)
            if (p[i].functions & kinds[k].bit) {
                columns c = begin_columns(&p[i], &kinds[k], ADREV_CUDA);
                write_run(&p[i], &kinds[k], c.n);
                end_columns(&c);
            }
    }
    fclose(file);
}

typedef void run_fn(long long, ad_real **, const long long *, int *);

static void run_cuda(void *library, const program *p, const kind *k)
{
    char name[80];
    run_fn *run = NULL;
    snprintf(name, sizeof name, "run_%s_%s", p->name, k->what);
    void *symbol = dlsym(library, name);
    if (!CHECK(symbol != NULL, "%s: not there", name))
        return;
    memcpy(&run, &symbol, sizeof run);
    columns c = begin_columns(p, k, ADREV_CUDA);
    run(POINTS, c.array, c.stride, c.left);
    compare(p, k, "CUDA", &c, true);
    end_columns(&c);
}

static void test_cuda(program *p, size_t programs)
{
    char path[200];
    write_text("shim.h", shim);
    write_cuda(p, programs);
    if (!shell("command -v c++ > /dev/null")) {
        printf("kernels: CUDA's text is not run, c++ is not installed\n");
        return;
    }
    if (!CHECK(shell("c++ -std=c++17 -O0 -Wall -Wextra -Werror "
                     "-ffp-contract=off -shared -fPIC -include %s/shim.h "
                     "%s/code.cpp -o %s/code.so", top, top, top),
               "does not compile, or a warning"))
        return;
    snprintf(path, sizeof path, "%s/code.so", top);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!CHECK(library != NULL, "%s", dlerror()))
        return;
    for (size_t i = 0; i < programs; i++)
        for (int k = 0; k < KINDS; k++)
            if (p[i].functions & kinds[k].bit)
                run_cuda(library, &p[i], &kinds[k]);
    dlclose(library);
}

// clang's front ends for CUDA, down to PTX, and for HIP. They include HIP's
// header, which is empty here.
static void test_front_ends(void)
{
    if (!shell("echo '__attribute__((global)) void f() {}' | clang -x cuda "
               "-nocudainc -nocudalib --cuda-device-only "
               "--cuda-gpu-arch=sm_70 -S -o /dev/null - 2> /dev/null")) {
        printf("kernels: no PTX, clang cannot make it here\n");
        return;
    }
    CHECK(shell("mkdir %s/hip && : > %s/hip/hip_runtime.h && clang -x cuda "
                "-std=c++11 -fno-builtin -Wno-unknown-cuda-version -Wall "
                "-Werror -nocudainc -nocudalib --cuda-device-only "
                "--cuda-gpu-arch=sm_70 -S -include %s/shim.h -I%s %s/code.cpp "
                "-o %s/code.ptx", top, top, top, top, top, top),
          "CUDA: does not compile, or a warning");
    CHECK(shell("grep -q 'entry branches_value_kernel' %s/code.ptx", top),
          "no entry in PTX");
    CHECK(shell("clang -x hip -std=c++11 -Wall -Werror -nogpuinc -nogpulib "
                "--cuda-device-only --offload-arch=gfx900 -fsyntax-only "
                "-D__HIPCC__=1 -include %s/shim.h -I%s %s/code.cpp", top, top,
                top), "HIP: does not compile, or a warning");
}

/* --- OpenCL ------------------------------------------------------------------- */

#ifdef OPENCL

#define CALLS(DO)                                                           \
    DO(clGetPlatformIDs) DO(clGetDeviceIDs) DO(clCreateContext)             \
    DO(clCreateCommandQueue) DO(clCreateProgramWithSource)                  \
    DO(clBuildProgram) DO(clGetProgramBuildInfo) DO(clCreateKernel)         \
    DO(clCreateBuffer) DO(clSetKernelArg) DO(clEnqueueNDRangeKernel)        \
    DO(clEnqueueReadBuffer) DO(clReleaseMemObject) DO(clReleaseKernel)      \
    DO(clReleaseProgram) DO(clReleaseCommandQueue) DO(clReleaseContext)

// The library's functions, of which the header has the types.
static struct {
#define DECLARE(name) __typeof__(&name) name;
    CALLS(DECLARE)
#undef DECLARE
} cl;

typedef struct device {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
} device;

static bool load_opencl(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    bool all = library != NULL;
    void *symbol;
#define LOAD(name)                                                          \
    symbol = all ? dlsym(library, #name) : NULL;                            \
    all = all && symbol != NULL;                                            \
    memcpy(&cl.name, &symbol, sizeof symbol);
    CALLS(LOAD)
#undef LOAD
    return all;
}

static bool open_device(device *d)
{
    cl_platform_id platform;
    cl_uint n = 0;
    cl_int error = CL_SUCCESS;
    if (!load_opencl() || cl.clGetPlatformIDs(1, &platform, &n) != CL_SUCCESS
        || n == 0
        || cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d->id, &n)
           != CL_SUCCESS)
        return false;
    d->context = cl.clCreateContext(NULL, 1, &d->id, NULL, NULL, &error);
    if (error != CL_SUCCESS)
        return false;
    d->queue = cl.clCreateCommandQueue(d->context, d->id, 0, &error);
    return error == CL_SUCCESS;
}

static void run_opencl(const device *d, cl_program built, const program *p,
                       const kind *k)
{
    char name[80];
    cl_int error;
    cl_mem memory[ARRAYS + 1];
    cl_uint at = 0;
    const cl_long points = POINTS;
    const size_t global = POINTS + 2;
    columns c = begin_columns(p, k, ADREV_OPENCL);
    snprintf(name, sizeof name, "%s_%s_kernel", p->name, k->what);
    cl_kernel kernel = cl.clCreateKernel(built, name, &error);
    if (!CHECK(error == CL_SUCCESS, "%s: error %d", name, error))
        return;
    error |= cl.clSetKernelArg(kernel, at++, sizeof points, &points);
    for (size_t i = 0; i <= c.n; i++) {
        void *array = i < c.n ? (void *)c.array[i] : (void *)c.left;
        const size_t bytes = i < c.n
            ? (c.count[i] * STRIDE + 1) * sizeof **c.array : sizeof c.left;
        const cl_long stride = i < c.n ? c.stride[i] : 0;
        memory[i] = cl.clCreateBuffer(d->context, CL_MEM_COPY_HOST_PTR, bytes,
                                      array, &error);
        error |= cl.clSetKernelArg(kernel, at++, sizeof memory[i], &memory[i]);
        if (i < c.n)
            error |= cl.clSetKernelArg(kernel, at++, sizeof stride, &stride);
    }
    error |= cl.clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &global, NULL,
                                       0, NULL, NULL);
    error |= cl.clEnqueueReadBuffer(
        d->queue, memory[c.result], CL_TRUE, 0,
        c.count[c.result] * STRIDE * sizeof **c.array, c.array[c.result], 0,
        NULL, NULL);
    error |= cl.clEnqueueReadBuffer(d->queue, memory[c.n], CL_TRUE, 0,
                                    sizeof c.left, c.left, 0, NULL, NULL);
    CHECK(error == CL_SUCCESS, "%s: error %d", name, error);
    compare(p, k, "OpenCL", &c, p->arithmetic);
    for (size_t i = 0; i <= c.n; i++)
        cl.clReleaseMemObject(memory[i]);
    cl.clReleaseKernel(kernel);
    end_columns(&c);
}

// The code of a program as a string.
static char *text_of(const program *p, size_t *n)
{
    const ad_c_options o = options_of(p, ADREV_OPENCL);
    char *text = NULL;
    file = open_memstream(&text, n);
    ad_status s = ad_fn_write_c(p->fn, &o, put, NULL, NULL);
    CHECK(s == ADREV_OK, "%s: %s", p->name, ad_message(s));
    fclose(file);
    return text;
}

static void test_opencl_of(const device *d, const program *p)
{
    static char said[4000];
    size_t n;
    cl_int error;
    char *text = text_of(p, &n);
    const char *source = text;
    cl_program built = cl.clCreateProgramWithSource(d->context, 1, &source, &n,
                                                    &error);
    error |= cl.clBuildProgram(built, 1, &d->id, "-cl-std=CL1.2 -Werror", NULL,
                               NULL);
    cl.clGetProgramBuildInfo(built, d->id, CL_PROGRAM_BUILD_LOG,
                             sizeof said - 1, said, NULL);
    if (CHECK(error == CL_SUCCESS, "%s: %s", p->name, said))
        for (int k = 0; k < KINDS; k++)
            if (p->functions & kinds[k].bit)
                run_opencl(d, built, p, &kinds[k]);
    cl.clReleaseProgram(built);
    free(text);
}

static void test_opencl(program *p, size_t programs)
{
    device d;
    // pocl keeps what it has compiled
    setenv("POCL_CACHE_DIR", top, 1);
    if (!open_device(&d)) {
        printf("kernels: OpenCL is not run, there is no device\n");
        return;
    }
    for (size_t i = 0; i < programs; i++)
        test_opencl_of(&d, &p[i]);
    cl.clReleaseCommandQueue(d.queue);
    cl.clReleaseContext(d.context);
}

#else

static void test_opencl(program *p, size_t programs)
{
    (void)p;
    (void)programs;
    printf("kernels: OpenCL is not run, there is no CL/cl.h\n");
}

#endif

/* --- what is refused ------------------------------------------------------------ */

static void one_row(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = apply(*(const unsigned *)ctx, x);
}

static ad_status write_with(ad_fn *fn, ad_c_options o)
{
    return ad_fn_write_c(fn, &o, NULL, NULL, NULL);
}

static void test_refused(void)
{
    const ad_fn_options once = { .once = true };
    const ad_real x[] = { (ad_real)1.5, (ad_real)1.25, (ad_real)0.5 };
    ad_fn *fn;
    for (unsigned op = 0; op < ADREV_OP_COUNT; op++)
        for (int d = ADREV_OPENCL; d <= ADREV_CUDA; d++) {
            CHECK(ad_fn_record_with(&fn, &once, one_row, &op, 3, x, 1)
                  == ADREV_OK, "%s", ad_op_name(op));
            ad_status s = write_with(fn, (ad_c_options){
                .dialect = (ad_c_dialect)d });
            CHECK(s == (is_missing(op, (ad_c_dialect)d) ? ADREV_EEXTERNAL
                                                        : ADREV_OK),
                  "%s, dialect %d: %s", ad_op_name(op), d, ad_message(s));
            ad_fn_free(fn);
        }
    CHECK(ad_fn_record_with(&fn, &once, branches, NULL, 5,
                            (const ad_real[]){ 1, 1, 1, 2, 2 }, 2) == ADREV_OK,
          "recorded");
    const ad_c_options wrong[] = {
        { .dialect = ADREV_OPENCL, .casadi = true },
        { .dialect = ADREV_CUDA, .exported = true, .header = "f.h" },
        { .dialect = (ad_c_dialect)(ADREV_CUDA + 1) },
        { .dialect = ADREV_CUDA, .common = 6 }, { .common = 1 },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(write_with(fn, wrong[i]) == ADREV_ESHAPE, "options %zu", i);
    const ad_c_options header = { .dialect = ADREV_CUDA, .exported = true };
    CHECK(ad_fn_write_h(fn, &header, NULL, NULL, NULL) == ADREV_ESHAPE, "%s",
          "a header");
    CHECK(write_with(fn, (ad_c_options){ .dialect = ADREV_OPENCL, .common = 5 })
          == ADREV_OK, "all inputs common");
    ad_fn_free(fn);
}

int main(void)
{
    static ad_c_dialect all_of[] = { ADREV_OPENCL, ADREV_CUDA };
    static size_t size = TIMES;
    const unsigned first = ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP;
    const unsigned second = first | (MORE ? ADREV_C_HVP : 0);
    static program p[] = {
        { .name = "rows", .f = rows, .n = 3 * ADREV_OP_COUNT,
          .m = ADREV_OP_COUNT },
        { .name = "branches", .f = branches, .n = 5, .m = 2, .common = 2,
          .arithmetic = true },
        { .name = "arrays", .f = arrays, .n = 9, .m = 14 },
        { .name = "stencil", .f = stencil, .ctx = &size, .n = TIMES, .m = TIMES,
          .arithmetic = true },
        { .name = "parts", .f = stencil, .ctx = &size, .n = TIMES, .m = TIMES,
          .split = 5, .common = 1, .arithmetic = true },
        { .name = "data", .f = data, .ctx = &size, .n = 4, .m = 1, .common = 1,
          .arithmetic = true },
    };
    enum { N = sizeof p / sizeof *p };
    if (mkdtemp(top) == NULL)
        return 2;
    for (size_t i = 0; i < N; i++)
        p[i].functions = i == 0 || i == 4 ? ADREV_C_VALUE | ADREV_C_VJP
                       : i == 3 ? second | ADREV_C_JACOBIAN_SPARSE : second;
    for (int d = 0; d < 2; d++) {
        p[0].ctx = &all_of[d];
        for (size_t i = 0; i < N; i++)
            record(&p[i]);
        if (all_of[d] == ADREV_CUDA) {
            test_cuda(p, N);
            test_front_ends();
        } else
            test_opencl(p, N);
        for (size_t i = 0; i < N; i++)
            ad_fn_free(p[i].fn);
    }
    test_refused();
    (void)shell("rm -r %s", top);
    return check_done("kernels");
}
