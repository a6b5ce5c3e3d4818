// SPDX-License-Identifier: MIT-0
/* write.h - prints `model` as C code: for the end of a program of tests/firmware
 * that is compiled with WRITE. INPUTS and OUTPUTS are its numbers.           */

#include <stdio.h>

static void put(const char *text, size_t n, void *file)
{
    (void)fwrite(text, 1, n, file);
}

int main(void)
{
    const ad_c_options options = { .name = "model", .functions =
                                       ADREV_C_LINEARIZE,
                                   .single = sizeof(number) == sizeof(float) };
    number x[INPUTS];
    ad_fn *fn = NULL;
    for (int i = 0; i < INPUTS; i++)
        x[i] = (number)(i + 1) / 8;
    ad_status s = ad_fn_record(&fn, model, NULL, INPUTS, x, OUTPUTS);
    if (s == ADREV_OK)
        s = ad_fn_write_c(fn, &options, put, stdout, NULL);
    ad_fn_free(fn);
    return s != ADREV_OK;
}
