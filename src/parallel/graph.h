#pragma once

/* === parallel/graph =========================================================
 * The job graph is not stored. It is read off the tapes, where each entry of a
 * fork ends a job.
 *
 *   needs   tape/layout tape/memory tape/entries tape/walk sweep/sweep
 *           check/print parallel/api parallel/team parallel/sweep
 * ========================================================================== */

ADX_SELDOM_BEGIN

ADX_API void ad_tape_measure(ad_tape *t, bool on)
{
    if (t == NULL || t->allocator.alloc == NULL)
        return;
    adx_worker *w = adx_worker_of(t);
    if (w == NULL)
        adx_fail(t, ADREV_ENOMEM);
    else
        w->team->measure = on;
}

typedef struct adx_survey {
    ad_job *job;
    size_t room;
    size_t next;                    // number
} adx_survey;

static void adx_list_job(adx_survey *s, size_t number, const ad_job *job)
{
    if (number < s->room)
        s->job[number] = *job;
}

// Ends a job, at a fork or with its task. Imports are values of the tape, too,
// but are counted apart.
static void adx_end_job(adx_survey *s, size_t number, ad_job *job,
                        size_t imports)
{
    job->imports = imports;
    job->values -= imports;
    adx_list_job(s, number, job);
}

static double adx_seconds(double from, double to)
{
    return from == 0 || to == 0 || to < from ? 0 : to - from;
}

// Lists the jobs of a task, from a cursor to its end, and those of its
// branches. A fork ends a job. Its n branches begin with the next n numbers,
// and the job behind its join has the number after those. So the walk leaps
// from the first entry of a fork to the second.
static void adx_survey_task(adx_survey *s, const ad_tape *t, adx_cursor at,
                            size_t number, size_t join, const adx_task *task)
{
    ad_job job = { .values = task->parent == task ? at.seq : 0 };
    size_t imports = 0;
    size_t before = at.seq;
    double primal = task->primal[0];
    double reverse = task->reverse[1];

    for (unsigned header; (header = adx_next(t, &at)) != 0; before = at.seq) {
        job.values += header == ADX_GAP ? 0 : at.seq - before;
        if (!(header & ADX_OTHER)) {
            job.statements++;
            job.operands += at.operands;
        } else if (header == ADX_EXTENDED) {
            job.statements++;
            const adx_extended *e = adx_payload(at.op);
            job.operands += e->operands;
        } else if (header == ADX_LEAP) {
            const adx_fork *f = adx_fork_of(adx_leap_of(at.op));
            if (f->n == 0) {            // without branches: no end of a job
                adx_put_cursor(t, &at, &f->leap.after);
                continue;
            }
            // the job up to the fork ends here
            job.branches = f->n;
            job.fork = s->next;
            job.primal = adx_seconds(primal, f->primal[0]);
            job.reverse = adx_seconds(f->reverse[1], reverse);
            adx_end_job(s, number, &job, f->imports - imports);
            // numbers for the branches, and for the job behind the join
            number = s->next + f->n;
            s->next += f->n + 1;
            for (size_t i = 0; i < f->n; i++) {
                ad_job nothing = { .join = number };
                const adx_task *b = f->branch[i];
                adx_cursor from = {0};
                if (b == NULL) {
                    adx_list_job(s, number - f->n + i, &nothing);
                    continue;
                }
                from.until = &b->stretch.to;
                adx_put_cursor(b->tape, &from, &b->stretch.from);
                adx_survey_task(s, b->tape, from, number - f->n + i, number,
                                b);
            }
            // the job behind the join begins
            memset(&job, 0, sizeof job);
            imports = f->imports;
            primal = f->primal[1];
            reverse = f->reverse[0];
            adx_put_cursor(t, &at, &f->leap.after);
        }
    }
    job.join = join;
    job.primal = adx_seconds(primal, task->primal[1]);
    job.reverse = adx_seconds(task->reverse[0], reverse);
    adx_end_job(s, number, &job, task->imports - imports);
}

ADX_API size_t ad_tape_jobs(const ad_tape *t, size_t room, ad_job job[])
{
    adx_task alone = { .parent = &alone };
    adx_survey s = { job, room, 1 };
    if (t == NULL)
        return 0;
    const adx_worker *w = (const adx_worker *)t->annexed;
    adx_cursor at = { .seq = t->lead };
    adx_survey_task(&s, t, at, 0, 0, t->annex == NULL ? &alone : w->task);
    return s.next;
}

/* --- paths and schedules ----------------------------------------------------
 * Both go through a graph of jobs in one of its two directions: forward an edge
 * leads from a fork to its branches, and from their last jobs to what follows
 * the join; in reverse the other way.                                       */

typedef struct adx_graph {
    size_t n;
    const ad_job *job;
    bool reverse;
    size_t *wait;               // edges into a job that are still open
    size_t *first;              // of the jobs that join into a job; n: none
    size_t *sibling;            // the next that joins into the same
    size_t *fork;               // of a branch's first job: what forked
    size_t *ready;              // a queue of jobs, each of which enters once
    size_t head, tail;
    double *time;               // longest path, or time of completion
    void *memory;
} adx_graph;

// Builds the edges, and counts for each job those that lead into it. What a job
// joins into is one number, so the jobs that join into the same one are
// chained.
static bool adx_open_graph(adx_graph *g, size_t n, const ad_job job[],
                           bool reverse)
{
    size_t bytes = 5 * sizeof(size_t) + sizeof(double);
    memset(g, 0, sizeof *g);
    g->n = n;
    g->job = job;
    g->reverse = reverse;
    g->memory = n > SIZE_MAX / bytes ? NULL : malloc(n * bytes + 1);
    if (g->memory == NULL)
        return false;
    g->time = (double *)g->memory;
    g->wait = (size_t *)(g->time + n);
    g->first = g->wait + n;
    g->sibling = g->first + n;
    g->fork = g->sibling + n;
    g->ready = g->fork + n;
    for (size_t i = 0; i < n; i++) {
        g->time[i] = 0;
        g->wait[i] = 0;
        g->first[i] = g->sibling[i] = g->fork[i] = n;
    }
    // The list of jobs says what follows a job; here it is noted what precedes
    // one: the job that forked, and the chain of jobs that join into it. In
    // reverse a job waits for its branches, or for what it joins into.
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < job[i].branches && job[i].fork + k < n; k++)
            g->fork[job[i].fork + k] = i;
        if (job[i].branches == 0 && job[i].join != 0 && job[i].join < n) {
            g->sibling[i] = g->first[job[i].join];
            g->first[job[i].join] = i;
        }
        if (reverse)
            g->wait[i] = job[i].branches != 0 ? job[i].branches
                       : job[i].join != 0;
    }
    // Forward it waits for the job that forked, and for all that join into it.
    for (size_t i = 0; i < n && !reverse; i++) {
        if (g->fork[i] < n)
            g->wait[i] = 1;
        for (size_t k = g->first[i]; k < n; k = g->sibling[k])
            g->wait[i]++;
    }
    return true;
}

static void adx_close_graph(adx_graph *g) { free(g->memory); }

// An edge into job j is done at that time. With the last one the job is ready.
static void adx_arrive(adx_graph *g, size_t j, double time)
{
    if (j >= g->n)
        return;
    g->time[j] = time > g->time[j] ? time : g->time[j];
    if (--g->wait[j] == 0)
        g->ready[g->tail++] = j;
}

// The jobs that nothing precedes are ready.
static void adx_start_graph(adx_graph *g)
{
    for (size_t j = 0; j < g->n; j++)
        if (g->wait[j] == 0)
            g->ready[g->tail++] = j;
}

// Job j is done at that time, and with it all edges that leave it.
static void adx_complete(adx_graph *g, size_t j, double time)
{
    const ad_job *job = &g->job[j];
    if (g->reverse) {
        for (size_t k = g->first[j]; k < g->n; k = g->sibling[k])
            adx_arrive(g, k, time);
        if (g->fork[j] < g->n)
            adx_arrive(g, g->fork[j], time);
        return;
    }
    for (size_t k = 0; k < job->branches && job->fork + k < g->n; k++)
        adx_arrive(g, job->fork + k, time);
    if (job->branches == 0 && job->join != 0)
        adx_arrive(g, job->join, time);
}

typedef enum adx_measure {
    ADX_STATEMENTS, ADX_PRIMAL, ADX_REVERSE
} adx_measure;

static double adx_length_of(const ad_job *j, adx_measure what)
{
    return what == ADX_STATEMENTS ? (double)j->statements
         : what == ADX_PRIMAL ? j->primal : j->reverse;
}

// The longest path: each job begins when the last of those before it has ended.
static double adx_span_of(adx_graph *g, adx_measure what)
{
    double span = 0;
    adx_start_graph(g);
    while (g->head < g->tail) {
        size_t j = g->ready[g->head++];
        double end = g->time[j] + adx_length_of(&g->job[j], what);
        span = end > span ? end : span;
        adx_complete(g, j, end);
    }
    return span;
}

static double adx_work_of(size_t n, const ad_job job[], adx_measure what,
                          double *span)
{
    adx_graph g;
    double work = 0;
    for (size_t i = 0; i < n; i++)
        work += adx_length_of(&job[i], what);
    *span = 0;
    if (adx_open_graph(&g, n, job, false))
        *span = adx_span_of(&g, what);
    adx_close_graph(&g);
    return work;
}

ADX_API ad_parallelism ad_job_parallelism(size_t n, const ad_job job[])
{
    ad_parallelism p;
    double span;
    memset(&p, 0, sizeof p);
    if (adx_no_array(n, job))
        return p;
    p.jobs = n;
    p.tasks = n > 0;
    for (size_t i = 0; i < n; i++) {
        p.forks += job[i].branches > 0;
        p.tasks += job[i].branches;
    }
    p.work = (size_t)adx_work_of(n, job, ADX_STATEMENTS, &span);
    p.span = (size_t)span;
    p.parallelism = span > 0 ? (double)p.work / span : 1;
    p.primal_work = adx_work_of(n, job, ADX_PRIMAL, &p.primal_span);
    p.reverse_work = adx_work_of(n, job, ADX_REVERSE, &p.reverse_span);
    return p;
}

typedef struct adx_running {
    double end;
    size_t job;
} adx_running;

// The running jobs are a heap, with the first to end on top. Puts r in at the
// top.
static void adx_sink(adx_running heap[], size_t n, adx_running r)
{
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < n; i = k) {
        if (k + 1 < n && heap[k + 1].end < heap[k].end)
            k++;
        if (heap[k].end >= r.end)
            break;
        heap[i] = heap[k];
    }
    heap[i] = r;
}

// Puts r in at the end, place i.
static void adx_rise(adx_running heap[], size_t i, adx_running r)
{
    for (; i > 0 && heap[(i - 1) / 2].end > r.end; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = r;
}

// How long the jobs take on that many workers if each, when it is free, begins
// the job that has been ready longest. Time goes from end to end of a running
// job.
static bool adx_simulate(size_t n, const ad_job job[], bool reverse,
                         size_t workers, double *seconds)
{
    adx_graph g;
    size_t most = workers < n ? workers : n;
    adx_running *heap = (adx_running *)malloc((most + 1) * sizeof *heap);
    bool ok = adx_open_graph(&g, n, job, reverse) && heap != NULL;
    double now = 0;

    if (ok)
        adx_start_graph(&g);
    for (size_t busy = 0; ok && (busy > 0 || g.head < g.tail);) {
        // A worker is free and a job is ready: it begins now.
        if (busy < most && g.head < g.tail) {
            size_t j = g.ready[g.head++];
            double time = adx_length_of(&job[j], reverse ? ADX_REVERSE
                                                      : ADX_PRIMAL);
            adx_running r = { now + time, j };
            adx_rise(heap, busy++, r);
            continue;
        }
        // Otherwise time goes on to where the next job ends.
        adx_running done = heap[0];
        now = done.end;
        busy--;
        adx_sink(heap, busy, heap[busy]);
        adx_complete(&g, done.job, now);
    }
    *seconds = now;
    adx_close_graph(&g);
    free(heap);
    return ok;
}

ADX_API ad_status ad_job_predict(size_t n, const ad_job job[],
                                 unsigned workers, double *primal,
                                 double *reverse)
{
    size_t p = workers == 0 ? 1 : workers;
    if (adx_no_array(n, job))
        return ADREV_ESHAPE;
    bool ok = primal == NULL || adx_simulate(n, job, false, p, primal);
    if (ok && reverse != NULL)
        ok = adx_simulate(n, job, true, p, reverse);
    return ok ? ADREV_OK : ADREV_ENOMEM;
}

/* --- drawing ------------------------------------------------------------- */

static void adx_write_job(const adx_writer *w, size_t i, const ad_job *j)
{
    adx_print(w, "j%z [label=\"%z\\n%z values, %z statements\\n"
                 "%z imports\"];\n", i, i, j->values, j->statements,
                 j->imports);
    for (size_t k = 0; k < j->branches; k++)
        adx_print(w, "j%z -> j%z;\n", i, j->fork + k);
    if (j->branches == 0 && j->join != 0)
        adx_print(w, "j%z -> j%z;\n", i, j->join);
}

ADX_API ad_status ad_dump_jobs_dot(const ad_tape *t, ad_write_fn *write,
                                   void *user)
{
    size_t n = ad_tape_jobs(t, 0, NULL);
    ad_job *job = (ad_job *)calloc(n + 1, sizeof *job);
    adx_writer w = { write, user };
    if (job == NULL)
        return ADREV_ENOMEM;
    ad_tape_jobs(t, n, job);
    adx_print(&w, "digraph jobs {\nnode [shape=box];\n");
    for (size_t i = 0; i < n; i++)
        adx_write_job(&w, i, &job[i]);
    adx_print(&w, "}\n");
    free(job);
    return ad_tape_status(t);
}

ADX_SELDOM_END
