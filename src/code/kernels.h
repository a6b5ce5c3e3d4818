#pragma once

/* === code/kernels ===========================================================
 * What code in a dialect has besides its functions: tables in front of them, and
 * kernels, which call them for one point a work item.
 *
 *   needs   code/api code/text code/layout code/bodies
 *   offers  adx_say_tables adx_say_kernel
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Writes the tables of all loops, which device code has outside of functions.
static void adx_say_tables(adx_writing *k)
{
    adx_text *t = k->text;
    bool muted = t->muted;
    t->muted = true;
    t->tables = ADX_TABLES_ONLY;
    for (size_t part = 0; part < k->parts; part++)
        adx_say_nodes(k, part);
    adx_say_results(k);
    t->tables = ADX_TABLES_DONE;
    t->muted = muted;
}

static void adx_say_kernel_argument(adx_text *t, const char *array, bool input)
{
    if (input)
        adx_say(t, "%s_stride == 0 ? %s : %s + p, "
                "%s_stride == 0 ? 1 : %s_stride,\n            ", array, array,
                array, array, array);
    else
        adx_say(t, "%s + p, %s_stride,\n            ", array, array);
}

// Writes the kernel, which calls the function for one point.
static void adx_say_kernel(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_results *results = k->results;
    bool cuda = t->dialect == ADREV_CUDA;
    adx_say(t, "%s void %s_%s_kernel(const %s points, ",
            cuda ? "extern \"C\" __global__" : "__kernel", t->name, k->what,
            adx_stride_type(t));
    adx_say_inputs(k, true);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++) {
        adx_say_array(t, results->array[a], false);
        adx_say(t, ", ");
    }
    adx_say_array(t, "work", false);
    adx_say(t, ", %sint *%s left)\n{\n    const %s p = %s;\n"
            "    if (p < points)\n        left[p] = %s_%s(\n            ",
            adx_array_space(t), adx_restrict_word(t), adx_stride_type(t),
            cuda ? "(long long)blockIdx.x * blockDim.x + threadIdx.x"
                 : "(long)get_global_id(0)", t->name, k->what);
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++)
        adx_say_kernel_argument(t, k->array[i], true);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++)
        adx_say_kernel_argument(t, results->array[a], false);
    adx_say(t, "work + p, work_stride);\n}\n\n");
}

ADX_SELDOM_END
