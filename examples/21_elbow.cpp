/* 21  How must a robot bend its arm to reach a point?
 *
 * Three joints, and two equations for the place of its hand. Newton's method
 * with the shortest step, J' (J J')^-1 r, finds an answer. The arm is a template
 * of C++: with plain numbers it is where the hand is, with recorded ones its
 * Jacobian.
 *
 * Shows    operators and functions of C++, ad_rev in a template and a vector
 * Needs    02; a C++ compiler. Without one, it is not built
 * Prints   hand (2.4279, 1.6586), 1.047282 from the point
 *          hand (1.3647, 1.7666), 0.582995 from the point
 *          success: joints 0.6 0.4 0.5, hand (1.6000, 2.3000)
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "adrev.h"

#include <cmath>
#include <cstdio>
#include <vector>

template <class T> struct place { T x, y; };

// Each joint turns what comes after it.
template <class T> place<T> hand(const std::vector<T> &joint)
{
    using std::cos;             // of double; those of adrev are found by type
    using std::sin;
    const double length[3] = { 1.2, 1.0, 0.8 };
    place<T> p = { 0, 0 };
    T angle = 0;
    for (size_t i = 0; i < joint.size(); i++) {
        angle += joint[i];
        p.x += length[i] * cos(angle);
        p.y += length[i] * sin(angle);
    }
    return p;
}

// One step towards the goal.
static ad_status step(std::vector<double> &joint, place<double> goal)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    std::vector<ad_rev> q(joint.size());
    ad_inputs(q.size(), joint.data(), q.data());
    place<ad_rev> p = hand(q);
    const ad_rev off[2] = { goal.x - p.x, goal.y - p.y };
    double J[2][3];
    ad_status status = ad_jacobian(t, 2, off, 3, q.data(), J[0]);
    double a = 0, b = 0, c = 0;                 // J J' = (a b; b c)
    for (int j = 0; j < 3; j++) {
        a += J[0][j] * J[0][j];
        b += J[0][j] * J[1][j];
        c += J[1][j] * J[1][j];
    }
    const double x = ad_value(off[0]), y = ad_value(off[1]);
    const double u = (c * x - b * y) / (a * c - b * b);
    const double v = (a * y - b * x) / (a * c - b * b);
    for (size_t j = 0; j < 3; j++)
        joint[j] -= J[0][j] * u + J[1][j] * v;
    ad_tape_free(t);
    return status;
}

int main()
{
    const place<double> goal = { 1.6, 2.3 };
    std::vector<double> joint = { 0.4, 0.2, 0.3 };
    ad_status status = ADREV_OK;
    for (int i = 0; i < 6 && status == ADREV_OK; i++) {
        place<double> p = hand(joint);
        if (i < 2)
            std::printf("hand (%.4f, %.4f), %.6f from the point\n", p.x, p.y,
                        std::hypot(goal.x - p.x, goal.y - p.y));
        status = step(joint, goal);
    }
    place<double> p = hand(joint);
    std::printf("%s: joints %.1f %.1f %.1f, hand (%.4f, %.4f)\n",
                ad_message(status), joint[0], joint[1], joint[2], p.x, p.y);
    return status != ADREV_OK;
}
