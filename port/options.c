/* options.c - what the command line says; main.c reads it.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"

options opt = { .suffix = "_ad", .number = "ad_rev", .clang = "clang",
                .rec = "ad_rec", .acc = "ad_acc", .points = 3, .seed = 1 };
