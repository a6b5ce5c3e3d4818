// A body for several types.
{
    BODY_NUMBER s = BODY_BEGINS;
    int i;

    for (i = 0; i < n; i++)
        s += BODY_TERM(x[i]);   // each once
    return s;
}
