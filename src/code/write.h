#pragma once

/* === code/write =============================================================
 * The whole C file, and its header: what stands at the top, then the functions,
 * one after another.
 *
 *   needs   tape/memory core/cells function/api code/api code/text code/wanted
 *           code/casadi
 *   offers  adx_is_usable adx_is_includable ADX_FORM_loaded adx_write_c
 * ========================================================================== */

ADX_SELDOM_BEGIN

// What a dialect has instead of <math.h>, and how code reads an array. NVRTC
// has no headers.
static void adx_say_dialect(adx_text *t)
{
    static const char opencl[] =
        "#ifdef cl_khr_fp64\n"
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        "#endif\n"
        "#pragma OPENCL FP_CONTRACT OFF\n\n";
    static const char cuda[] =
        "#if defined __CUDACC_RTC__ || defined __HIPCC_RTC__\n"
        "#define NAN __int_as_float(0x7fffffff)\n"
        "#define HUGE_VALF __int_as_float(0x7f800000)\n"
        "#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)\n"
        "#else\n"
        "#ifdef __HIPCC__\n"
        "#include <hip/hip_runtime.h>\n"
        "#endif\n"
        "#include <math.h>\n"
        "#endif\n\n";
    const char *top = t->dialect == ADREV_OPENCL ? opencl : cuda;
    adx_put_text(t, top, strlen(top));
    adx_say(t, "#define %s_AT(array, i) array[(i) * array##_stride]\n\n",
            t->name);
}

// Writes the top of the file. In a header its comment says what is true of each
// function.
static void adx_say_top(const adx_c_file *file)
{
    adx_text *t = file->text;
    const char *includes = file->options->header;
    adx_say(t, "/* %lu inputs, ", (unsigned long)file->fn->n);
    if (file->fn->variables < file->fn->n)
        adx_say(t, "derivatives by the first %lu, ",
                (unsigned long)file->fn->variables);
    adx_say(t, "%lu results; written by adrev " ADREV_VERSION ".%s",
            (unsigned long)file->fn->m, t->header ? "" : " */\n\n");
    if (!t->header && includes != NULL) {
        adx_say(t, "#include \"");
        adx_put_text(t, includes, strlen(includes));
        adx_say(t, "\"\n");
    }
    if (t->dialect != ADREV_C99)
        adx_say_dialect(t);
    else if (!t->header)
        adx_say_math(t, t->loaded);
    else
        adx_say(t, "\n *\n * Functions return 0, or 1 + the guard that x did "
                "not pass: then nothing\n * but work has been written. work "
                "has %s_..._WORK numbers, whatever is in\n * them. Arrays do "
                "not overlap. A\n * derivative has the unit of its result "
                "divided by those of its inputs.\n */\n\n"
                "#ifndef %s_H\n#define %s_H\n\n"
                "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", t->name,
                t->name, t->name);
}

// Helper functions come first; but which are needed is known when all others
// have been written. So these wait in memory, and on failure nothing is
// written.
static ad_status adx_write_all(adx_c_file *file)
{
    adx_text *t = file->text;
    adx_text out = *t;
    adx_bytes functions = { .memory = &file->fn->memory };
    if (out.write != NULL) {
        t->write = adx_put_bytes;
        t->user = &functions;
    }
    ad_status status = adx_do_kinds(file);
    if (status == ADREV_OK && file->options->casadi)
        status = adx_write_points(file);
    if (status == ADREV_OK && (functions.failed || t->failed))
        status = ADREV_ENOMEM;
    out.bytes = t->bytes;
    *t = out;
    if (status == ADREV_OK) {
        adx_say_top(file);
        if (!t->header)
            adx_say_helpers(t, file->needed);
        if (functions.n > 0)
            t->write((const char *)functions.v, functions.n, t->user);
        if (t->header)
            adx_say(t, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    }
    adx_drop(functions.memory, functions.v);
    return status;
}

// Names that cannot be used: keywords, and what <math.h> declares.
static const char adx_taken_names[] =
    " auto break case char const continue default do double else enum extern"
    " float for goto if inline int long register restrict return short signed"
    " sizeof static struct switch typedef union unsigned void volatile while"
    " asm typeof main casadi_real casadi_int"
    " INFINITY NAN HUGE_VAL HUGE_VALF HUGE_VALL MATH_ERRNO MATH_ERREXCEPT"
    " math_errhandling double_t float_t signgam j0 j1 jn y0 y1 yn gamma"
    " fpclassify isfinite isinf isnan isnormal signbit isgreater"
    " isgreaterequal isless islessequal islessgreater isunordered ";
static const char adx_math_names[] =        // these also with an f or l behind
    " acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem"
    " erf erfc exp exp10 exp2 expm1 fabs fdim finite floor fma fmax fmin fmod"
    " frexp hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log"
    " log10 log1p log2 logb lrint lround modf nan nearbyint nextafter"
    " nexttoward pow pow10 remainder remquo rint round scalb scalbln scalbn"
    " significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn ";

// Whether a name of n characters is in a list of names, each with a blank
// before and behind it.
static bool adx_is_listed(const char *list, const char *name, size_t n)
{
    for (; *list != '\0'; list += 1 + strcspn(list + 1, " "))
        if (strncmp(list + 1, name, n) == 0 && list[1 + n] == ' ')
            return true;
    return false;
}

static bool adx_is_usable(const char *name)
{
    size_t n = 0;
    while (n <= 100 && (adx_is_letter(name[n])
                        || (n > 0 && adx_is_digit(name[n]))))
        n++;
    return n > 0 && n <= 100 && name[n] == '\0'
        && !adx_is_listed(adx_taken_names, name, n)
        && !adx_is_listed(adx_math_names, name, n)
        && !(n > 1 && strchr("fl", name[n - 1]) != NULL
             && adx_is_listed(adx_math_names, name, n - 1));
}

// Whether a header of that name can be included. NULL is allowed.
static bool adx_is_includable(const char *name)
{
    return name == NULL || (strlen(name) <= 200
                            && strpbrk(name, "\"\r\n") == NULL);
}

// What is written besides a function's plain code.
typedef enum adx_form {
    ADX_FORM_code, ADX_FORM_loaded, ADX_FORM_header
} adx_form;

// Checks the options and writes the file; ADREV_ESHAPE: they contradict one
// another, or a name cannot be used.
static ad_status adx_write_c(ad_fn *fn, const ad_c_options *o, adx_form form,
                             ad_write_fn *write, void *user, size_t *bytes,
                             ad_c_size size[])
{
    bool loaded = form == ADX_FORM_loaded;
    bool declared = form == ADX_FORM_header || o->header != NULL;
    unsigned functions = o->functions != 0 ? o->functions
        : ADREV_C_VALUE | ADREV_C_VJP | (fn->m == 1 ? ADREV_C_GRADIENT : 0u);
    if ((functions & ~(unsigned)(loaded ? ADX_C_ALL : ADX_C_ALL >> 3)) != 0
        || (functions & ADREV_C_GRADIENT && fn->m != 1)
        || (o->casadi && (o->single || fn->variables < fn->n))
        || (declared && !o->exported)
        || (o->name != NULL && !adx_is_usable(o->name))
        || !adx_is_includable(o->header)
        || (o->dialect == ADREV_C99 ? o->common > 0
            : (unsigned)o->dialect > ADREV_CUDA || declared || o->casadi
              || loaded || o->common > fn->n))
        return ADREV_ESHAPE;
    adx_text t = { .write = write, .user = user,
                   .name = o->name == NULL ? "f" : o->name,
                   .real = o->single ? "float" : "double",
                   .single = o->single, .absorbing = o->absorbing,
                   .dialect = o->dialect,
                   .exported = o->exported, .loaded = loaded,
                   .header = form == ADX_FORM_header };
    adx_c_file file = { .fn = fn, .options = o, .asked = functions, .text = &t,
                    .size = size };
    ad_status status = adx_write_all(&file);
    if (bytes != NULL && status == ADREV_OK)
        *bytes = t.bytes;
    return status;
}

ADX_API ad_status ad_fn_write_c(ad_fn *fn, const ad_c_options *options,
                                ad_write_fn *write, void *user,
                                size_t *bytes)
{
    static const ad_c_options none;
    return fn == NULL ? ADREV_ESHAPE
         : adx_write_c(fn, options == NULL ? &none : options, ADX_FORM_code,
                       write, user, bytes, NULL);
}

ADX_API ad_status ad_fn_write_h(ad_fn *fn, const ad_c_options *options,
                                ad_write_fn *write, void *user,
                                size_t *bytes)
{
    return fn == NULL || options == NULL ? ADREV_ESHAPE
         : adx_write_c(fn, options, ADX_FORM_header, write, user, bytes, NULL);
}

ADX_API ad_status ad_fn_c_size(ad_fn *fn, const ad_c_options *options,
                               ad_c_size size[], size_t *bytes)
{
    static const ad_c_options none;
    ad_c_size found[ADREV_C_COUNT] = { { .bytes = 0 } };
    if (fn == NULL || size == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_write_c(fn, options == NULL ? &none : options,
                                   ADX_FORM_code, NULL, NULL, bytes, found);
    if (status == ADREV_OK)
        memcpy(size, found, sizeof found);
    return status;
}

ADX_SELDOM_END
