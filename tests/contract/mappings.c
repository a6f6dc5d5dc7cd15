/* SPDX-License-Identifier: MIT */
/*
 * What: how the memory handed out looks in /proc/self/smaps: one mapping however often it has grown, and marked against
 * huge pages unless the option says otherwise.
 * Why this way: each growth is a mapping of its own until its marks are those of its neighbour; then the kernel joins
 * them. A program has a budget of mappings, so a mark forgotten anywhere shows here. Options are fixed when a process
 * starts, so the test runs itself again.
 */
#include "unit/unit.h"

#include <fcntl.h>
#include <sys/wait.h>

enum { SMALL_BYTES = 3000, SMALL_BLOCKS = 20000, TEXT_BYTES = 4 << 20, OPTIONS_BYTES = 128 };

static char *blocks[SMALL_BLOCKS];
static char text[TEXT_BYTES];

static bool read_mappings(void)
{
    size_t length = 0;
    ssize_t got = 1;
    int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    while (got > 0 && length < sizeof text - 1) {
        got = read(file, text + length, sizeof text - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    close(file);
    text[length] = '\0';
    return got == 0 && strstr(text, "VmFlags:") != NULL;
}

/* The lines about the mapping that contains `address`, or NULL. */
static const char *mapping_of(const void *address)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        unsigned long start, end;
        line += *line == '\n';
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2 && (unsigned long)address >= start &&
            (unsigned long)address < end)
            return line;
    }
    return NULL;
}

static bool refuses_huge(const char *mapping)
{
    const char *flags = strstr(mapping, "VmFlags:");
    const char *end = flags != NULL ? strchr(flags, '\n') : NULL;
    const char *mark = flags != NULL ? strstr(flags, " nh") : NULL;
    return mark != NULL && end != NULL && mark < end;
}

static void make_small(void)
{
    for (size_t i = 0; i < SMALL_BLOCKS; i++) {
        blocks[i] = malloc(SMALL_BYTES);
        if (blocks[i] == NULL)
            abort();
        memset(blocks[i], 1, SMALL_BYTES);
    }
}

static void mappings_small_blocks__lie_in_one(void)
{
    make_small();
    REQUIRE(read_mappings());
    const char *first = mapping_of(blocks[0]);
    REQUIRE(first != NULL);
    for (size_t i = 0; i < SMALL_BLOCKS; i += 100)
        CHECK(mapping_of(blocks[i]) == first);
    for (size_t i = 0; i < SMALL_BLOCKS; i++)
        free(blocks[i]);
}

/* Grows blocks until they must move, and frees them: what is put in their place must be marked like the rest. */
static void churn_large(void)
{
    enum { MOVERS = 8 };
    char *movers[MOVERS] = { NULL };
    for (size_t bytes = 1 << 16; bytes <= 32 << 20; bytes += bytes / 2)
        for (size_t i = 0; i < MOVERS; i++) {
            char *grown = realloc(movers[i], bytes);
            if (grown == NULL)
                abort();
            movers[i] = grown;
            movers[i][bytes - 1] = 1;
        }
    for (size_t i = 0; i < MOVERS; i++)
        free(movers[i]);
}

/* How many of the mappings that small blocks lie in allow huge pages; -1 if the kernel does not tell. */
static int count_unmarked(void)
{
    int unmarked = 0;
    churn_large();
    make_small();
    if (!read_mappings())
        return -1;
    for (size_t i = 0; i < SMALL_BLOCKS; i++) {
        const char *mapping = mapping_of(blocks[i]);
        unmarked += mapping == NULL || !refuses_huge(mapping);
    }
    return unmarked;
}

static bool kernel_has_huge_pages(void)
{
    return access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0;
}

static void mappings_window__is_marked_against_huge_pages(void)
{
    if (!kernel_has_huge_pages())
        SKIP("the kernel has no transparent huge pages");
    CHECK_EQ(count_unmarked(), 0);
}

static void mappings_window__is_left_to_the_system_when_asked(void)
{
    char options[OPTIONS_BYTES];
    const char *given = getenv("SCRUBJAY_OPTIONS");
    int status = -1;
    snprintf(options, sizeof options, "%s,thp=system", given != NULL ? given : "");
    pid_t child = fork();
    if (child == 0) {
        setenv("SCRUBJAY_OPTIONS", options, 1);
        execl("/proc/self/exe", "mappings", "--unmarked", (char *)NULL);
        _exit(127);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--unmarked") == 0)
        return count_unmarked() == SMALL_BLOCKS ? 0 : 1;
    unit_begin(argc, argv);
    RUN(mappings_small_blocks__lie_in_one);
    RUN(mappings_window__is_marked_against_huge_pages);
    RUN(mappings_window__is_left_to_the_system_when_asked);
    return unit_end();
}
