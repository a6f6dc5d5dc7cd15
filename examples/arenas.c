/* SPDX-License-Identifier: MIT
 *
 * A checker of programs, in small: it runs another program's allocations on its behalf, and keeps books of its own about them.
 *
 * Two arenas, as such tools have them. What the checker needs for itself lies in `internal`: it is trusted, allocates most, and
 * pays for no protection. What the checked program gets lies in `client`, with all that finds its bugs. So the checker is fast, a bug of
 * the client can't reach the checker's data, and at the end of a run the client's memory goes in one call, leaks and all.
 * Labels say what the checker's blocks are for.
 *
 * Usage: arenas [STEPS]. Prints what each arena and label came to. Exit status 1 if the books do not add up.
 */
#include <scrubjay.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024, LIVE = 500 };

/* What the checker knows of a block of the client. */
struct record {
    struct record *next;
    void *block;
    size_t size;
    char *where; /* the stack that allocated it, as text */
};

struct checker {
    struct sj_arena *internal;
    struct sj_arena *client;
    struct record *buckets[BUCKETS];
    unsigned long leaks;
};

static void out_of_memory(void)
{
    fputs("arenas: out of memory\n", stderr);
    exit(1);
}

static struct record **bucket_of(struct checker *checker, const void *block)
{
    return &checker->buckets[(size_t)block / 16 % BUCKETS];
}

/* The client's malloc. */
static void *client_malloc(struct checker *checker, size_t size, const char *function)
{
    void *block = sj_arena_malloc(checker->client, "client", size);
    struct record *record = sj_arena_calloc(checker->internal, "blocks", 1, sizeof *record);
    if (block == NULL || record == NULL)
        out_of_memory();
    size_t length = strlen(function) + 16;
    record->where = sj_arena_malloc(checker->internal, "stacks", length);
    if (record->where == NULL)
        out_of_memory();
    snprintf(record->where, length, "%s:%zu", function, size % 97);
    record->block = block;
    record->size = size;
    record->next = *bucket_of(checker, block);
    *bucket_of(checker, block) = record;
    return block;
}

/* The client's free. A block that the books don't have is the client's bug; the arena would find it too. */
static void client_free(struct checker *checker, void *block)
{
    struct record **link = bucket_of(checker, block);
    while (*link != NULL && (*link)->block != block)
        link = &(*link)->next;
    struct record *record = *link;
    if (record == NULL) {
        printf("client: invalid free\n");
        return;
    }
    *link = record->next;
    sj_arena_free(checker->client, block);
    sj_arena_free(checker->internal, record->where);
    sj_arena_free(checker->internal, record);
}

/* The client: some program, which forgets one block in a hundred, and frees one twice. */
static void run_client(struct checker *checker, unsigned long steps)
{
    static const char *const functions[] = { "parse", "lookup", "render" };
    void *live[LIVE] = { NULL };
    unsigned long random = 12345;
    for (unsigned long step = 0; step < steps; step++) {
        random = random * 1103515245 + 12345;
        void **slot = &live[random / 65536 % LIVE];
        if (*slot != NULL && random / 65536 % 100 != 7)
            client_free(checker, *slot);
        size_t size = 1 + random / 65536 % 2000;
        *slot = client_malloc(checker, size, functions[step % 3]);
        memset(*slot, 'c', size);
    }
    for (int i = 0; i < LIVE; i++)
        if (live[i] != NULL)
            client_free(checker, live[i]);
    void *twice = client_malloc(checker, 10, "render");
    client_free(checker, twice);
    client_free(checker, twice);
}

static unsigned long count_leaks(const struct checker *checker)
{
    unsigned long count = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (const struct record *record = checker->buckets[i]; record != NULL; record = record->next)
            count++;
    return count;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The places in the client that leak, each once. */
static unsigned long count_places(struct checker *checker)
{
    unsigned long places = 0, count = 0;
    if (sj_label_push("report") != 0) /* malloc's own blocks, until the pop */
        out_of_memory();
    char **where = malloc((checker->leaks + 1) * sizeof *where);
    if (where == NULL)
        out_of_memory();
    for (int i = 0; i < BUCKETS; i++)
        for (const struct record *record = checker->buckets[i]; record != NULL; record = record->next)
            where[count++] = record->where;
    qsort(where, count, sizeof *where, compare);
    for (unsigned long i = 0; i < count; i++)
        places += i == 0 || strcmp(where[i - 1], where[i]) != 0;
    free(where);
    sj_label_pop();
    return places;
}

static void print_books(void)
{
    struct sj_account_stats account;
    for (size_t i = 0; sj_account_read(i, &account) == 0; i++)
        printf("%-9s %-8s %8llu blocks now %10llu bytes at most %8llu blocks in all\n",
               account.arena[0] != '\0' ? account.arena : "-", account.label, (unsigned long long)account.live_blocks,
               (unsigned long long)account.peak_bytes, (unsigned long long)account.allocated_blocks);
}

int main(int argc, char **argv)
{
    unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
    struct checker checker = { .internal = sj_arena_create("internal", "level=0,exhausted=report"),
                               .client = sj_arena_create("client", "level=3,limit_bytes=64m") };
    struct sj_account_stats internal, client;
    if (checker.internal == NULL || checker.client == NULL) {
        perror("arenas: sj_arena_create");
        return 1;
    }
    run_client(&checker, steps);
    sj_arena_read(checker.client, &client);
    sj_arena_read(checker.internal, &internal);
    checker.leaks = count_leaks(&checker);
    printf("%lu blocks leaked, from %lu places\n", checker.leaks, count_places(&checker));
    print_books();
    int adds_up = client.live_blocks == checker.leaks && internal.live_blocks == 2 * client.live_blocks;
    sj_arena_reset(checker.client); /* for the next run: leaks and all */
    sj_arena_read(checker.client, &client);
    adds_up = adds_up && client.live_blocks == 0 && client.live_bytes == 0;
    sj_arena_destroy(checker.client);
    sj_arena_destroy(checker.internal);
    if (!adds_up)
        fputs("arenas: the books do not add up\n", stderr);
    return adds_up ? 0 : 1;
}
