/* SPDX-License-Identifier: MIT
 *
 * What: see options.h.
 *
 * Why this way: see options.h.
 */
#include "bench/options.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bench/load.h"
#include "bench/text.h"

enum { OPTION_KEYS = 1000, OPTIONS_ALL = BENCH_COST | BENCH_AB | BENCH_BENCH, OPTIONS_JOB = BENCH_COST | BENCH_AB };

enum options_key {
    OPTION_OPTIONS,
    OPTION_NO_LADDER,
    OPTION_BASE_LEVEL,
    OPTION_LIB,
    OPTION_ARM,
    OPTION_BASE,
    OPTION_LIBRARY,
    OPTION_TIME,
    OPTION_PAIRS,
    OPTION_SEQUENTIAL,
    OPTION_BUDGET,
    OPTION_FILE,
    OPTION_SERVER,
    OPTION_CLIENT,
    OPTION_NORMALISE,
    OPTION_STDIN,
    OPTION_THREADS,
    OPTION_LAYOUTS,
    OPTION_CALLS,
    OPTION_INSTRUCTIONS,
    OPTION_LATENCY,
    OPTION_OUT,
    OPTION_RESUME,
    OPTION_SEED,
    OPTION_DELTA,
    OPTION_DELTA_RSS,
    OPTION_IGNORE_STDOUT,
    OPTION_IGNORE_STDERR,
    OPTION_FILTER,
    OPTION_BIN,
    OPTION_DIR,
    OPTION_KEEP_ENV,
    OPTION_LIST,
    OPTION_PRESSURE,
    OPTION_WAIT,
    OPTION_LEAST,
    OPTION_LIMIT,
    OPTION_HELP,
    OPTION_COUNT
};

static const struct options_row {
    const char *name;
    const char *value; /* NULL: a switch */
    unsigned commands;
    const char *help;
} OPTIONS_TABLE[OPTION_COUNT] = {
    [OPTION_OPTIONS] = { "options", NULL, BENCH_COST, "also each single option changed, on top of --base-level" },
    [OPTION_NO_LADDER] = { "no-ladder", NULL, BENCH_COST, "with --options: of the levels only the base level" },
    [OPTION_BASE_LEVEL] = { "base-level", "N", BENCH_COST, "the level that --options starts from; default 2" },
    [OPTION_LIB] = { "lib", "NAME=PATH", BENCH_COST | BENCH_BENCH, "another allocator; may be repeated" },
    [OPTION_ARM] = { "arm", "NAME=LIB[;V=X]", BENCH_COST | BENCH_BENCH,
                     "instead of the usual arms: a library to preload (none for the C library's)\n"
                     "                        and variables; {seed} is filled in; may be repeated" },
    [OPTION_BASE] = { "base", "NAME", BENCH_COST | BENCH_BENCH,
                      "the arm the others are compared with; again for a second table" },
    [OPTION_LIBRARY] = { "library", "PATH", BENCH_COST | BENCH_AB | BENCH_BENCH,
                         "libscrubjay.so to measure, if not the one of this command" },
    [OPTION_TIME] = { "time", "DURATION", OPTIONS_ALL, "budget of the session: 90, 90s, 10m, 2h; default 10m" },
    [OPTION_PAIRS] = { "pairs", "N", OPTIONS_ALL, "pairs a command, instead of as many as the budget allows" },
    [OPTION_SEQUENTIAL] = { "sequential", NULL, OPTIONS_ALL,
                            "stop when the sign test's e-value reaches 20 for every arm" },
    [OPTION_BUDGET] = { "budget", "cpu=N%,rss=N%", BENCH_COST,
                        "find the strongest policy that costs no more than this" },
    [OPTION_FILE] = { "file", "FILE", OPTIONS_ALL,
                      "list of commands, name|kind|threads|prepare|command a line; also -f" },
    [OPTION_SERVER] = { "server", "CMD", OPTIONS_JOB, "measure this server while --client runs" },
    [OPTION_CLIENT] = { "client", "CMD", OPTIONS_JOB, "starts when the server listens; then the server is ended" },
    [OPTION_NORMALISE] = { "normalise", "CMD", OPTIONS_JOB, "filter for stdout and stderr before they are compared" },
    [OPTION_STDIN] = { "stdin", "FILE", OPTIONS_JOB, "standard input of the command; default /dev/null" },
    [OPTION_THREADS] = { "threads", "N", OPTIONS_JOB,
                         "of the command; one-threaded ones are pinned; default: found out" },
    [OPTION_LAYOUTS] = { "layouts", "K", BENCH_AB, "repeat with K shuffled links of the libraries, at least 3" },
    [OPTION_CALLS] = { "calls", NULL, OPTIONS_ALL,
                       "then count system calls by kind and mappings, in two more runs an arm" },
    [OPTION_INSTRUCTIONS] = { "instructions", NULL, OPTIONS_ALL,
                              "then count instructions by callgrind, in one more run an arm, some 50 times slower" },
    [OPTION_LATENCY] = { "latency", NULL, OPTIONS_ALL,
                         "then time malloc and free, every 7th call, in four more runs an arm" },
    [OPTION_OUT] = { "out", "DIR", OPTIONS_ALL, "write rows.jsonl, rows.csv, claims.jsonl, report.txt, tables" },
    [OPTION_RESUME] = { "resume", "DIR", OPTIONS_JOB, "go on with a session that was interrupted" },
    [OPTION_SEED] = { "seed", "N", OPTIONS_ALL, "of the order, the padding and {seed}; default random, printed" },
    [OPTION_DELTA] = { "delta", "PERCENT", OPTIONS_ALL, "time differences that do not matter; default 1" },
    [OPTION_DELTA_RSS] = { "delta-rss", "PERCENT", OPTIONS_ALL, "memory differences that do not matter; default 2" },
    [OPTION_IGNORE_STDOUT] = { "ignore-stdout", NULL, OPTIONS_ALL, "do not compare stdout" },
    [OPTION_IGNORE_STDERR] = { "ignore-stderr", NULL, OPTIONS_ALL, "do not compare stderr" },
    [OPTION_FILTER] = { "filter", "PATTERN", OPTIONS_ALL, "only commands of the list whose name matches; repeatable" },
    [OPTION_BIN] = { "bin", "DIR", BENCH_BENCH, "{bin} of the list; default the folder of the bundled workloads" },
    [OPTION_DIR] = { "dir", "DIR", OPTIONS_ALL, "{dir} of the list, working directory of all commands" },
    [OPTION_KEEP_ENV] = { "keep-env", "NAME", BENCH_BENCH, "pass this variable of ours on; may be repeated" },
    [OPTION_LIST] = { "list", NULL, OPTIONS_ALL, "print the commands of the list and end" },
    [OPTION_PRESSURE] = { "pressure", "PERCENT", OPTIONS_ALL, "wait while others use more of the CPUs; default 5" },
    [OPTION_WAIT] = { "wait", "SECONDS", OPTIONS_ALL, "at most so long; then run, and flag the block; default 60" },
    [OPTION_LEAST] = { "least", "SECONDS", OPTIONS_ALL, "refuse commands that run shorter; default 0.02" },
    [OPTION_LIMIT] = { "limit", "SECONDS", OPTIONS_ALL, "kill a run after this time; default 300" },
    [OPTION_HELP] = { "help", NULL, OPTIONS_ALL, "this text" },
};

static const char OPTIONS_COST[] =
    "usage: scrubjay cost [OPTION...] -- COMMAND [ARGUMENT...]\n"
    "       scrubjay cost [OPTION...] --server CMD --client CMD\n"
    "       scrubjay cost [OPTION...] -f FILE\n"
    "       scrubjay cost show FILE|DIR [--html FILE]\n"
    "       scrubjay cost plan [--cluster slurm] [OPTION...] -- COMMAND [ARGUMENT...]\n"
    "       scrubjay cost run-block --plan FILE --index N [--out DIR]\n"
    "       scrubjay cost merge [--unlike] [--out DIR] DIR...\n"
    "\n"
    "Runs the command under the C library's allocator and under each level, in blocks of random mirrored order, and\n"
    "says what each costs, with intervals and a verdict. Ctrl-C ends it with a report of what is there.\n";
static const char OPTIONS_AB[] =
    "usage: scrubjay ab [OPTION...] A B -- COMMAND [ARGUMENT...]\n"
    "\n"
    "Is B slower than A? A and B are builds (paths of libscrubjay.so or of any allocator; PATH:key=value,... for\n"
    "options too) or option strings (level=1,scrub=free). One verdict line, for use in scripts.\n";
static const char OPTIONS_BENCH[] =
    "usage: scrubjay bench [OPTION...]\n"
    "\n"
    "Runs the bundled workloads under every allocator found on this machine and under each level.\n";
static const char OPTIONS_STATUS[] =
    "\nExit status, by CPU time: 0 the same or faster, 1 slower, 2 cannot tell, 3 invalid, 64 usage.\n";

static _Noreturn void options_help(enum bench_command which)
{
    fputs(which == BENCH_COST ? OPTIONS_COST : which == BENCH_AB ? OPTIONS_AB : OPTIONS_BENCH, stdout);
    putchar('\n');
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct options_row *row = &OPTIONS_TABLE[i];
        if ((row->commands & which) == 0)
            continue;
        char *left = bench_format("--%s %s", row->name, row->value != NULL ? row->value : "");
        printf("  %-21s %s\n", left, row->help);
        free(left);
    }
    fputs(OPTIONS_STATUS, stdout);
    exit(0);
}

/* A number that fills the whole word. */
static double options_number(const char *text, const char *what)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0))
        bench_die("--%s needs a number, not %s", what, text);
    return value;
}

static double options_duration(const char *text)
{
    size_t length = strlen(text);
    double unit = 1;
    if (length > 0 && strchr("smh", text[length - 1]) != NULL) {
        unit = text[length - 1] == 'm' ? 60 : text[length - 1] == 'h' ? 3600 : 1;
        length--;
    }
    char *digits = bench_copy(text, length);
    double value = options_number(digits, "time");
    free(digits);
    return value * unit;
}

/* The command that repeats the session: with its seed. */
static char *options_command(char *const *argv, size_t argc, uint64_t seed)
{
    char *text = bench_format("%s --seed %llu", argv[0], (unsigned long long)seed);
    for (size_t i = 1; i < argc; i++) {
        char *word = bench_quote(argv[i]);
        char *longer = bench_format("%s %s", text, word);
        free(word);
        free(text);
        text = longer;
    }
    return text;
}

static void options_default(struct bench_options *options, enum bench_command which)
{
    memset(options, 0, sizeof *options);
    options->which = which;
    options->base_level = 2;
    options->budget_seconds = 600;
    options->delta_time = 0.01;
    options->delta_memory = 0.02;
    options->confidence = 0.95;
    options->pressure_limit_percent = 5;
    options->pressure_wait_seconds = 60;
    options->least_seconds = 0.02;
    options->limit_seconds = 300;
    options->any_status = which != BENCH_BENCH;
    options->arms.keep_all = which != BENCH_BENCH;
    if (getrandom(&options->seed, sizeof options->seed, 0) != (ssize_t)sizeof options->seed)
        options->seed = (uint64_t)getpid();
    options->seed &= UINT32_MAX; /* short enough to be typed again */
}

/* The options that may be repeated. */
static void options_take_list(struct bench_options *options, enum options_key key, char *value)
{
    switch (key) {
    case OPTION_LIB:
    case OPTION_ARM: bench_arms_add(&options->arms, value, key == OPTION_LIB); break;
    case OPTION_BASE:
        if (options->base_count == BENCH_BASES_MAX)
            bench_die("too many --base");
        options->base_names[options->base_count++] = value;
        break;
    case OPTION_FILTER:
        if (options->pattern_count == BENCH_PATTERNS_MAX)
            bench_die("too many --filter");
        options->patterns[options->pattern_count++] = value;
        break;
    case OPTION_KEEP_ENV:
        if (options->arms.kept_count == BENCH_ARM_VARIABLES_MAX)
            bench_die("too many --keep-env");
        options->arms.kept_variables[options->arms.kept_count++] = value;
        break;
    default: bench_die("see --help");
    }
}

static void options_take_text(struct bench_options *options, enum options_key key, char *value)
{
    switch (key) {
    case OPTION_LIBRARY: options->library = value; break;
    case OPTION_BUDGET: options->budget = value; break;
    case OPTION_FILE: options->manifest = value; break;
    case OPTION_SERVER: options->server = value; break;
    case OPTION_CLIENT: options->client = value; break;
    case OPTION_NORMALISE: options->normalise = value; break;
    case OPTION_STDIN: options->input = value; break;
    case OPTION_RESUME:
        options->resume = true;
        options->out = value;
        break;
    case OPTION_OUT: options->out = value; break;
    case OPTION_BIN: options->bin = bench_copy(value, PATH_MAX); break;
    case OPTION_DIR: options->dir = bench_copy(value, PATH_MAX); break;
    case OPTION_HELP: options_help(options->which);
    default: options_take_list(options, key, value);
    }
}

/* The options that are numbers or switches; false if it is another. */
static bool options_take_number(struct bench_options *options, enum options_key key, const char *value)
{
    const char *name = OPTIONS_TABLE[key].name;
    switch (key) {
    case OPTION_TIME: options->budget_seconds = options_duration(value); return true;
    case OPTION_PAIRS: options->pairs = (size_t)options_number(value, name); return true;
    case OPTION_SEED: options->seed = strtoull(value, NULL, 0); return true;
    case OPTION_THREADS: options->threads = (unsigned)options_number(value, name); return true;
    case OPTION_BASE_LEVEL: options->base_level = (unsigned)options_number(value, name); return true;
    case OPTION_LAYOUTS: options->layouts = (size_t)options_number(value, name); return true;
    case OPTION_DELTA: options->delta_time = options_number(value, name) / 100; return true;
    case OPTION_DELTA_RSS: options->delta_memory = options_number(value, name) / 100; return true;
    case OPTION_PRESSURE: options->pressure_limit_percent = options_number(value, name); return true;
    case OPTION_WAIT: options->pressure_wait_seconds = options_number(value, name); return true;
    case OPTION_LEAST: options->least_seconds = options_number(value, name); return true;
    case OPTION_LIMIT: options->limit_seconds = (unsigned)options_number(value, name); return true;
    case OPTION_SEQUENTIAL: options->sequential = true; return true;
    case OPTION_OPTIONS: options->single_options = true; return true;
    case OPTION_NO_LADDER: options->no_ladder = true; return true;
    case OPTION_IGNORE_STDOUT: options->ignore_output = true; return true;
    case OPTION_IGNORE_STDERR: options->ignore_errors = true; return true;
    case OPTION_CALLS: options->count_calls = true; return true;
    case OPTION_INSTRUCTIONS: options->count_instructions = true; return true;
    case OPTION_LATENCY: options->time_calls = true; return true;
    case OPTION_LIST: options->list = true; return true;
    default: return false;
    }
}

static size_t options_getopt_table(enum bench_command which, struct option *table)
{
    size_t count = 0;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct options_row *row = &OPTIONS_TABLE[i];
        if ((row->commands & which) != 0)
            table[count++] = (struct option){ row->name, row->value != NULL ? required_argument : no_argument, NULL,
                                              OPTION_KEYS + i };
    }
    table[count] = (struct option){ "manifest", required_argument, NULL, OPTION_KEYS + OPTION_FILE }; /* old name */
    return count + 1;
}

static char *options_absolute(char *path, bool create)
{
    if (create && !bench_make_directory(path))
        bench_die("cannot make the folder %s", path);
    char *absolute = realpath(path, NULL);
    if (absolute == NULL)
        bench_die("no such folder: %s", path);
    free(path);
    return absolute;
}

/* In the folder of this program (as built), or where it is installed. */
static char *options_find_part(const char *own, const char *name)
{
    char *near = bench_format("%s/%s", own, name);
    if (access(near, R_OK) == 0)
        return near;
    free(near);
    char *installed = bench_format("%s/" SJ_LIBEXECDIR_FROM_BINDIR "/%s", own, name);
    if (access(installed, R_OK) != 0)
        bench_die("%s is neither in %s nor at %s", name, own, installed);
    return installed;
}

static void options_find_folders(struct bench_options *options)
{
    char *own = bench_own_folder();
    options->launcher = options_find_part(own, "scrubjay-launcher");
    options->shim = options->time_calls ? options_find_part(own, "scrubjay-latency.so") : NULL;
    if (options->bin == NULL)
        options->bin = bench_format("%s/bench", own);
    if (options->which != BENCH_BENCH) {
        options->dir = options_absolute(options->dir != NULL ? options->dir : bench_copy(".", 1), false);
    } else {
        if (access(options->bin, X_OK) != 0)
            bench_die("%s: no bundled workloads; they lie in the build folder: give --bin DIR", options->bin);
        options->bin = options_absolute(options->bin, false);
        options->dir =
            options_absolute(options->dir != NULL ? options->dir : bench_format("%s/data", options->bin), true);
        if (options->manifest == NULL)
            options->manifest = bench_format("%s/workloads.list", options->bin);
    }
    if (options->out != NULL && !options->list)
        options->out = options_absolute(bench_copy(options->out, strlen(options->out)), !options->resume);
    free(own);
}

void bench_options_read(struct bench_options *options, enum bench_command which, int argc, char **argv)
{
    struct option table[OPTION_COUNT + 2] = { 0 };
    options_default(options, which);
    options->folder = realpath(".", NULL);
    options->argument_count = (size_t)argc;
    options->arguments = calloc((size_t)argc + 1, sizeof *options->arguments);
    if (options->arguments == NULL || options->folder == NULL)
        bench_die("the current folder cannot be found");
    memcpy(options->arguments, argv, (size_t)argc * sizeof *argv); /* argv itself will lose its -- */
    (void)options_getopt_table(which, table);
    int code;
    while ((code = getopt_long(argc, argv, "+hf:", table, NULL)) != -1) {
        if (code == '?')
            bench_die("--help shows the options");
        enum options_key key = code == 'h'   ? OPTION_HELP
                               : code == 'f' ? OPTION_FILE
                                             : (enum options_key)(code - OPTION_KEYS);
        if (!options_take_number(options, key, optarg))
            options_take_text(options, key, optarg);
    }
    options->command = options_command(options->arguments, options->argument_count, options->seed);
    options->words = argv + optind;
    bool dashes = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
    while (options->words[options->word_count] != NULL) {
        if (!dashes && strcmp(options->words[options->word_count], "--") == 0) {
            dashes = true;
            options->words_before_dashes = options->word_count;
            memmove(options->words + options->word_count, options->words + options->word_count + 1,
                    (size_t)(argc - optind) * sizeof *options->words - options->word_count * sizeof *options->words);
            continue;
        }
        options->word_count++;
    }
    if (!dashes)
        options->words_before_dashes = options->word_count;
    options_find_folders(options);
}

void bench_options_resume(struct bench_options *options, enum bench_command which)
{
    const char *out = options->out;
    int argc;
    char *folder;
    uint64_t seed;
    char **argv = bench_load_arguments(out, &argc, &folder, &seed);
    if (chdir(folder) != 0)
        bench_die("the session was started in %s, which cannot be entered", folder);
    optind = 0; /* getopt begins anew */
    bench_options_read(options, which, argc, argv);
    options->resume = true;
    options->out = out;
    options->seed = seed;
    free(folder);
}

void bench_options_find_bases(struct bench_options *options)
{
    for (size_t i = 0; i < options->base_count; i++)
        options->bases[i] = bench_arms_find(&options->arms, options->base_names[i]);
    if (options->base_count == 0)
        options->bases[options->base_count++] = 0;
}
