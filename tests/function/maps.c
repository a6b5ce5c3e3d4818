// SPDX-License-Identifier: MIT-0
// tags: recorded last-bits
/* maps.c - recorded functions at many points, on one thread. See maps.h.    */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"
#include "maps.h"

int main(void)
{
    enum { L = ADREV_LANES_MOST };
    static const size_t points[] = { 0, 1, 2, L - 1, L, L + 1, 2 * L - 1,
                                     2 * L, 3 * L + 5, 4 * L - 1, 4 * L,
                                     4 * L + 1, 8 * L + 5, 64 * L + 1 };
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        maps_functions_at(points[i], points[i] < 2 * L);
        maps_exact(points[i]);
    }
    maps_functions_at(3000, false);
    maps_exact(100000);
    CHECK(maps_points_left > 1000 && maps_points_nan > 1000,
          "%zu points left, %zu NaN: too few", maps_points_left,
          maps_points_nan);
    maps_errors();
    maps_memory();
    return check_done("maps");
}
