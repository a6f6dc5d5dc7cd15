/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay doctor`: what this machine, and the limits of this shell, give to the protections.
 *
 * Why this way: what can be tried is tried (a guard marker, a protection key), the rest is read from where the kernel says it.
 * Under the limits of another shell or container the answer is another: run it there.
 *
 * Invariants: a line a fact: its name, what was found, and what that means. Exit status 0: nothing is missing that a level
 * counts on; 1: something is.
 *
 * Concurrency: one thread.
 */
#include "command.h"
#include "library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    TEXT_BYTES = 256,
    GUARD_INSTALL = 102, /* MADV_GUARD_INSTALL, which older headers lack */
    MAPS_ENOUGH = 65530  /* the kernel's own default of vm.max_map_count */
};

static bool something_is_missing;

static void print_usage(FILE *out)
{
    fputs(
        "usage: scrubjay doctor\n"
        "\n"
        "Says what this machine, and the limits it is run under, give to Scrubjay's protections, and what is missing.\n"
        "Exit status: 0 all there, 1 something that a level counts on is missing.\n",
        out);
}

/* `good`: a level gets what it counts on. */
static void tell(bool good, const char *name, const char *found, const char *meaning)
{
    something_is_missing |= !good;
    printf("%-3s %-16s %-14s %s\n", good ? "ok" : "!!", name, found, meaning);
}

/* The first line of a file; "" if it can't be read. */
static const char *read_line(const char *path, char text[TEXT_BYTES])
{
    FILE *file = fopen(path, "r");
    text[0] = '\0';
    if (file != NULL) {
        if (fgets(text, TEXT_BYTES, file) == NULL)
            text[0] = '\0';
        fclose(file);
    }
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static void tell_kernel(void)
{
    struct utsname names;
    if (uname(&names) == 0)
        tell(true, "kernel", names.release, names.machine);
}

static void tell_guards(void)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool has = page != MAP_FAILED && madvise(page, bytes, GUARD_INSTALL) == 0;
    if (page != MAP_FAILED)
        munmap(page, bytes);
    tell(true, "guard markers", has ? "yes" : "no",
         has ? "a guard costs no mapping" : "guards are made by mprotect, at most a quarter of vm.max_map_count");
}

static void tell_maps(void)
{
    char text[TEXT_BYTES];
    const long count = atol(read_line("/proc/sys/vm/max_map_count", text));
    tell(count >= MAPS_ENOUGH, "max_map_count", text,
         count >= MAPS_ENOUGH ? "mappings are no limit"
                              : "few: guards may be refused; raise vm.max_map_count to 65530");
}

static void tell_key(void)
{
    const long key = syscall(SYS_pkey_alloc, 0UL, 0UL);
    if (key >= 0)
        (void)syscall(SYS_pkey_free, key);
    tell(true, "protection keys", key >= 0 ? "yes" : "no",
         key >= 0 ? "no level uses them" : "no level uses them: nothing is lost");
}

/* HWCAP2_MTE, which older headers lack. */
static void tell_tags(void)
{
#if defined(__aarch64__)
    const bool has = (getauxval(AT_HWCAP2) & 1ul << 18) != 0;
#else
    const bool has = false;
#endif
    tell(true, "memory tagging", has ? "yes" : "no",
         has ? "tag=sync or tag=async has the processor check every access" : "the option tag has no effect here");
}

static void tell_huge(void)
{
    char text[TEXT_BYTES], word[TEXT_BYTES] = "none";
    const char *chosen = strchr(read_line("/sys/kernel/mm/transparent_hugepage/enabled", text), '[');
    if (chosen != NULL)
        snprintf(word, sizeof word, "%.*s", (int)strcspn(chosen + 1, "]"), chosen + 1);
    tell(true, "huge pages", word, "the heap has none unless thp=system");
}

static void tell_overcommit(void)
{
    char text[TEXT_BYTES];
    const bool strict = read_line("/proc/sys/vm/overcommit_memory", text)[0] == '2';
    tell(true, "overcommit", text,
         strict ? "strict: mapped memory counts, touched or not, so what is freed is unmapped" : "mapping is cheap");
}

static void tell_limit(const char *name, const struct rlimit *limit, const char *unlimited, const char *limited)
{
    char text[TEXT_BYTES] = "unlimited";
    const bool is_limited = limit->rlim_cur != RLIM_INFINITY;
    if (is_limited)
        snprintf(text, sizeof text, "%llu KiB", (unsigned long long)limit->rlim_cur / 1024);
    tell(true, name, text, is_limited ? limited : unlimited);
}

/* The lesser of memory.max and memory.high, which the library looks at too; 0: none. */
static unsigned long long group_limit(const char *group)
{
    static const char *const names[] = { "memory.max", "memory.high" };
    char path[2 * TEXT_BYTES], text[TEXT_BYTES];
    unsigned long long least = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", group, names[i]);
        const unsigned long long limit = strtoull(read_line(path, text), NULL, 10); /* "max": 0 */
        if (limit > 0 && (least == 0 || limit < least))
            least = limit;
    }
    return least;
}

/* The least limit from our own control group upwards. */
static void tell_group(void)
{
    char group[TEXT_BYTES], found[TEXT_BYTES] = "no limit";
    unsigned long long least = 0;
    if (strncmp(read_line("/proc/self/cgroup", group), "0::", 3) != 0) {
        tell(true, "control group", "not looked at",
             "groups of version 1: the library obeys their limit, this does not show it");
        return;
    }
    for (char *slash = group; slash != NULL;) { /* the last is the root: of a container it may have a limit */
        const unsigned long long limit = group_limit(group + 3);
        if (limit > 0 && (least == 0 || limit < least))
            least = limit;
        slash = strrchr(group, '/');
        if (slash != NULL)
            *slash = '\0';
    }
    if (least > 0)
        snprintf(found, sizeof found, "%llu MiB", least >> 20);
    tell(true, "control group", found,
         least > 0 ? "from 7/8 of it on no free memory is held" : "free memory is held by age only");
}

static void tell_seccomp(void)
{
    char line[TEXT_BYTES], found[TEXT_BYTES] = "unknown";
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "Seccomp:", 8) == 0)
            snprintf(found, sizeof found, "%s", atoi(line + 8) == 0 ? "off" : "on");
    if (file != NULL)
        fclose(file);
    tell(true, "seccomp", found, "what it refuses of memory calls is counted: `scrubjay stat`, dropped");
}

static void tell_trace(void)
{
    static const char *const meanings[] = {
        "verify, stat and ctl work on processes of the same user",
        "verify PID, stat and ctl need root, or must be the process's parent",
        "verify PID, stat and ctl need root",
        "verify PID, stat and ctl do not work",
    };
    char text[TEXT_BYTES];
    const unsigned scope = (unsigned)atoi(read_line("/proc/sys/kernel/yama/ptrace_scope", text));
    tell(true, "ptrace_scope", text[0] != '\0' ? text : "none", meanings[scope < 3 ? scope : 3]);
}

static void tell_preload(void)
{
    char text[TEXT_BYTES];
    const bool is_there = access("/etc/ld.so.preload", R_OK) == 0;
    tell(true, "ld.so.preload", is_there ? read_line("/etc/ld.so.preload", text) : "none",
         is_there ? "loaded into every program" : "the library comes by `scrubjay run`, LD_PRELOAD or linking");
    const bool is_configured = access("/etc/scrubjay.conf", R_OK) == 0;
    tell(true, "scrubjay.conf", is_configured ? "there" : "none",
         is_configured ? "its options and floor hold for all programs" : "");
}

/* The notes of the library's file say which probes it was built with. */
static void tell_probes(void)
{
    static const char provider[] = "otel_memory";
    struct sj_launch launch = { 0 };
    struct sj_elf_facts facts;
    char path[PATH_MAX];
    char *bytes = NULL;
    size_t count = 0;
    if (!sj__library_find(&launch, path, sizeof path, &facts))
        return;
    FILE *file = fopen(path, "re");
    FILE *copy = open_memstream(&bytes, &count);
    for (int c; file != NULL && copy != NULL && (c = getc(file)) != EOF;)
        putc(c, copy);
    if (file != NULL)
        fclose(file);
    if (copy != NULL)
        fclose(copy);
    const bool is_there = bytes != NULL && memmem(bytes, count, provider, sizeof provider) != NULL;
    free(bytes);
    tell(true, "probes", is_there ? provider : "none",
         is_there ? "alloc and free, on samples of profile=on" : "the library was built without <sys/sdt.h>");
}

int sj__command_doctor(int argc, char **argv)
{
    if (argc > 1) {
        const bool help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
        print_usage(help ? stdout : stderr);
        return help ? SJ_EXIT_GOOD : SJ_EXIT_USAGE;
    }
    tell_kernel();
    tell_guards();
    tell_maps();
    tell_key();
    tell_tags();
    tell_huge();
    tell_overcommit();
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0)
        tell_limit("address space", &limit, "", "the window grows within it; ulimit -v");
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        tell_limit("locked memory", &limit, "", "mlockall counts the heap's mappings; ulimit -l");
    tell_group();
    tell_seccomp();
    tell_trace();
    tell_preload();
    tell_probes();
    return something_is_missing ? 1 : SJ_EXIT_GOOD;
}
