/* SPDX-License-Identifier: MIT
 *
 * What: see options.h.
 *
 * Why this way: see options.h.
 */
#include "runner/options.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "runner/text.h"

static const char OPTIONS_USAGE[] =
    "usage: runner --arm NAME=LIBRARY[;VARIABLE=VALUE...] --arm ... [OPTION...]\n"
    "\n"
    "Runs each workload of the list under each arm, in blocks of random mirrored order, and says what differs.\n"
    "\n"
    "  --arm NAME=LIB[;V=X]  an allocator to preload (none for the C library's) and variables; {seed} is filled in\n"
    "  --base NAME           the arm the others are compared with; the first arm by default; again for a second table\n"
    "  --filter PATTERN      only workloads whose name matches; may be repeated\n"
    "  --time DURATION       budget of the session: 90, 90s, 10m, 2h; default 10m\n"
    "  --pairs N             pairs a workload, instead of as many as the budget allows\n"
    "  --sequential          stop a workload when the sign test's e-value reaches 20 for every arm\n"
    "  --seed N              of the order, the padding and {seed}; default random, printed\n"
    "  --out DIR             write rows.jsonl, rows.csv, claims.jsonl, report.txt and tables in Markdown\n"
    "  --delta PERCENT       time differences that do not matter; default 1\n"
    "  --delta-rss PERCENT   memory differences that do not matter; default 2\n"
    "  --manifest FILE       list of workloads; default BIN/workloads.list\n"
    "  --bin DIR             {bin} of the list; default the folder of this program\n"
    "  --dir DIR             {dir} of the list, working directory of all commands; default BIN/data\n"
    "  --keep-env NAME       pass this variable of ours on; may be repeated\n"
    "  --ignore-stderr       compare stdout and exit status only\n"
    "  --pressure PERCENT    wait while others use more than this of the CPUs; default 5\n"
    "  --wait SECONDS        at most so long; then run, and flag the block; default 60\n"
    "  --least SECONDS       refuse workloads whose runs are shorter; default 0.02\n"
    "  --limit SECONDS       kill a run after this time; default 300\n"
    "  --list                print the workloads and end\n"
    "\n"
    "Exit status, by CPU time: 0 every arm the same or faster, 1 one slower, 2 cannot tell, 3 invalid, 64 usage.\n";

enum options_key {
    OPTION_ARM = 1000,
    OPTION_BASE,
    OPTION_FILTER,
    OPTION_TIME,
    OPTION_PAIRS,
    OPTION_SEQUENTIAL,
    OPTION_SEED,
    OPTION_OUT,
    OPTION_DELTA,
    OPTION_DELTA_RSS,
    OPTION_MANIFEST,
    OPTION_BIN,
    OPTION_DIR,
    OPTION_KEEP_ENV,
    OPTION_IGNORE_STDERR,
    OPTION_PRESSURE,
    OPTION_WAIT,
    OPTION_LEAST,
    OPTION_LIMIT,
    OPTION_LIST,
    OPTION_HELP
};

static const struct option OPTIONS_LONG[] = {
    { "arm", required_argument, NULL, OPTION_ARM },
    { "base", required_argument, NULL, OPTION_BASE },
    { "filter", required_argument, NULL, OPTION_FILTER },
    { "time", required_argument, NULL, OPTION_TIME },
    { "pairs", required_argument, NULL, OPTION_PAIRS },
    { "sequential", no_argument, NULL, OPTION_SEQUENTIAL },
    { "seed", required_argument, NULL, OPTION_SEED },
    { "out", required_argument, NULL, OPTION_OUT },
    { "delta", required_argument, NULL, OPTION_DELTA },
    { "delta-rss", required_argument, NULL, OPTION_DELTA_RSS },
    { "manifest", required_argument, NULL, OPTION_MANIFEST },
    { "bin", required_argument, NULL, OPTION_BIN },
    { "dir", required_argument, NULL, OPTION_DIR },
    { "keep-env", required_argument, NULL, OPTION_KEEP_ENV },
    { "ignore-stderr", no_argument, NULL, OPTION_IGNORE_STDERR },
    { "pressure", required_argument, NULL, OPTION_PRESSURE },
    { "wait", required_argument, NULL, OPTION_WAIT },
    { "least", required_argument, NULL, OPTION_LEAST },
    { "limit", required_argument, NULL, OPTION_LIMIT },
    { "list", no_argument, NULL, OPTION_LIST },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

/* A number that fills the whole word, with one of the unit letters after it if `units` is not NULL. */
static double options_number(const char *text, const char *what)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0))
        bench_die("%s needs a number, not %s", what, text);
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
    double value = options_number(digits, "--time");
    free(digits);
    return value * unit;
}

static char *options_own_folder(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        bench_die("cannot find my own folder; give --bin");
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return bench_copy(path, sizeof path);
}

static char *options_command(int argc, char **argv)
{
    char *text = bench_copy("", 0);
    for (int i = 0; i < argc; i++) {
        const char *quote = strpbrk(argv[i], " ;*?{}") != NULL ? "'" : "";
        char *longer = bench_format("%s%s%s%s%s", text, i > 0 ? " " : "", quote, argv[i], quote);
        free(text);
        text = longer;
    }
    return text;
}

static void options_default(struct bench_options *options)
{
    memset(options, 0, sizeof *options);
    options->budget_seconds = 600;
    options->delta_time = 0.01;
    options->delta_memory = 0.02;
    options->confidence = 0.95;
    options->pressure_limit_percent = 5;
    options->pressure_wait_seconds = 60;
    options->least_seconds = 0.02;
    options->limit_seconds = 300;
    if (getrandom(&options->seed, sizeof options->seed, 0) != (ssize_t)sizeof options->seed)
        options->seed = (uint64_t)getpid();
    options->seed &= UINT32_MAX; /* short enough to be typed again */
}

static void options_take_text(struct bench_options *options, int key, char *value, const char **bases)
{
    switch (key) {
    case OPTION_ARM: bench_arms_add(&options->arms, value); break;
    case OPTION_BASE:
        if (options->base_count == BENCH_BASES_MAX)
            bench_die("too many --base");
        bases[options->base_count++] = value;
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
    case OPTION_OUT: options->out = value; break;
    case OPTION_MANIFEST: options->manifest = value; break;
    case OPTION_BIN: options->bin = bench_copy(value, PATH_MAX); break;
    case OPTION_DIR: options->dir = bench_copy(value, PATH_MAX); break;
    case OPTION_HELP: fputs(OPTIONS_USAGE, stdout); exit(0);
    default: bench_die("see --help");
    }
}

/* The options that are numbers or switches; false if it is another. */
static bool options_take_number(struct bench_options *options, int key, const char *value)
{
    switch (key) {
    case OPTION_TIME: options->budget_seconds = options_duration(value); return true;
    case OPTION_PAIRS: options->pairs = (size_t)options_number(value, "--pairs"); return true;
    case OPTION_SEED: options->seed = strtoull(value, NULL, 0); return true;
    case OPTION_DELTA: options->delta_time = options_number(value, "--delta") / 100; return true;
    case OPTION_DELTA_RSS: options->delta_memory = options_number(value, "--delta-rss") / 100; return true;
    case OPTION_PRESSURE: options->pressure_limit_percent = options_number(value, "--pressure"); return true;
    case OPTION_WAIT: options->pressure_wait_seconds = options_number(value, "--wait"); return true;
    case OPTION_LEAST: options->least_seconds = options_number(value, "--least"); return true;
    case OPTION_LIMIT: options->limit_seconds = (unsigned)options_number(value, "--limit"); return true;
    case OPTION_SEQUENTIAL: options->sequential = true; return true;
    case OPTION_IGNORE_STDERR: options->ignore_errors = true; return true;
    case OPTION_LIST: options->list = true; return true;
    default: return false;
    }
}

static char *options_absolute(char *path, bool create)
{
    if (create && !bench_make_directory(path))
        bench_die("cannot make %s", path);
    char *absolute = realpath(path, NULL);
    if (absolute == NULL)
        bench_die("no such folder: %s", path);
    free(path);
    return absolute;
}

void bench_options_read(struct bench_options *options, int argc, char **argv)
{
    const char *bases[BENCH_BASES_MAX] = { NULL };
    options_default(options);
    options->command = options_command(argc, argv);
    int key;
    while ((key = getopt_long(argc, argv, "", OPTIONS_LONG, NULL)) != -1)
        if (!options_take_number(options, key, optarg))
            options_take_text(options, key, optarg, bases);
    if (optind < argc)
        bench_die("not an option: %s; see --help", argv[optind]);
    options->bin = options_absolute(options->bin != NULL ? options->bin : options_own_folder(), false);
    options->dir = options_absolute(options->dir != NULL ? options->dir : bench_format("%s/data", options->bin), true);
    if (options->manifest == NULL)
        options->manifest = bench_format("%s/workloads.list", options->bin);
    if (options->list)
        return;
    if (options->arms.count < 1)
        bench_die("no --arm; see --help");
    for (size_t i = 0; i < options->base_count; i++)
        options->bases[i] = bench_arms_find(&options->arms, bases[i]);
    if (options->base_count == 0)
        options->bases[options->base_count++] = 0;
    if (options->out != NULL && !bench_make_directory(options->out))
        bench_die("cannot make %s", options->out);
}
