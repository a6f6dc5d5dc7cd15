/* SPDX-License-Identifier: MIT */
/*
 * What: all names of the family as glibc exports them, and what the statistics among them answer.
 * Why this way: names that headers no longer declare are found by dlsym, as an old binary's loader would.
 */
#include "support/process.h"
#include "unit/unit.h"

#include "scrubjay.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>

static void *find(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (symbol == NULL)
        unit_print("# %s is missing\n", name);
    return symbol;
}

/* ISO C has no cast from object to function pointer; POSIX has this one. */
#define FIND(type, name)                                \
    __extension__({                                     \
        void *symbol_ = find(name);                     \
        __typeof__(type) function_;                     \
        memcpy(&function_, &symbol_, sizeof function_); \
        function_;                                      \
    })

static const char *object_of(const char *name)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_DEFAULT, name);
    return symbol != NULL && dladdr(symbol, &info) != 0 ? info.dli_fname : "nowhere";
}

static void names_all__come_from_one_library(void)
{
    static const char *const names[] = {
        "malloc",          "calloc",         "realloc",          "free",
        "cfree",           "memalign",       "aligned_alloc",    "posix_memalign",
        "valloc",          "pvalloc",        "reallocarray",     "malloc_usable_size",
        "malloc_trim",     "mallopt",        "mallinfo",         "mallinfo2",
        "malloc_info",     "malloc_stats",   "free_sized",       "free_aligned_sized",
        "__libc_malloc",   "__libc_calloc",  "__libc_realloc",   "__libc_free",
        "__libc_memalign", "__libc_valloc",  "__libc_pvalloc",   "__libc_reallocarray",
        "__libc_mallinfo", "__libc_mallopt", "__posix_memalign",
    };
    if (dlsym(RTLD_DEFAULT, "sj_malloc") == NULL)
        SKIP("another allocator is under test");
    const char *ours = object_of("sj_malloc");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!CHECK(strcmp(object_of(names[i]), ours) == 0))
            unit_print("# %s comes from %s\n", names[i], object_of(names[i]));
}

static void names_siblings__work_together(void)
{
    typedef void *(*one_size)(size_t);
    typedef void *(*two_sizes)(size_t, size_t);
    void (*libc_free)(void *) = FIND(void (*)(void *), "__libc_free");
    void (*old_free)(void *) = FIND(void (*)(void *), "cfree");
    one_size makers[3] = { FIND(one_size, "__libc_malloc"), FIND(one_size, "__libc_valloc"),
                           FIND(one_size, "__libc_pvalloc") };
    two_sizes pairs[2] = { FIND(two_sizes, "__libc_calloc"), FIND(two_sizes, "__libc_memalign") };
    void *(*libc_realloc)(void *, size_t) = FIND(void *(*)(void *, size_t), "__libc_realloc");
    int (*libc_posix_memalign)(void **, size_t, size_t) = FIND(int (*)(void **, size_t, size_t), "__posix_memalign");
    REQUIRE(libc_free != NULL && libc_realloc != NULL);
    for (size_t i = 0; i < 3; i++) {
        REQUIRE(makers[i] != NULL);
        free(memset(makers[i](100), 1, 100));
        libc_free(makers[i](100));
    }
    for (size_t i = 0; i < 2; i++) {
        REQUIRE(pairs[i] != NULL);
        free(memset(pairs[i](64, 100), 1, 100));
        libc_free(pairs[i](64, 100));
    }
    if (old_free != NULL)
        old_free(malloc(10));
    libc_free(malloc(10));
    free(libc_realloc(malloc(10), 1000));
    libc_free(realloc(libc_realloc(NULL, 10), 1000));
    if (libc_posix_memalign != NULL) {
        void *block = NULL;
        CHECK_EQ(libc_posix_memalign(&block, 4096, 10), 0);
        CHECK(block != NULL && (uintptr_t)block % 4096 == 0);
        free(block);
    }
    free(pvalloc(100));
    free(valloc(100));
}

static size_t bytes_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void names_mallinfo2__moves_with_each_allocation(void)
{
    static const size_t sizes[] = { 1, 16, 100, 1000, 5000, 30000, 40000, 100000, 1 << 20, 10 << 20 };
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (int round = 0; round < 20; round++) {
            size_t before = bytes_in_use();
            void *block = malloc(sizes[k]);
            size_t during = bytes_in_use();
            if (!CHECK(during >= before + sizes[k]))
                unit_print("# size %zu: %zu before, %zu during\n", sizes[k], before, during);
            free(block);
            if (!CHECK(bytes_in_use() <= during - sizes[k]))
                unit_print("# size %zu: %zu before, %zu during, %zu after\n", sizes[k], before, during, bytes_in_use());
        }
    struct mallinfo2 info = mallinfo2();
    CHECK(info.arena + info.hblkhd >= info.uordblks);
}

/* Small blocks and large ones, each step of a random program: what is in use moves by what the block has, and all adds up. */
static void names_mallinfo2__follows_each_step(void)
{
    enum { BLOCKS = 40, STEPS = 400 };
    static void *blocks[BLOCKS];
    uint64_t state = unit_state.seed;
    for (int step = 0; step < STEPS; step++) {
        void **block = &blocks[unit_random_below(&state, BLOCKS)];
        bool is_large = unit_random_below(&state, 4) == 0;
        size_t size = 1 + unit_random_below(&state, is_large ? 300000 : 3000), before = bytes_in_use();
        size_t had = malloc_usable_size(*block), has = 0;
        if (*block != NULL) {
            free(*block);
            *block = NULL;
        } else {
            *block = malloc(size);
            has = malloc_usable_size(*block);
        }
        struct mallinfo2 info = mallinfo2();
        size_t after = info.uordblks + info.hblkhd;
        if (!CHECK(*block != NULL ? after >= before + has : after <= before - had))
            unit_print("# size %zu: %zu before, %zu after\n", size, before, after);
        CHECK(info.fordblks == info.arena - info.uordblks && info.fsmblks + info.keepcost <= info.fordblks);
        CHECK(info.usmblks >= info.arena + info.hblkhd);
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static size_t read_info(char *text, size_t bytes)
{
    FILE *stream = tmpfile();
    if (stream == NULL || malloc_info(0, stream) != 0)
        return 0;
    rewind(stream);
    size_t length = fread(text, 1, bytes - 1, stream);
    text[length] = '\0';
    fclose(stream);
    return length;
}

/* Well formed: tags balance, attributes are quoted. Enough to catch what a parser would refuse. */
static bool well_formed(const char *text)
{
    char open[32][32];
    int depth = 0;
    bool any = false;
    for (const char *at = strchr(text, '<'); at != NULL; at = strchr(at, '<')) {
        const char *end = strchr(at, '>');
        char name[32] = "";
        if (end == NULL || depth >= 31)
            return false;
        unsigned quotes = 0;
        for (const char *c = at; c < end; c++)
            quotes += *c == '"';
        sscanf(at[1] == '/' ? at + 2 : at + 1, "%31[A-Za-z0-9_:.-]", name);
        if (quotes % 2 != 0 || (name[0] == '\0' && at[1] != '?' && at[1] != '!'))
            return false;
        if (at[1] == '/') {
            if (depth == 0 || strcmp(open[--depth], name) != 0)
                return false;
        } else if (end[-1] != '/' && at[1] != '?' && at[1] != '!') {
            memcpy(open[depth++], name, sizeof name);
            any = true;
        }
        at = end;
    }
    return any && depth == 0;
}

static void names_malloc_info__is_xml(void)
{
    static char text[1 << 20];
    void *small = malloc(100), *large = malloc(10 << 20);
    REQUIRE(read_info(text, sizeof text) > 0);
    CHECK(strncmp(text, "<malloc", 7) == 0);
    if (!CHECK(well_formed(text)))
        unit_print("# %.400s\n", text);
    unsigned long long committed = 0, part, sum = 0;
    const char *at = strstr(text, "<system type=\"current\" size=\"");
    if (CHECK(at != NULL))
        committed = strtoull(strstr(at, "size=") + 6, NULL, 10);
    while ((at = strstr(at, "<aspect type=")) != NULL && strncmp(at, "<aspect type=\"total", 19) != 0) {
        part = strtoull(strstr(at, "size=") + 6, NULL, 10);
        sum += part;
        at++;
    }
    CHECK_EQ(sum, committed); /* each line of the bill */
    /* The manual says -1 and errno, glibc answers EINVAL. */
    CHECK(malloc_info(1, stdout) != 0);
    free(small);
    free(large);
}

static void names_malloc_trim__says_one_then_zero(void)
{
    enum { BLOCKS = 20000 };
    static void *blocks[BLOCKS];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = memset(malloc(1000), 1, 1000);
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
        CHECK_EQ(malloc_trim(0), 1);
        CHECK_EQ(malloc_trim(0), 0);
    }
    void *large = memset(malloc(20 << 20), 1, 20 << 20);
    free(large);
    malloc_trim(0);
    CHECK_EQ(malloc_trim(0), 0);
}

static void names_malloc_trim__gives_memory_back(void)
{
    enum { BLOCKS = 100000 };
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = memset(malloc(1000), 1, 1000);
    long peak = resident_bytes();
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    malloc_trim(0);
    long after = resident_bytes();
    CHECK(peak - after > 80 << 20);
    if (peak - after <= 80 << 20)
        unit_print("# %ld KiB at the peak, %ld KiB after\n", peak / 1024, after / 1024);
}

static void names_malloc_stats__writes_to_stderr(void)
{
    int saved = dup(STDERR_FILENO);
    int file = memfd_create("stats", MFD_CLOEXEC);
    REQUIRE(saved >= 0 && file >= 0);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    malloc_stats();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    CHECK(lseek(file, 0, SEEK_END) > 0);
    close(file);
}

static void names_mallopt__answers_one_for_known_codes(void)
{
    static const struct {
        int code, value;
        const char *option, *want;
    } codes[] = {
        { M_MMAP_THRESHOLD, 1 << 19, "cache_max_entry_bytes", "524288" },
        { M_TRIM_THRESHOLD, 1 << 20, "hold_max_bytes", "1048576" },
        { -100, 7, "release_ms", "7" },
        { -100, -1, "release_ms", "-1" },
        { -200, 3, "cache_max_count", "3" },
        { -201, 1 << 18, "cache_max_entry_bytes", "262144" },
    };
    char text[64];
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        CHECK_EQ(mallopt(codes[i].code, codes[i].value), 1);
        CHECK_EQ(sj_ctl(codes[i].option, NULL, text, sizeof text), 0);
        CHECK(strcmp(text, codes[i].want) == 0);
    }
    CHECK_EQ(mallopt(M_ARENA_MAX, 2), 1);
    CHECK_EQ(mallopt(4711, 1), 1);
    free(malloc(2 << 20));
}

static uint64_t held_bytes(void)
{
    struct sj_stats stats;
    CHECK_EQ(sj_stats_read(&stats), 0);
    return stats.free_held_bytes;
}

static void names_mallopt__gives_back_when_asked_to_purge(void)
{
    static const int codes[] = { -101, -104, -105 };
    CHECK_EQ(sj_ctl("release_ms", "-1", NULL, 0), 0);
    CHECK_EQ(sj_ctl("cache_max_entry_bytes", "1m", NULL, 0), 0);
    CHECK_EQ(sj_ctl("cache_max_count", "10", NULL, 0), 0);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        free(memset(malloc(300000), 1, 300000));
        CHECK(held_bytes() >= 300000);
        CHECK_EQ(mallopt(codes[i], 0), 1);
        CHECK_EQ(held_bytes(), 0);
    }
    free(memset(malloc(300000), 1, 300000));
    CHECK_EQ(sj_purge(0), 1);
    CHECK_EQ(held_bytes(), 0);
    CHECK_EQ(sj_purge(1), 0);
}

/* Every option can be read back by its name, and says what the text of all options says. */
static void names_ctl__reads_every_option_and_sets_what_can_change(void)
{
    char policy[1024], value[128], item[256];
    (void)sj_policy_text(policy, sizeof policy);
    char *rest = NULL;
    for (char *at = strtok_r(policy, ",", &rest); at != NULL; at = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(at, '=');
        if (!CHECK(equals != NULL))
            return;
        *equals = '\0';
        CHECK_EQ(sj_ctl(at, NULL, value, sizeof value), 0);
        CHECK(strcmp(value, equals + 1) == 0);
    }
    CHECK_EQ(sj_ctl("release_ms", "250", value, sizeof value), 0);
    CHECK_EQ(sj_ctl("release_ms", NULL, value, sizeof value), 0);
    CHECK(strcmp(value, "250") == 0);
    (void)sj_policy_text(policy, sizeof policy);
    (void)snprintf(item, sizeof item, ",release_ms=%s,", value);
    CHECK(strstr(policy, item) != NULL);
    CHECK(sj_ctl("release_ms", "soon", NULL, 0) == -1 && errno == EINVAL);
    CHECK_EQ(sj_ctl("level", NULL, value, sizeof value), 0);
    if (strcmp(value, "0") != 0)
        CHECK(sj_ctl("level", "0", NULL, 0) == -1 && errno == EPERM);
    CHECK(sj_ctl("bogus", NULL, value, sizeof value) == -1 && errno == ENOENT);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(names_all__come_from_one_library);
    RUN(names_siblings__work_together);
    RUN(names_mallinfo2__moves_with_each_allocation);
    RUN(names_mallinfo2__follows_each_step);
    RUN(names_malloc_info__is_xml);
    RUN(names_malloc_trim__says_one_then_zero);
    RUN(names_malloc_trim__gives_memory_back);
    RUN(names_malloc_stats__writes_to_stderr);
    RUN(names_mallopt__answers_one_for_known_codes);
    RUN(names_mallopt__gives_back_when_asked_to_purge);
    RUN(names_ctl__reads_every_option_and_sets_what_can_change);
    return unit_end();
}
