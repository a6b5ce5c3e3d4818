#pragma once

/* === parallel/graph =========================================================
 * The job graph is not stored. It is read off the tapes in one pass, where each
 * entry of a fork ends a job. Work is the sum over all jobs; the span is the
 * longest path. The time that a number of workers take is found by list
 * scheduling: a worker that is free begins the job that has been ready longest
 * (Graham, Bounds on multiprocessing timing anomalies, 1969).
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

// The job that a walk over the entries of a task is in.
typedef struct adx_job_walk {
    adx_survey *list;
    size_t number;
    ad_job job;
    size_t imports;                 // of the task when the job began
    double primal;                  // when it began to be recorded
    double reverse;                 // when it had been swept
} adx_job_walk;

static void adx_list_job(adx_survey *s, size_t number, const ad_job *job)
{
    if (number < s->room)
        s->job[number] = *job;
}

static double adx_seconds(double from, double to)
{
    return from == 0 || to == 0 || to < from ? 0 : to - from;
}

// Ends a job, at a fork or with its task, which has that many imports by now.
// Imports are values of the tape, too, but are counted apart.
static void adx_end_job(adx_job_walk *w, size_t imports, double primal,
                        double reverse)
{
    w->job.imports = imports - w->imports;
    w->job.values -= w->job.imports;
    w->job.primal = adx_seconds(w->primal, primal);
    w->job.reverse = adx_seconds(reverse, w->reverse);
    adx_list_job(w->list, w->number, &w->job);
}

static void adx_survey_task(adx_survey *s, const ad_tape *t, adx_cursor at,
                            size_t number, size_t join, const adx_task *task);

// The jobs of a branch, NULL: one that has recorded nothing.
static void adx_survey_branch(adx_survey *s, const adx_task *b, size_t number,
                              size_t join)
{
    ad_job nothing = { .join = join };
    adx_cursor from = {0};
    if (b == NULL) {
        adx_list_job(s, number, &nothing);
        return;
    }
    from.until = &b->stretch.to;
    adx_put_cursor(b->tape, &from, &b->stretch.from);
    adx_survey_task(s, b->tape, from, number, join, b);
}

// A fork ends a job. Its n branches begin with the next n numbers, and the job
// behind its join, which begins here, has the number after those.
static void adx_survey_fork(adx_job_walk *w, const adx_fork *f)
{
    adx_survey *s = w->list;
    size_t first = s->next;

    w->job.branches = f->n;
    w->job.fork = first;
    adx_end_job(w, f->imports, f->primal[0], f->reverse[1]);
    s->next += f->n + 1;
    for (size_t i = 0; i < f->n; i++)
        adx_survey_branch(s, f->branch[i], first + i, first + f->n);
    *w = (adx_job_walk){ .list = s, .number = first + f->n,
                         .imports = f->imports, .primal = f->primal[1],
                         .reverse = f->reverse[0] };
}

// Lists the jobs of a task, from a cursor to its end, and those of its
// branches: the walk leaps from the first entry of a fork to the second.
static void adx_survey_task(adx_survey *s, const ad_tape *t, adx_cursor at,
                            size_t number, size_t join, const adx_task *task)
{
    adx_job_walk w = { .list = s, .number = number,
                       .job.values = task->parent == task ? at.seq : 0,
                       .primal = task->primal[0],
                       .reverse = task->reverse[1] };
    size_t before = at.seq;

    for (unsigned header; (header = adx_next_entry(t, &at)) != 0;
         before = at.seq) {
        w.job.values += header == ADX_GAP ? 0 : at.seq - before;
        if (header == ADX_LEAP) {
            const adx_fork *f = adx_fork_of(adx_leap_of(at.op));
            if (f->n > 0)           // without branches: no end of a job
                adx_survey_fork(&w, f);
            adx_put_cursor(t, &at, &f->leap.after);
        } else if (header == ADX_EXTENDED) {
            const adx_extended *e = adx_payload(at.op);
            w.job.statements++;
            w.job.operands += e->operands;
        } else if (!(header & ADX_OTHER)) {
            w.job.statements++;
            w.job.operands += at.operands;
        }
    }
    w.job.join = join;
    adx_end_job(&w, task->imports, task->primal[1], task->reverse[0]);
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

// Takes the memory of a graph, in which there are no edges yet.
static bool adx_take_graph(adx_graph *g, size_t n)
{
    size_t bytes = 5 * sizeof(size_t) + sizeof(double);
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
    return true;
}

// How many edges lead into job i. In reverse it waits for its branches, or for
// what it joins into; forward for the job that forked, and for all that join
// into it.
static size_t adx_count_edges(const adx_graph *g, size_t i)
{
    const ad_job *job = &g->job[i];
    if (g->reverse)
        return job->branches != 0 ? job->branches : job->join != 0;
    size_t edges = g->fork[i] < g->n;
    for (size_t k = g->first[i]; k < g->n; k = g->sibling[k])
        edges++;
    return edges;
}

// Builds the edges, and counts for each job those that lead into it. The list
// of jobs says what follows a job; here it is noted what precedes one: the job
// that forked, and the chain of jobs that join into it. What a job joins into
// is one number, so the jobs that join into the same one are chained.
static bool adx_open_graph(adx_graph *g, size_t n, const ad_job job[],
                           bool reverse)
{
    *g = (adx_graph){ .n = n, .job = job, .reverse = reverse };
    if (!adx_take_graph(g, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < job[i].branches && job[i].fork + k < n; k++)
            g->fork[job[i].fork + k] = i;
        if (job[i].branches == 0 && job[i].join != 0 && job[i].join < n) {
            g->sibling[i] = g->first[job[i].join];
            g->first[job[i].join] = i;
        }
    }
    for (size_t i = 0; i < n; i++)
        g->wait[i] = adx_count_edges(g, i);
    return true;
}

static void adx_close_graph(adx_graph *g) { free(g->memory); }

// An edge into job j is done at that time. With the last one the job is ready.
static void adx_arrive_at_job(adx_graph *g, size_t j, double time)
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
            adx_arrive_at_job(g, k, time);
        if (g->fork[j] < g->n)
            adx_arrive_at_job(g, g->fork[j], time);
        return;
    }
    for (size_t k = 0; k < job->branches && job->fork + k < g->n; k++)
        adx_arrive_at_job(g, job->fork + k, time);
    if (job->branches == 0 && job->join != 0)
        adx_arrive_at_job(g, job->join, time);
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
static void adx_sift_up(adx_running heap[], size_t i, adx_running r)
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
            adx_sift_up(heap, busy++, r);
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
    if (t == NULL)
        return ADREV_ENOTAPE;
    size_t n = ad_tape_jobs(t, 0, NULL);
    ad_job *job = (ad_job *)adx_take(&t->allocator, n + 1, sizeof *job);
    adx_writer w = { write, user };
    if (job == NULL)
        return ADREV_ENOMEM;
    ad_tape_jobs(t, n, job);
    adx_print(&w, "digraph jobs {\nnode [shape=box];\n");
    for (size_t i = 0; i < n; i++)
        adx_write_job(&w, i, &job[i]);
    adx_print(&w, "}\n");
    adx_drop(&t->allocator, job);
    return ad_tape_status(t);
}

ADX_SELDOM_END
