#pragma once

/* === mpi/queries ============================================================
 * Derivatives of a recording that is spread over ranks. Each rank sweeps its own
 * tape; the statements in it exchange adjoints or tangents. All agree before and
 * after, so that none begins a sweep that another does not, and none returns
 * what another could not complete.
 *
 *   needs   tape/memory sweep/sweep sweep/queries mpi/api mpi/context
 *           mpi/agreement mpi/grad mpi/statements
 * ========================================================================== */

// The status of a query before its sweep, on all ranks.
static ad_status adx_mpi_begin_query(ad_mpi *c, ad_tape *t, ad_status status,
                                     uint64_t kind, size_t m)
{
    if (status != ADREV_OK && t != NULL && t->status == status)
        adx_mpi_stop(c, status, ad_tape_reason(t));
    return adx_mpi_agree(c, status, adx_mpi_print(kind, m, 0, 0, NULL), true);
}

// Sweeps the tape of this rank; a[] are its adjoints or tangents.
static ad_status adx_mpi_sweep(ad_mpi *c, const ad_tape *t, adx_sweep_fn *sweep,
                               ad_real a[])
{
    ad_mpi *before = adx_mpi_asked;
    adx_mpi_asked = c;
    bool well = adx_sweep(t, sweep, a);
    adx_mpi_asked = before;
    ad_status status = adx_mpi_status_of(c);
    return adx_mpi_agree(c, well || status != ADREV_OK ? status
                                                       : ADREV_EEXTERNAL,
                         0, false);
}

static ad_status adx_mpi_pull_back(ad_mpi *c, ad_tape *t, size_t m,
                                   const ad_rev y[], const ad_real dy[],
                                   size_t n, const ad_rev x[], ad_real dx[],
                                   uint64_t kind)
{
    bool missing = adx_no_array(m, dy) || adx_no_array(n, dx);
    bool run;
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    ad_real *adj = status != ADREV_OK ? NULL
                 : adx_cleared(t, 1, t->floor.adx_seq);
    if (status == ADREV_OK && adj == NULL)
        status = ADREV_ENOMEM;
    status = adx_mpi_begin_query(c, t, status, kind, 0);
    if (status != ADREV_OK)
        return status;
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0)
            *adx_derivative(t, adj, y[i], 1) += dy[i];
    status = adx_mpi_sweep(c, t, adx_reverse_1, adj);
    if (status == ADREV_OK)
        adx_read(t, n, x, adj, run, dx);
    return status;
}

ADX_API ad_status ad_mpi_gradient(ad_mpi *c, ad_tape *t, ad_rev y, size_t n,
                                  const ad_rev x[], ad_real g[])
{
    static const ad_real one = 1;
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    return adx_mpi_pull_back(c, t, c->rank == 0, &y, &one, n, x, g, 2);
}

ADX_API ad_status ad_mpi_pullback(ad_mpi *c, ad_tape *t, size_t m,
                                  const ad_rev y[], const ad_real dy[],
                                  size_t n, const ad_rev x[], ad_real dx[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    return adx_mpi_pull_back(c, t, m, y, dy, n, x, dx, 3);
}

ADX_API ad_status ad_mpi_pushforward(ad_mpi *c, ad_tape *t, size_t n,
                                     const ad_rev x[], const ad_real dx[],
                                     size_t m, const ad_rev y[], ad_real dy[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    bool missing = adx_no_array(m, dy) || adx_no_array(n, dx);
    bool run;
    status = adx_check_query(t, m, y, n, x, missing, &run);
    ad_real *tan = status != ADREV_OK ? NULL : adx_cleared(t, 1, 0);
    if (status == ADREV_OK && tan == NULL)
        status = ADREV_ENOMEM;
    status = adx_mpi_begin_query(c, t, status, 4, 0);
    if (status != ADREV_OK)
        return status;
    for (size_t j = 0; j < n; j++)
        *adx_derivative(t, tan, x[j], 1) += dx[j];
    status = adx_mpi_sweep(c, t, adx_forward_1, tan);
    for (size_t i = 0; status == ADREV_OK && i < m; i++)
        dy[i] = y[i].job == 0 ? 0 : *adx_derivative(t, tan, y[i], 1);
    return status;
}

// One sweep for rows `first` to `first + width - 1`.
static ad_status adx_mpi_rows(ad_mpi *c, ad_tape *t, size_t width, size_t first,
                              size_t m, const ad_rev y[], size_t n,
                              const ad_rev x[], ad_real J[])
{
    size_t rows = m - first < width ? m - first : width;
    ad_real *adj = adx_cleared(t, width, t->floor.adx_seq);
    for (size_t w = 0; c->rank == 0 && w < rows; w++)
        if (y[first + w].job != 0)
            adx_derivative(t, adj, y[first + w], width)[w] += 1;
    ad_status status = adx_mpi_sweep(c, t, ADX_FOR_WIDTH(width, adx_reverse),
                                     adj);
    for (size_t j = 0; status == ADREV_OK && j < n; j++) {
        const ad_real *column = adx_derivative(t, adj, x[j], width);
        for (size_t w = 0; w < rows; w++)
            J[(first + w) * n + j] = column[w];
    }
    return status;
}

ADX_API ad_status ad_mpi_jacobian(ad_mpi *c, ad_tape *t, size_t m,
                                  const ad_rev y[], size_t n,
                                  const ad_rev x[], ad_real J[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    bool missing = m > ADX_MOST_ELEMENTS
                || adx_no_array(adx_size_times(m, n), J);
    bool run;
    status = adx_check_query(t, c->rank == 0 ? m : 0, y, n, x,
                                       missing, &run);
    size_t width = adx_width(m, ADX_WIDEST);
    if (status == ADREV_OK && !adx_afford(t, width))
        status = ADREV_ENOMEM;
    status = adx_mpi_begin_query(c, t, status, 5, m);
    for (size_t i = 0; status == ADREV_OK && i < m; i += width)
        status = adx_mpi_rows(c, t, width, i, m, y, n, x, J);
    return status;
}
