// SPDX-License-Identifier: MIT-0
/* write_formulas.h - prints a text of formulas as C code: for a program of
 * tests/firmware that is compiled with WRITE_FORMULAS. TEXT is the text, SIZES
 * its sizes.                                                                */

#include <stdio.h>

static const struct {
    const char *name;
    size_t size;
} sizes[] = { SIZES };

static void put(const char *text, size_t n, void *file)
{
    (void)fwrite(text, 1, n, file);
}

int main(void)
{
    const ad_c_options options = {
        .name = "formulas", .functions = ADREV_C_GRADIENT,
        .single = sizeof(number) == sizeof(float)
    };
    ad_tensor *t = NULL;
    ad_status s = ad_tensor_new(&t, TEXT, NULL, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && s == ADREV_OK; i++)
        s = ad_tensor_size(t, sizes[i].name, sizes[i].size);
    if (s == ADREV_OK)
        s = ad_tensor_write_c(t, &options, put, stdout, NULL);
    ad_tensor_free(t);
    return s != ADREV_OK;
}
