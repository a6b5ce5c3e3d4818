// tags: part
// SPDX-License-Identifier: MIT-0
// port: enumeration constants as sizes, indices and cases
// function: enum_cases
// with: x:3
// in: 3
// out: 3
// at: 0.4 0.9 2
// call: y[0] = enum_cases@(x, ENUM_LINEAR);
// call: y[1] = enum_cases@(x, ENUM_SQUARE); y[2] = enum_cases@(x, 7);

enum enum_kind { ENUM_LINEAR, ENUM_SQUARE = 4, ENUM_CUBE };
enum { ENUM_A, ENUM_B, ENUM_C, ENUM_COUNT };

double enum_cases(const double x[ENUM_COUNT], int kind)
{
    double w[ENUM_COUNT] = { [ENUM_C] = 2, [ENUM_A] = x[ENUM_B] };
    switch ((enum enum_kind)kind) {
    case ENUM_LINEAR:
        return x[ENUM_A] * w[ENUM_C];
    case ENUM_SQUARE:
        return x[ENUM_A] * x[ENUM_A] + w[ENUM_A];
    case ENUM_CUBE:
    default:
        break;
    }
    return x[ENUM_C] * w[ENUM_B] + x[ENUM_C];
}
