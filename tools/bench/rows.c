/* SPDX-License-Identifier: MIT
 *
 * What: see rows.h.
 *
 * Why this way: see rows.h.
 */
#include "bench/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/exact.h"
#include "bench/text.h"

static FILE *rows_open(const struct bench_options *options, const char *name)
{
    char *path = bench_format("%s/%s", options->out, name);
    FILE *file = fopen(path, options->resume ? "ae" : "we");
    if (file == NULL)
        bench_die("%s: %s", path, strerror(errno));
    free(path);
    return file;
}

static void rows_member(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":", key);
    bench_json_string(out, text);
}

static void rows_write_arms(FILE *out, const struct bench_arms *arms)
{
    fputs(",\"arms\":[", out);
    for (size_t i = 0; i < arms->count; i++) {
        const struct bench_arm *arm = &arms->items[i];
        fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
        bench_json_string(out, arm->name);
        rows_member(out, "library", arm->library);
        fputs(",\"variables\":[", out);
        for (size_t k = 0; k < arm->variable_count; k++) {
            fputs(k > 0 ? "," : "", out);
            bench_json_string(out, arm->variables[k]);
        }
        fputs("]}", out);
    }
    fputc(']', out);
}

static void rows_write_strings(FILE *out, const char *key, char *const *strings, size_t count)
{
    fprintf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? "," : "", out);
        bench_json_string(out, strings[i]);
    }
    fputc(']', out);
}

static void rows_write_design(FILE *out, const struct bench_options *options)
{
    rows_member(out, "command", options->command);
    rows_write_strings(out, "argv", options->arguments, options->argument_count);
    rows_member(out, "folder", options->folder);
    fprintf(out, ",\"seed\":%llu", (unsigned long long)options->seed);
    fprintf(out, ",\"confidence\":%.6g,\"delta_time\":%.6g,\"delta_memory\":%.6g,\"least_s\":%.6g", options->confidence,
            options->delta_time, options->delta_memory, options->least_seconds);
    rows_member(out, "base", options->arms.items[options->bases[0]].name);
    rows_member(out, "null", options->arms.items[options->arms.null].name);
    char *bases[BENCH_BASES_MAX];
    for (size_t i = 0; i < options->base_count; i++)
        bases[i] = options->arms.items[options->bases[i]].name;
    rows_write_strings(out, "bases", bases, options->base_count);
    rows_write_arms(out, &options->arms);
}

static void rows_write_machine(FILE *out, const struct bench_machine *machine)
{
    rows_member(out, "cpu_model", machine->cpu_model);
    fprintf(out, ",\"cpus\":%u", machine->cpus);
    rows_member(out, "kernel", machine->kernel);
    rows_member(out, "libc", machine->libc);
    rows_member(out, "governor", machine->governor);
    rows_member(out, "huge_pages", machine->huge_pages);
    rows_member(out, "address_randomisation", machine->address_randomisation);
    rows_member(out, "load", machine->load);
    rows_member(out, "instructions", machine->performance_counters);
}

/* A line that was cut off in its middle is cut away, so that the next begins a line of its own. */
static void rows_mend(const struct bench_options *options, const char *name)
{
    char *path = bench_format("%s/%s", options->out, name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        bench_die("%s: %s", path, strerror(errno));
    off_t end = status.st_size;
    for (char last = 0; end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n';)
        end--;
    if (end < status.st_size) {
        bench_say("%s: the last line was cut off in its middle; it is dropped", path);
        if (ftruncate(fd, end) != 0)
            bench_die("%s: %s", path, strerror(errno));
    }
    close(fd);
    free(path);
}

void bench_mend_rows(const struct bench_options *options)
{
    rows_mend(options, "rows.jsonl");
    rows_mend(options, "rows.csv");
}

static void rows_write_header(FILE *csv)
{
    if (fseek(csv, 0, SEEK_END) != 0 || ftell(csv) > 0)
        return;
    fputs("workload,arm,warm_up,block,half,position,flagged,cpu,padding_bytes,started_s,wall_s,cpu_s,user_s,sys_s,"
          "peak_rss_kib,mean_rss_kib,minor_faults,major_faults,voluntary_switches,involuntary_switches,ending,"
          "stdout_hash,stderr_hash,pressure_percent,others_s,stolen_s,processes,build_id,options\n",
          csv);
    fflush(csv);
}

void bench_open_rows(struct bench_session *session, const struct bench_run *floor)
{
    const struct bench_options *options = session->options;
    if (options->out == NULL)
        return;
    session->json = rows_open(options, "rows.jsonl");
    session->csv = rows_open(options, "rows.csv");
    rows_write_header(session->csv);
    if (options->resume)
        return;
    FILE *out = session->json;
    fputs("{\"type\":\"session\",\"format\":2", out);
    rows_write_design(out, options);
    rows_write_machine(out, session->machine);
    fprintf(out, ",\"started\":%lld", (long long)time(NULL));
    fprintf(out, ",\"floor_wall_s\":%.6f,\"floor_cpu_s\":%.6f,\"floor_rss_kib\":%.0f}\n", floor->wall_seconds,
            floor->cpu_seconds, floor->peak_rss_kib);
    fflush(out);
}

void bench_write_resumed(const struct bench_session *session, const struct bench_result *result)
{
    if (session->json == NULL || !session->options->resume)
        return;
    fputs("{\"type\":\"resumed\"", session->json);
    rows_member(session->json, "workload", result->workload->name);
    fprintf(session->json, ",\"blocks\":%zu}\n", result->blocks);
    fflush(session->json);
}

void bench_write_plan(const struct bench_session *session, const struct bench_result *result)
{
    if (session->json == NULL)
        return;
    const struct bench_workload *workload = result->workload;
    fputs("{\"type\":\"plan\",\"workload\":", session->json);
    bench_json_string(session->json, workload->name);
    rows_member(session->json, "kind", workload->real ? "real" : "micro");
    rows_member(session->json, "command", workload->command);
    fprintf(session->json, ",\"threads\":%u,\"blocks\":%zu", workload->threads, result->plan.blocks);
    fprintf(session->json, ",\"ignore_stdout\":%s,\"ignore_stderr\":%s",
            workload->ignore_stdout || session->options->ignore_output ? "true" : "false",
            workload->ignore_stderr || session->options->ignore_errors ? "true" : "false");
    if (isfinite(result->plan.visible_effect))
        fprintf(session->json, ",\"visible_effect_log\":%.6f", result->plan.visible_effect);
    fputs("}\n", session->json);
    fflush(session->json);
}

/* What the processes said of themselves; nothing if none did. */
static void rows_write_proof(FILE *out, const struct bench_proof *proof)
{
    if (proof->started == 0)
        return;
    fprintf(out, ",\"processes\":%u,\"processes_ended\":%u,\"processes_off\":%u,\"peak_rss_sum_kib\":%llu",
            proof->started, proof->ended, proof->off, (unsigned long long)proof->peak_rss_sum_bytes / 1024);
    rows_member(out, "build_id", proof->build_id);
    rows_member(out, "options", proof->options);
    fputs(",\"counters\":{", out);
    for (size_t i = 0; bench_counter_name(i) != NULL; i++)
        fprintf(out, "%s\"%s\":%llu", i > 0 ? "," : "", bench_counter_name(i),
                (unsigned long long)bench_counter_value(proof, i));
    fputc('}', out);
}

/* Nothing if the run was too short to see. */
static void rows_write_memory(FILE *out, const struct lab_series *kib)
{
    if (kib->count == 0)
        return;
    fprintf(out, ",\"rss_over_time_s\":%.6f,\"rss_over_time_kib\":[", kib->span);
    for (size_t i = 0; i < kib->count; i++)
        fprintf(out, "%s%.0f", i > 0 ? "," : "", kib->values[i]);
    fputc(']', out);
}

static void rows_write_json(FILE *out, const char *workload, const char *arm, const struct bench_row *row,
                            const char *ending)
{
    const struct bench_run *run = &row->run;
    fputs("{\"type\":\"row\",\"workload\":", out);
    bench_json_string(out, workload);
    rows_member(out, "arm", arm);
    fprintf(out, ",\"warm_up\":%s,\"block\":%zu,\"half\":%u,\"position\":%zu,\"flagged\":%s,\"cpu\":%d",
            row->warm_up ? "true" : "false", row->block, row->half, row->position, row->flagged ? "true" : "false",
            row->cpu);
    fprintf(out,
            ",\"padding_bytes\":%zu,\"started_s\":%.3f,\"wall_s\":%.9f,\"cpu_s\":%.6f,\"user_s\":%.6f,"
            "\"sys_s\":%.6f,\"peak_rss_kib\":%.0f,\"mean_rss_kib\":%.0f",
            row->padding_bytes, row->started_seconds, run->wall_seconds, run->cpu_seconds, run->user_seconds,
            run->system_seconds, run->peak_rss_kib, run->mean_rss_kib);
    fprintf(out,
            ",\"minor_faults\":%llu,\"major_faults\":%llu,\"voluntary_switches\":%llu,"
            "\"involuntary_switches\":%llu",
            (unsigned long long)run->minor_faults, (unsigned long long)run->major_faults,
            (unsigned long long)run->voluntary_switches, (unsigned long long)run->involuntary_switches);
    rows_member(out, "ending", ending);
    fprintf(out,
            ",\"wait_status\":%d,\"stdout_hash\":\"%016llx\",\"stdout_bytes\":%llu,\"stderr_hash\":\"%016llx\","
            "\"stderr_bytes\":%llu,\"pressure_percent\":%.2f,"
            "\"others_s\":%.2f,\"stolen_s\":%.2f",
            run->wait_status, (unsigned long long)run->output.hash, (unsigned long long)run->output.bytes,
            (unsigned long long)run->errors.hash, (unsigned long long)run->errors.bytes, row->pressure_percent,
            row->others_seconds, row->stolen_seconds);
    rows_write_memory(out, &run->rss_kib);
    rows_write_proof(out, &run->proof);
    fputs("}\n", out);
}

void bench_write_row(const struct bench_session *session, const struct bench_result *result,
                     const struct bench_row *row)
{
    if (session->json == NULL)
        return;
    const struct bench_run *run = &row->run;
    const char *workload = result->workload->name;
    const char *arm = session->options->arms.items[row->arm].name;
    char *ending = bench_run_ending(run);
    rows_write_json(session->json, workload, arm, row, ending);
    fprintf(session->csv, "%s,%s,%d,%zu,%u,%zu,%d,%d,%zu,%.3f,%.9f,%.6f,%.6f,%.6f,%.0f,%.0f", workload, arm,
            row->warm_up, row->block, row->half, row->position, row->flagged, row->cpu, row->padding_bytes,
            row->started_seconds, run->wall_seconds, run->cpu_seconds, run->user_seconds, run->system_seconds,
            run->peak_rss_kib, run->mean_rss_kib);
    fprintf(session->csv, ",%llu,%llu,%llu,%llu,%s,%016llx,%016llx,%.2f,%.2f,%.2f,%u,%s,\"%s\"\n",
            (unsigned long long)run->minor_faults, (unsigned long long)run->major_faults,
            (unsigned long long)run->voluntary_switches, (unsigned long long)run->involuntary_switches, ending,
            (unsigned long long)run->output.hash, (unsigned long long)run->errors.hash, row->pressure_percent,
            row->others_seconds, row->stolen_seconds, run->proof.started, run->proof.build_id, run->proof.options);
    free(ending);
    fflush(session->json);
    fflush(session->csv);
}

static void rows_write_reason(const struct bench_session *session, const char *type, const struct bench_result *result,
                              const char *arm, const char *why)
{
    FILE *out = session->json;
    if (out == NULL)
        return;
    fprintf(out, "{\"type\":\"%s\"", type);
    rows_member(out, "workload", result->workload->name);
    if (arm != NULL)
        rows_member(out, "arm", arm);
    rows_member(out, "why", why);
    fputs("}\n", out);
    fflush(out);
}

void bench_write_counts(const struct bench_session *session, const struct bench_result *result, size_t arm)
{
    const struct bench_counts *counts = &result->counts[arm];
    FILE *out = session->json;
    if (out == NULL || (!counts->traced && counts->instructions == 0))
        return;
    fputs("{\"type\":\"counts\"", out);
    rows_member(out, "workload", result->workload->name);
    rows_member(out, "arm", session->options->arms.items[arm].name);
    if (counts->instructions > 0)
        fprintf(out, ",\"instructions\":%llu", (unsigned long long)counts->instructions);
    if (counts->traced)
        fprintf(out, ",\"exact\":%s,\"calls\":%llu,\"mappings\":%llu", counts->exact ? "true" : "false",
                (unsigned long long)counts->calls, (unsigned long long)counts->mappings);
    for (size_t kind = 0; counts->traced && kind < BENCH_CALL_KINDS; kind++)
        fprintf(out, ",\"%s\":%llu", bench_call_name(kind), (unsigned long long)counts->calls_of[kind]);
    fputs("}\n", out);
    fflush(out);
}

/* The counts of the buckets, up to the last that is not 0. */
static void rows_write_histogram(FILE *out, const char *name, const struct lab_histogram *took)
{
    fprintf(out, ",\"%s_most_ns\":%llu,\"%s_counts\":[", name, (unsigned long long)took->most, name);
    size_t count = LAB_HISTOGRAM_BUCKETS;
    while (count > 0 && took->counts[count - 1] == 0)
        count--;
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s%llu", i > 0 ? "," : "", (unsigned long long)took->counts[i]);
    fputc(']', out);
}

void bench_write_latency(const struct bench_session *session, const struct bench_result *result)
{
    FILE *out = session->json;
    const struct bench_arms *arms = &session->options->arms;
    for (size_t arm = 0; out != NULL && result->latency != NULL && arm < arms->null; arm++) {
        const struct bench_latency *latency = &result->latency[arm];
        fputs("{\"type\":\"latency\"", out);
        rows_member(out, "workload", result->workload->name);
        rows_member(out, "arm", arms->items[arm].name);
        fprintf(out, ",\"runs\":%llu,\"every\":%d,\"clock_ns\":%llu", (unsigned long long)latency->runs,
                BENCH_LATENCY_EVERY, (unsigned long long)latency->clock_ns);
        for (unsigned call = 0; call < BENCH_TIMED_CALLS; call++)
            rows_write_histogram(out, bench_timed_name(call), &latency->took[call]);
        fputs("}\n", out);
        fflush(out);
    }
}

void bench_write_fault(const struct bench_session *session, const struct bench_result *result, size_t arm)
{
    rows_write_reason(session, "fault", result, session->options->arms.items[arm].name, result->faults[arm]);
}

void bench_write_refusal(const struct bench_session *session, const struct bench_result *result)
{
    if (result->refused != NULL && !bench_interrupted())
        rows_write_reason(session, "refused", result, NULL, result->refused);
}

void bench_close_rows(struct bench_session *session)
{
    if (session->json == NULL)
        return;
    fclose(session->json);
    fclose(session->csv);
    session->json = session->csv = NULL;
}
