// SPDX-License-Identifier: MIT-0
/* write.h - prints recorded functions as C code: for the end of a program of
 * tests/firmware that is compiled with WRITE. MODELS lists them: name,
 * function, inputs, results.                                                 */

#include <stdio.h>

static const struct {
    const char *name;
    ad_vector_fn *function;
    size_t inputs, results;
} models[] = { MODELS };

enum { MOST_INPUTS = 40 };

static void put(const char *text, size_t n, void *file)
{
    (void)fwrite(text, 1, n, file);
}

int main(void)
{
    ad_status s = ADREV_OK;
    number x[MOST_INPUTS];
    for (int i = 0; i < MOST_INPUTS; i++)
        x[i] = (number)(i + 1) / 8;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        const ad_c_options options = {
            .name = models[k].name, .functions = ADREV_C_LINEARIZE,
            .single = sizeof(number) == sizeof(float)
        };
        ad_fn *fn = NULL;
        s = ad_fn_record(&fn, models[k].function, NULL, models[k].inputs, x,
                         models[k].results);
        if (s == ADREV_OK)
            s = ad_fn_write_c(fn, &options, put, stdout, NULL);
        ad_fn_free(fn);
        if (s != ADREV_OK)
            break;
    }
    return s != ADREV_OK;
}
