    /* of included_table.c */
    1, -0.5, 0.25, 2.0 / 3,
