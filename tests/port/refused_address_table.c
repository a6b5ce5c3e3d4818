// tags: part
// SPDX-License-Identifier: MIT-0
// port: static data whose addresses another function gives away
// function: refused_address_table
// with: x:2

static double refused_slot_in, refused_slot_out;
static double *refused_slots[2] = { &refused_slot_in, &refused_slot_out };
void refused_run_slots(void);

double **refused_give_slots(void)
{
    return refused_slots;
}

double refused_address_table(const double *x)
{
    refused_slot_in = x[0]; // refused: refused_slot_in
    refused_run_slots();
    return refused_slot_out * x[1];
}
