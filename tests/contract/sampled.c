/* SPDX-License-Identifier: MIT */
/*
 * What: each misuse of a sampled block is reported, with the distance and who allocated and freed it; faults that are not ours
 * go where they would have gone.
 * Why this way: a misuse a process, started by exec with options of its own; each has a twin, the same program without the
 * misuse, which must end quietly. The child prints where its functions lie, and the frames of the report must lie there.
 */
#include "unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { SIZE = 100, PAGE = 4096, OUTPUT_BYTES = 16384, STACK_BYTES = 65536 };

/* ---- The programs ----------------------------------------------------------------------------------------------- */

__attribute__((noinline, aligned(256))) static char *make_block(size_t size)
{
    char *block = malloc(size);
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

__attribute__((noinline, aligned(256))) static void drop_block(void *block)
{
    free(block);
    __asm__ volatile("" ::: "memory");
}

/* A block that ends as near to its page's end as its alignment allows, or one that begins its page. */
static char *make_at(bool right)
{
    for (unsigned i = 0; i < 100; i++) {
        char *block = make_block(SIZE);
        if (right == ((uintptr_t)block % PAGE != 0))
            return block;
        free(block);
    }
    _exit(3);
}

static void write_to(char *address)
{
    *(volatile char *)address = 0;
}

static void read_from(char *address)
{
    (void)*(volatile char *)address;
}

static void write_behind(bool misuse)
{
    char *block = make_at(true);
    write_to(block + (misuse ? 112 : SIZE - 1)); /* of the 12 bytes up to there no access faults */
    drop_block(block);
}

static void read_behind(bool misuse)
{
    char *block = make_at(true);
    read_from(block + (misuse ? 120 : 0));
    drop_block(block);
}

static void write_before(bool misuse)
{
    char *block = make_at(false);
    write_to(block - (misuse ? 1 : 0));
    drop_block(block);
}

static void write_after_free(bool misuse)
{
    char *block = make_block(SIZE);
    if (!misuse)
        write_to(block + 7);
    drop_block(block);
    if (misuse)
        write_to(block + 7);
}

static void read_after_free(bool misuse)
{
    char *block = make_block(SIZE);
    drop_block(block);
    block = misuse ? block : make_block(SIZE);
    read_from(block + 7);
}

static void free_twice(bool misuse)
{
    char *block = make_block(SIZE);
    drop_block(block);
    drop_block(misuse ? block : make_block(SIZE));
}

static void write_slack_behind(bool misuse)
{
    char *block = make_block(SIZE);
    write_to(block + SIZE - (misuse ? 0 : 1));
    drop_block(block);
}

static void write_slack_before(bool misuse)
{
    char *block = make_at(true);
    write_to(block - (misuse ? 3 : 0));
    drop_block(block);
}

static void free_interior(bool misuse)
{
    drop_block(make_block(SIZE) + (misuse ? 16 : 0));
}

static void copy_too_much(bool misuse)
{
    static char source[2 * SIZE];
    char *block = make_block(SIZE);
    memcpy(block + 40, source, misuse ? SIZE - 39 : SIZE - 40);
    drop_block(block);
}

static void realloc_freed(bool misuse)
{
    char *block = make_block(SIZE);
    drop_block(block);
    free(realloc(misuse ? block : NULL, 50));
}

static void in_a_forked_child(bool misuse)
{
    char *block = make_block(SIZE);
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        drop_block(block);
        write_to(misuse ? block + 7 : make_block(SIZE));
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        _exit(3);
    write_to(block); /* the parent's is untouched by it */
    drop_block(block);
    if (status != 0)
        abort();
}

static void on_an_alternate_stack(bool misuse)
{
    static char memory[STACK_BYTES];
    stack_t stack = { .ss_sp = memory, .ss_size = sizeof memory };
    if (sigaltstack(&stack, NULL) != 0)
        _exit(3);
    write_after_free(misuse);
}

static void *free_it(void *block)
{
    drop_block(block);
    return NULL;
}

static void freed_by_a_thread(bool misuse)
{
    char *block = make_block(SIZE);
    pthread_t thread;
    if (pthread_create(&thread, NULL, free_it, block) != 0)
        _exit(3);
    pthread_join(thread, NULL);
    write_to(misuse ? block + 7 : make_block(SIZE));
}

static void large_behind(bool misuse)
{
    char *block = make_block(100 * PAGE);
    write_to(block + 100 * PAGE - (misuse ? 0 : 1));
    drop_block(block);
}

static void large_before(bool misuse)
{
    char *block = make_block(100 * PAGE);
    write_to(block - (misuse ? 8 : 0));
    drop_block(block);
}

/* Runs through its slab into the guard behind it. */
static void slab_behind(bool misuse)
{
    char *block = make_block(3000);
    for (size_t i = 0; i < (size_t)(misuse ? 1 << 20 : 3000); i++)
        write_to(block + i);
    drop_block(block);
}

static void zero_sized(bool misuse)
{
    char *block = make_block(0);
    if (misuse)
        read_from(block);
    drop_block(block);
}

/* What the program protects is the program's affair. */
static void own_protection(bool misuse)
{
    char *block = aligned_alloc(PAGE, PAGE);
    if (misuse && mprotect(block, PAGE, PROT_NONE) != 0)
        _exit(3);
    write_to(block);
}

static void null_pointer(bool misuse)
{
    free(make_block(SIZE));
    char *nowhere = (char *)8;
    __asm__ volatile("" : "+r"(nowhere));
    if (misuse)
        write_to(nowhere);
}

static void killed_by_itself(bool misuse)
{
    free(make_block(SIZE));
    if (misuse)
        kill(getpid(), SIGSEGV);
}

static void own_handler(int signal)
{
    _exit(signal == SIGSEGV ? 42 : 3);
}

static void handled_by_the_program(bool misuse)
{
    struct sigaction action = { .sa_handler = own_handler };
    if (sigaction(SIGSEGV, &action, NULL) != 0)
        _exit(3);
    null_pointer(misuse);
}

/* A thread's blocks are whole while others are sampled and freed by all. */
static void *work(void *unused)
{
    unsigned char *blocks[32] = { NULL };
    (void)unused;
    for (unsigned i = 0; i < 30000; i++) {
        unsigned at = i * 7 % 32;
        size_t size = i % 300 + 1;
        if (blocks[at] != NULL && blocks[at][0] != (unsigned char)at)
            abort();
        free(blocks[at]);
        blocks[at] = malloc(size);
        memset(blocks[at], (int)at, size);
    }
    for (unsigned i = 0; i < 32; i++)
        free(blocks[i]);
    return NULL;
}

static void many_threads(bool misuse)
{
    pthread_t threads[4];
    (void)misuse;
    for (unsigned i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            _exit(3);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

/* ---- What must come of them ------------------------------------------------------------------------------------- */

#define SAMPLED "level=2,sample=1,sample_rate=0"

struct program {
    const char *name;
    void (*run)(bool misuse);
    const char *options;
    const char *want[2];   /* parts of the first line; or none: no report */
    bool allocated, freed; /* the report has these stacks */
    int status;            /* as waitpid says: the signal, or the exit status << 8 */
};

static const struct program programs[] = {
    { "write_behind", write_behind, SAMPLED, { "SJ-014", "offset=112 function=write" }, true, false, SIGABRT },
    { "read_behind", read_behind, SAMPLED, { "SJ-014", "offset=120 function=read" }, true, false, SIGABRT },
    { "write_before", write_before, SAMPLED, { "SJ-015", "offset=1 function=write" }, true, false, SIGABRT },
    { "write_after_free", write_after_free, SAMPLED, { "SJ-005", "offset=7 function=write" }, true, true, SIGABRT },
    { "read_after_free", read_after_free, SAMPLED, { "SJ-005", "offset=7 function=read" }, true, true, SIGABRT },
    { "free_twice", free_twice, SAMPLED, { "SJ-004", "function=free" }, true, true, SIGABRT },
    { "write_slack_behind",
      write_slack_behind,
      SAMPLED,
      { "SJ-014", "offset=100 function=free" },
      true,
      true,
      SIGABRT },
    { "write_slack_before", write_slack_before, SAMPLED, { "SJ-015", "offset=3 function=free" }, true, true, SIGABRT },
    { "free_interior", free_interior, SAMPLED, { "SJ-002", "offset=16 function=free" }, true, false, SIGABRT },
    { "copy_too_much", copy_too_much, SAMPLED, { "SJ-011", "given=61 expected=60" }, true, false, SIGABRT },
    { "realloc_freed", realloc_freed, SAMPLED, { "SJ-005", "function=realloc" }, true, true, SIGABRT },
    { "in_a_forked_child", in_a_forked_child, SAMPLED, { "SJ-005", "offset=7" }, true, true, SIGABRT },
    { "on_an_alternate_stack", on_an_alternate_stack, SAMPLED, { "SJ-005", "offset=7" }, true, true, SIGABRT },
    { "freed_by_a_thread", freed_by_a_thread, SAMPLED, { "SJ-005", "offset=7" }, true, true, SIGABRT },
    { "at_level_1", write_after_free, "level=1,sample=1", { "SJ-005", "offset=7" }, true, true, SIGABRT },
    { "on_top_of_level_0", write_after_free, "level=0,sample=1", { "SJ-005", "offset=7" }, true, true, SIGABRT },
    { "large_behind", large_behind, "level=1,sample=off", { "SJ-014", "offset=409600" }, false, false, SIGABRT },
    { "large_before", large_before, "level=1,sample=off", { "SJ-015", "offset=8" }, false, false, SIGABRT },
    { "slab_behind",
      slab_behind,
      "level=1,sample=off,guard=every",
      { "SJ-014", "function=write" },
      false,
      false,
      SIGABRT },
    { "zero_sized", zero_sized, "level=1,sample=off", { "SJ-014", "function=read" }, false, false, SIGABRT },
    { "off", write_slack_behind, "level=2,sample=off", { NULL, NULL }, false, false, 0 },
    { "off_at_level_0", write_after_free, "level=0", { NULL, NULL }, false, false, 0 },
    { "own_protection", own_protection, SAMPLED, { NULL, NULL }, false, false, SIGSEGV },
    { "null_pointer", null_pointer, SAMPLED, { NULL, NULL }, false, false, SIGSEGV },
    { "killed_by_itself", killed_by_itself, SAMPLED, { NULL, NULL }, false, false, SIGSEGV },
    { "handled_by_the_program", handled_by_the_program, SAMPLED, { NULL, NULL }, false, false, 42 << 8 },
    { "many_threads", many_threads, "level=2,sample=3,sample_rate=0", { NULL, NULL }, false, false, 0 },
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };

/* Runs a program in a process of its own; `output` gets what it writes on both descriptors. Returns waitpid's status. */
static int run_program(const struct program *program, bool misuse, char *output)
{
    int ends[2], status = -1;
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit no_core = { 0, 0 };
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        setenv("SCRUBJAY_OPTIONS", program->options, 1);
        execl("/proc/self/exe", "sampled", "--program", program->name, misuse ? "misuse" : "twin", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], output + length, OUTPUT_BYTES - 1 - length)) > 0;)
        length += (size_t)got;
    output[length] = '\0';
    close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child ? status & ~0x80 : -1;
}

/* Is the first frame behind `words` in the function of the child that printed itself as `name`? */
static bool begins_in(const char *output, const char *words, const char *name)
{
    const char *stack = strstr(output, words), *function = strstr(output, name);
    const char *frame = stack != NULL ? strstr(stack, "frame 0 0x") : NULL;
    if (frame == NULL || function == NULL)
        return false;
    uint64_t distance = strtoull(frame + strlen("frame 0 "), NULL, 16) - strtoull(function + strlen(name), NULL, 16);
    return distance > 0 && distance < 256;
}

static void check_program(const struct program *program)
{
    static char output[OUTPUT_BYTES];
    unsigned failed = unit_failed();
    CHECK_EQ(run_program(program, true, output), program->status);
    const char *line = strstr(output, "scrubjay: SJ-");
    if (program->want[0] == NULL)
        CHECK(line == NULL);
    else if (CHECK(line != NULL))
        CHECK(strstr(line, program->want[0]) == line + strlen("scrubjay: ") && strstr(line, program->want[1]) != NULL);
    if (program->allocated)
        CHECK(begins_in(output, "block allocated by thread ", "make_block="));
    CHECK_EQ(strstr(output, "block freed by thread ") != NULL, program->freed);
    if (program->freed)
        CHECK(begins_in(output, "block freed by thread ", "drop_block="));
    if (unit_failed() > failed)
        unit_print("# %s under %s:\n%s\n", program->name, program->options, output);
    CHECK_EQ(run_program(program, false, output), 0);
    CHECK(strstr(output, "scrubjay: ") == NULL);
}

static void sampled_misuse__is_reported_and_twins_run(void)
{
    for (size_t i = 0; i < PROGRAMS; i++)
        check_program(&programs[i]);
}

static void sampled_threads__are_told_apart(void)
{
    static char output[OUTPUT_BYTES];
    for (size_t i = 0; i < PROGRAMS; i++)
        if (programs[i].run == freed_by_a_thread) {
            run_program(&programs[i], true, output);
            const char *made = strstr(output, "allocated by thread "), *freed = strstr(output, "freed by thread ");
            REQUIRE(made != NULL && freed != NULL);
            CHECK(strtol(made + strlen("allocated by thread "), NULL, 10) !=
                  strtol(freed + strlen("freed by thread "), NULL, 10));
        }
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 4 && strcmp(argv[1], "--program") == 0 && i < PROGRAMS; i++)
        if (strcmp(argv[2], programs[i].name) == 0) {
            unit_print("make_block=%p drop_block=%p\n", (void *)(uintptr_t)make_block, (void *)(uintptr_t)drop_block);
            programs[i].run(strcmp(argv[3], "misuse") == 0);
            return 0;
        }
    unit_begin(argc, argv);
    RUN(sampled_misuse__is_reported_and_twins_run);
    RUN(sampled_threads__are_told_apart);
    return unit_end();
}
