/* SPDX-License-Identifier: MIT
 *
 * What: see fault.h.
 *
 * Why this way: see fault.h.
 */
#include "bench/fault.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "bench/text.h"

const struct bench_run *bench_reference(const struct bench_session *session, const struct bench_result *result)
{
    for (size_t i = 0; i < result->row_count; i++)
        if (result->rows[i].arm == session->options->bases[0])
            return &result->rows[i].run;
    return NULL;
}

static char *fault_save_output(const struct bench_session *session, const struct bench_result *result,
                               const struct bench_row *row, const char *stream, const struct bench_output *output)
{
    if (session->options->out == NULL)
        return bench_format("%s", stream);
    char *path = bench_format("%s/%s.%s.%s", session->options->out, result->workload->name,
                              session->options->arms.items[row->arm].name, stream);
    char *source = bench_format("/proc/self/fd/%d", output->fd);
    if (!bench_copy_file(source, path))
        bench_say("cannot write %s", path);
    free(source);
    return path;
}

/* May the first run of all end so? A status of its own may mean something; those of a shell, or a signal, mean trouble. */
static bool fault_bad_status(const struct bench_session *session, const struct bench_run *run)
{
    int status = run->wait_status;
    if (!session->options->any_status)
        return status != 0;
    if (session->options->client != NULL && WIFSIGNALED(status))
        return WTERMSIG(status) != SIGTERM;
    return !WIFEXITED(status) || WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127;
}

/* The arm is Scrubjay, and no process of the run was served by it. */
static char *fault_absent(const struct bench_run *run)
{
    if (run->proof.started == 0)
        return bench_format("the library was not loaded: is the program static, set-user-id, or does it clear the "
                            "environment? `scrubjay verify --run -- COMMAND` tells");
    return bench_format("the library was loaded but is not in force; `scrubjay verify --run -- COMMAND` tells why");
}

char *bench_fault(const struct bench_session *session, const struct bench_result *result, const struct bench_row *row)
{
    const struct bench_run *run = &row->run;
    if (run->timed_out || run->lost || run->exec_errno != 0 || run->client_status != 0)
        return bench_run_ending(run);
    if (session->options->arms.items[row->arm].ours && run->proof.started == run->proof.off)
        return fault_absent(run);
    const struct bench_run *reference = bench_reference(session, result);
    bool is_first = reference == NULL || reference == run;
    if (is_first ? fault_bad_status(session, run) : run->wait_status != reference->wait_status) {
        char *ending = bench_run_ending(run);
        char *saved = fault_save_output(session, result, row, "stderr", &run->errors);
        char *fault = bench_format("%s; see %s", ending, saved);
        free(saved);
        free(ending);
        return fault;
    }
    if (is_first)
        return NULL;
    const struct bench_workload *workload = result->workload;
    bool same_output = workload->ignore_stdout || session->options->ignore_output ||
                       (run->output.hash == reference->output.hash && run->output.bytes == reference->output.bytes);
    bool same_errors = workload->ignore_stderr || session->options->ignore_errors ||
                       (run->errors.hash == reference->errors.hash && run->errors.bytes == reference->errors.bytes);
    if (same_output && same_errors)
        return NULL;
    char *saved = same_output ? fault_save_output(session, result, row, "stderr", &run->errors)
                              : fault_save_output(session, result, row, "stdout", &run->output);
    char *fault = bench_format("%s differs; see %s", same_output ? "stderr" : "stdout", saved);
    free(saved);
    return fault;
}
