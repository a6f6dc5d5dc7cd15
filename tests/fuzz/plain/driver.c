/* SPDX-License-Identifier: MIT */
/*
 * What: runs a fuzz target without libFuzzer: over each file of a corpus, then over mutations of each.
 *
 * Why this way: every compiler and every sanitizer can run it, so the corpus is a test among the others; a fixed number of
 * mutations a file by a printed seed finds what a change breaks near known inputs, and repeats it. A signal prints the
 * file and the mutation it was in.
 *
 * Usage: TARGET FOLDER|FILE...   SJ_TEST_SEED=N sets the seed, SJ_TEST_MUTATIONS=N how many of each file (default 40).
 *
 * Invariants: the input of a target has its exact length in a block of its own, so that a sanitizer sees a read behind it.
 *
 * Concurrency: one thread.
 */
#include "fuzz/target.h"
#include "unit/unit.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>

enum { INPUT_BYTES = 1 << 16 };

static char current[512];
static size_t files, inputs;
static size_t mutations = 40;

static void say_where(int signal_number)
{
    unit_print("# signal %d in %s\n", signal_number, current);
    (void)signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void try_input(const unsigned char *bytes, size_t count)
{
    unsigned char *exact = malloc(count != 0 ? count : 1);
    if (exact == NULL)
        abort();
    memcpy(exact, bytes, count);
    LLVMFuzzerTestOneInput(exact, count);
    free(exact);
    inputs++;
}

/* Between one and eight changes: a bit, a byte, a piece doubled, a piece left out. */
static size_t mutate(uint64_t *random, unsigned char *bytes, size_t count)
{
    for (uint64_t changes = unit_random_below(random, 8) + 1; changes > 0 && count > 0; changes--) {
        size_t at = unit_random_below(random, count), length = unit_random_below(random, count - at) % 64 + 1;
        switch (unit_random_below(random, 4)) {
        case 0: bytes[at] ^= (unsigned char)(1U << unit_random_below(random, 8)); break;
        case 1: bytes[at] = (unsigned char)unit_random(random); break;
        case 2:
            if (count + length > INPUT_BYTES || at + length > count)
                break;
            memmove(bytes + at + length, bytes + at, count - at);
            count += length;
            break;
        default:
            memmove(bytes + at, bytes + at + length, count - at - length);
            count -= length;
            break;
        }
    }
    return count;
}

static void try_file(const char *path)
{
    static unsigned char original[INPUT_BYTES], mutated[INPUT_BYTES];
    FILE *file = fopen(path, "re");
    if (!CHECK(file != NULL))
        return;
    size_t count = fread(original, 1, sizeof original, file);
    fclose(file);
    files++;
    snprintf(current, sizeof current, "%.400s", path);
    try_input(original, count);
    uint64_t random = unit_state.seed;
    for (size_t i = 0; i < mutations; i++) {
        snprintf(current, sizeof current, "%.400s, mutation %zu", path, i);
        memcpy(mutated, original, count);
        try_input(mutated, mutate(&random, mutated, count));
    }
}

static void try_path(const char *path)
{
    struct stat status;
    if (!CHECK(stat(path, &status) == 0))
        return;
    if (!S_ISDIR(status.st_mode)) {
        try_file(path);
        return;
    }
    struct dirent **names = NULL;
    int count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            try_file(name);
        free(names[i]);
    }
    free(names);
}

static char **paths;

static void fuzz_target__holds_when_given_corpus_and_mutations(void)
{
    for (char **path = paths; *path != NULL; path++)
        try_path(*path);
    unit_print("# %zu files, %zu inputs\n", files, inputs);
    CHECK(files != 0);
}

int main(int argc, char **argv)
{
    static const int ends[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM };
    const char *text = getenv("SJ_TEST_MUTATIONS");
    if (text != NULL)
        mutations = strtoul(text, NULL, 10);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        (void)signal(ends[i], say_where);
    alarm(200);
    unit_begin(1, argv);
    paths = argv + (argc > 0 ? 1 : 0);
    RUN(fuzz_target__holds_when_given_corpus_and_mutations);
    return unit_end();
}
