// tags: part
// Nothing of it is needed, and it cannot be read without a flag.
// SPDX-License-Identifier: MIT-0
#ifndef WITH_OTHER
#error "this file must not be read"
#endif
double other(double x) { return x; }
