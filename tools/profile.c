/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay profile FILE`, and `scrubjay ctl PID profile FILE`: a heap profile in a format that other tools read.
 *
 * Why this way: see profile.h. Nothing is asked of the process: its tables are read as they lie there.
 *
 * Invariants: exit status 0 written, 2 not.
 *
 * Concurrency: one thread.
 */
#include "profile.h"

#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

typedef bool write_function(FILE *out, const struct sj_profile_data *data, enum sj_profile_part part);

struct request {
    write_function *write;
    enum sj_profile_part part;
    const char *out; /* a path; "-" is the standard output */
};

static const struct {
    const char *name;
    write_function *write;
} formats[] = { { "pprof", sj__profile_write_pprof },
                { "gperftools", sj__profile_write_gperftools },
                { "folded", sj__profile_write_folded } };

static const char *const parts[] = { "live", "allocated", "peak" }; /* as enum sj_profile_part */

static void print_options(FILE *out)
{
    fputs("  --format pprof|gperftools|folded\n"
          "                  pprof (a protocol buffer in gzip; the default), the text of google-pprof and\n"
          "                  jeprof, or folded stacks for flame graphs\n"
          "  --of live|allocated|peak\n"
          "                  what lives now or at the end (the default), all that was allocated, or what\n"
          "                  lived when that was most\n"
          "Numbers are estimates from samples, in bytes and objects. Exit status: 0 written, 2 not.\n",
          out);
}

static bool parse_format(const char *word, struct request *request)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(word, formats[i].name) == 0) {
            request->write = formats[i].write;
            return true;
        }
    sj__message("--format %s: there are pprof, gperftools and folded", word);
    return false;
}

static bool parse_part(const char *word, struct request *request)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(word, parts[i]) == 0) {
            request->part = (enum sj_profile_part)i;
            return true;
        }
    sj__message("--of %s: there are live, allocated and peak", word);
    return false;
}

/* Reads options; leaves the one other word in *word, NULL if there is none. False: wrong, which has been said; or *help. */
static bool parse(int argc, char **argv, struct request *request, const char **word, bool *help)
{
    static const struct option options[] = { { "format", required_argument, NULL, 'f' },
                                             { "of", required_argument, NULL, 'p' },
                                             { "output", required_argument, NULL, 'o' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    bool good = true;
    *request = (struct request){ .write = sj__profile_write_pprof, .out = "-" };
    *help = false;
    optind = 0; /* `ctl` has read some before */
    for (int option; good && !*help && (option = getopt_long(argc, argv, "o:h", options, NULL)) != -1;) {
        switch (option) {
        case 'f': good = parse_format(optarg, request); break;
        case 'p': good = parse_part(optarg, request); break;
        case 'o': request->out = optarg; break;
        case 'h': *help = true; break;
        default: good = false;
        }
    }
    *word = optind < argc ? argv[optind] : NULL;
    return good && !*help && optind + 1 >= argc;
}

static int write_out(const struct sj_profile_data *data, const struct request *request)
{
    const bool is_file = strcmp(request->out, "-") != 0;
    FILE *out = is_file ? fopen(request->out, "we") : stdout;
    bool good = out != NULL && request->write(out, data, request->part);
    if (is_file && out != NULL && fclose(out) != 0)
        good = false;
    if (!good)
        sj__message("%s: %s", request->out, strerror(errno));
    if (good && data->head.lost_stacks > 0)
        sj__message("%llu samples of more stacks than the table holds stand as one without frames",
                    (unsigned long long)data->head.lost_stacks);
    if (good && data->head.lost_blocks > 0)
        sj__message("%llu samples were not followed to their free, since too many lived: profile_rate was too small",
                    (unsigned long long)data->head.lost_blocks);
    return good ? SJ_EXIT_GOOD : SJ_EXIT_CANNOT_TELL;
}

/* `reason` is of reading, NULL if it went well. */
static int finish(const char *reason, const char *of, struct sj_profile_data *data, const struct request *request)
{
    if (reason != NULL)
        sj__message("%s: %s", of, reason);
    const int status = reason != NULL ? SJ_EXIT_CANNOT_TELL : write_out(data, request);
    sj__profile_free(data);
    return status;
}

static void print_ctl_usage(FILE *out)
{
    fputs("usage: scrubjay ctl PID profile [--format F] [--of PART] FILE\n\n", out);
    print_options(out);
}

int sj__profile_of_process(const struct sj_remote *remote, int argc, char **argv)
{
    struct sj_profile_data data;
    struct request request;
    const char *word;
    char name[32];
    bool help;
    if (!parse(argc, argv, &request, &word, &help) || word == NULL) {
        print_ctl_usage(help ? stdout : stderr);
        return help ? SJ_EXIT_GOOD : SJ_EXIT_USAGE;
    }
    request.out = word;
    snprintf(name, sizeof name, "process %d", (int)remote->target.process);
    const char *reason = sj__profile_read_process(remote, &data);
    return finish(reason, name, &data, &request);
}

static void print_usage(FILE *out)
{
    fputs("usage: scrubjay profile [--format F] [--of PART] [-o FILE] DUMP\n\n"
          "Reads a file that profile_dump=file:PATH wrote; of a running process: scrubjay ctl PID profile FILE.\n\n"
          "  -o FILE         where to write; - or nothing: the standard output\n",
          out);
    print_options(out);
}

int sj__command_profile(int argc, char **argv)
{
    struct sj_profile_data data;
    struct request request;
    const char *word;
    bool help;
    if (!parse(argc, argv, &request, &word, &help) || word == NULL) {
        print_usage(help ? stdout : stderr);
        return help ? SJ_EXIT_GOOD : SJ_EXIT_USAGE;
    }
    const char *reason = sj__profile_read_file(word, &data);
    return finish(reason, word, &data, &request);
}
