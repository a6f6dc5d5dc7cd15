/* SPDX-License-Identifier: MIT
 *
 * What: a session cut into blocks: `cost plan` lists them, `cost run-block` runs one, `cost merge` (cost.c) puts them
 * together.
 *
 * Why this way: a block has every arm of one command on one machine, so that what machines differ in cancels; blocks need
 * nothing of each other, so whatever starts processes may run them: a loop, GNU parallel, an array of cluster jobs. A line
 * of the plan is all a block needs besides the first, and a block's folder is a session of one block.
 *
 * Invariants: the same plan gives the same orders and seeds wherever its blocks are run. A block that is run again
 * replaces what it left.
 *
 * Concurrency: blocks may run at once, in processes of their own; on one machine they would disturb each other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/engine.h"
#include "bench/json.h"
#include "bench/text.h"
#include "command.h"
#include "cost.h"
#include "lab/random.h"

enum { PLAN_FORMAT = 1, PLAN_BLOCKS_DEFAULT = 20 };

static void plan_write(FILE *out, const struct bench_options *options, const struct bench_manifest *manifest,
                       size_t blocks)
{
    struct lab_random random;
    lab_random_seed(&random, options->seed);
    fprintf(out, "{\"type\":\"blocks\",\"format\":%d,\"count\":%zu,\"command\":", PLAN_FORMAT,
            blocks * manifest->count);
    bench_json_string(out, options->command);
    fputs(",\"folder\":", out);
    bench_json_string(out, options->folder);
    fputs(",\"argv\":[", out);
    for (size_t i = 0; i < options->argument_count; i++) {
        fputs(i > 0 ? "," : "", out);
        bench_json_string(out, options->arguments[i]);
    }
    fputs("]}\n", out);
    size_t index = 0;
    for (size_t block = 0; block < blocks; block++) {
        for (size_t i = 0; i < manifest->count; i++) {
            fprintf(out, "{\"type\":\"block\",\"index\":%zu,\"seed\":%llu,\"workload\":", index++,
                    (unsigned long long)(lab_random_next(&random) & UINT32_MAX));
            bench_json_string(out, manifest->items[i].name);
            fputs("}\n", out);
        }
    }
}

static FILE *plan_open(const char *path)
{
    FILE *out = fopen(path, "we");
    if (out == NULL)
        bench_die("%s: %s", path, strerror(errno));
    return out;
}

static void plan_close(FILE *out, const char *path)
{
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        bench_die("%s cannot be written whole: %s", path, strerror(errno));
}

/* Each block gets a node for itself. */
static void plan_submit(const char *folder, size_t count)
{
    char *path = bench_format("%s/slurm.sh", folder);
    char *own = bench_own_folder();
    char *command = bench_format("%s/scrubjay", own);
    char *plan = bench_format("%s/plan.jsonl", folder);
    char *quoted_command = bench_quote(command);
    char *quoted_plan = bench_quote(plan);
    FILE *out = plan_open(path);
    fprintf(out,
            "#!/bin/sh\n#SBATCH --job-name=scrubjay-cost\n#SBATCH --array=0-%zu\n#SBATCH --exclusive\n"
            "exec %s cost run-block --plan %s --index \"$SLURM_ARRAY_TASK_ID\"\n",
            count - 1, quoted_command, quoted_plan);
    plan_close(out, path);
    char *quoted_path = bench_quote(path);
    char *quoted_folder = bench_quote(folder);
    char *submit = bench_format("sbatch --output=%s/slurm-%%a.log %s", quoted_folder, quoted_path);
    if (bench_run_shell(submit, folder) != 0)
        bench_die("sbatch did not take %s; where it does: %s", path, submit);
    printf("submitted: %zu blocks; when they have ended: scrubjay cost merge --out RESULT %s/block-*\n", count,
           quoted_folder);
}

int sj__cost_plan(int argc, char **argv)
{
    static struct bench_options options;
    struct bench_manifest manifest = { 0 };
    char *name = argv[0];
    bool slurm = false;
    if (argc > 2 && strcmp(argv[1], "--cluster") == 0) {
        if (strcmp(argv[2], "slurm") != 0)
            bench_die("--cluster knows slurm, not %s; any other runs `scrubjay cost run-block` for each index",
                      argv[2]);
        slurm = true;
        argc -= 2;
        argv += 2;
        argv[0] = name;
    }
    bench_options_read(&options, BENCH_COST, argc, argv);
    bench_engine_read_jobs(&options, &manifest);
    sj__cost_choose_arms(&options);
    if (options.budget != NULL || options.resume)
        bench_die("a plan is for one session from its start: no --budget, no --resume");
    if (slurm && options.out == NULL)
        bench_die("--cluster needs --out DIR, a folder that all nodes see");
    size_t blocks = options.pairs > 0 ? (options.pairs + 1) / 2 : PLAN_BLOCKS_DEFAULT;
    size_t count = blocks * manifest.count;
    if (options.out == NULL) {
        plan_write(stdout, &options, &manifest, blocks);
        return SJ_EXIT_GOOD;
    }
    char *path = bench_format("%s/plan.jsonl", options.out);
    FILE *out = plan_open(path);
    plan_write(out, &options, &manifest, blocks);
    plan_close(out, path);
    if (slurm)
        plan_submit(options.out, count);
    else
        printf("%s: blocks 0 to %zu\n", path, count - 1);
    free(path);
    return SJ_EXIT_GOOD;
}

/* The first line, and the block's; ends the program if there is no such plan or block. */
static void block_read(const char *path, size_t index, const struct json_t **head, const struct json_t **block)
{
    struct bench_json_file in;
    bench_json_open(&in, path, "");
    struct json_t *line = bench_json_next(&in);
    if (line == NULL || strcmp(bench_json_text(line, "type", ""), "blocks") != 0 ||
        bench_json_number(line, "format", 0) != PLAN_FORMAT)
        bench_die("%s is not a plan of format %d, as `scrubjay cost plan` writes it", path, PLAN_FORMAT);
    *head = line;
    while ((line = bench_json_next(&in)) != NULL && (strcmp(bench_json_text(line, "type", ""), "block") != 0 ||
                                                     bench_json_number(line, "index", -1) != (double)index))
        bench_json_free(line);
    if (line == NULL)
        bench_die("%s has no block %zu", path, index);
    *block = line;
    bench_json_close(&in);
}

/* The planned command line again, in its own folder. */
static void block_options(struct bench_options *options, const struct json_t *head)
{
    const char *folder = bench_json_text(head, "folder", ".");
    size_t count = bench_json_count(head, "argv");
    char **argv = calloc(count + 1, sizeof *argv);
    if (argv == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        argv[i] = bench_format("%s", bench_json_word(head, "argv", i));
    if (chdir(folder) != 0)
        bench_die("the plan was made in %s, which cannot be entered here: %s", folder, strerror(errno));
    optind = 0; /* getopt begins anew */
    bench_options_read(options, BENCH_COST, (int)count, argv);
}

/* Of a list, only the block's command. Names are unique. */
static void block_choose(struct bench_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->count; i++) {
        if (strcmp(manifest->items[i].name, name) == 0) {
            manifest->items[0] = manifest->items[i];
            manifest->count = 1;
            return;
        }
    }
    bench_die("the list has no %s any more", name);
}

static int block_run(const struct json_t *head, const struct json_t *block, const char *out)
{
    static struct bench_options options;
    static struct bench_outcome outcome;
    struct bench_manifest manifest = { 0 };
    block_options(&options, head);
    options.pairs = 2; /* one block */
    options.seed = (uint64_t)bench_json_number(block, "seed", 0);
    options.command = bench_format("%s", bench_json_text(head, "command", ""));
    if (!bench_make_directory(out))
        bench_die("cannot make the folder %s", out);
    options.out = out;
    bench_engine_read_jobs(&options, &manifest);
    block_choose(&manifest, bench_json_text(block, "workload", ""));
    sj__cost_choose_arms(&options);
    bench_engine_measure(&outcome, &options, &manifest);
    bool whole = outcome.measured == 1 && outcome.results[0].blocks == 1;
    if (whole)
        printf("%s\n", out);
    return whole ? SJ_EXIT_GOOD : lab_verdict_status(LAB_INVALID);
}

int sj__cost_run_block(int argc, char **argv)
{
    static const char usage[] = "usage: scrubjay cost run-block --plan FILE --index N [--out DIR]";
    const char *plan = NULL;
    const char *index_text = NULL;
    const char *out = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--plan") == 0)
            plan = argv[i + 1];
        else if (strcmp(argv[i], "--index") == 0)
            index_text = argv[i + 1];
        else if (strcmp(argv[i], "--out") == 0)
            out = argv[i + 1];
        else
            bench_die("%s", usage);
    }
    char *end = NULL;
    size_t index = index_text != NULL ? (size_t)strtoull(index_text, &end, 10) : 0;
    if (argc % 2 == 0 || plan == NULL || end == NULL || end == index_text || *end != '\0')
        bench_die("%s", usage);
    char *path = realpath(plan, NULL);
    if (path == NULL)
        bench_die("%s: %s", plan, strerror(errno));
    const struct json_t *head;
    const struct json_t *block;
    block_read(path, index, &head, &block);
    /* Beside the plan; found before the folder changes. */
    *strrchr(path, '/') = '\0';
    char *here = realpath(".", NULL);
    char *parent = out == NULL     ? bench_format("%s", path)
                   : out[0] == '/' ? bench_format("%s", out)
                                   : bench_format("%s/%s", here != NULL ? here : ".", out);
    return block_run(head, block, bench_format("%s/block-%04zu", parent, index));
}
