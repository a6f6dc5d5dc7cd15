/* SPDX-License-Identifier: MIT
 *
 * What: see serve.h.
 *
 * Why this way: see serve.h.
 */
#include "bench/serve.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/session.h"
#include "bench/text.h"

enum { SERVE_INODES_MAX = 1024, SERVE_NAME_BYTES = 64 };

static const double SERVE_START_SECONDS = 30;
static const double SERVE_END_SECONDS = 10;

static void serve_nap(void)
{
    const struct timespec nap = { 0, 5000000 };
    (void)nanosleep(&nap, NULL);
}

/* The inodes of all listening sockets of this machine. `column` counts from 0; `state` is what `state_column` holds. */
static size_t serve_listeners(const char *path, int state_column, const char *state, int inode_column,
                              unsigned long *inodes, size_t count)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    if (file == NULL)
        return count;
    while (getline(&line, &room, file) >= 0 && count < SERVE_INODES_MAX) {
        char *words[32] = { NULL };
        size_t found = bench_split_blanks(line, words, sizeof words / sizeof words[0]);
        if (found > (size_t)inode_column && strcmp(words[state_column], state) == 0)
            inodes[count++] = strtoul(words[inode_column], NULL, 10);
    }
    free(line);
    fclose(file);
    return count;
}

static bool serve_holds(const char *process, const unsigned long *inodes, size_t count)
{
    char folder[SERVE_NAME_BYTES];
    snprintf(folder, sizeof folder, "/proc/%.20s/fd", process);
    DIR *directory = opendir(folder);
    bool found = false;
    if (directory == NULL)
        return false;
    for (const struct dirent *entry; !found && (entry = readdir(directory)) != NULL;) {
        char link[SERVE_NAME_BYTES] = "";
        unsigned long inode = 0;
        if (readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1) <= 0 ||
            sscanf(link, "socket:[%lu]", &inode) != 1)
            continue;
        for (size_t i = 0; i < count; i++)
            found = found || inodes[i] == inode;
    }
    closedir(directory);
    return found;
}

/* Does a process of the group hold a listening socket? `alive` says if there is one besides the launcher at all. */
static bool serve_listens(pid_t group, bool *alive)
{
    static unsigned long inodes[SERVE_INODES_MAX];
    size_t count = serve_listeners("/proc/net/tcp", 3, "0A", 9, inodes, 0);
    count = serve_listeners("/proc/net/tcp6", 3, "0A", 9, inodes, count);
    count = serve_listeners("/proc/net/unix", 3, "00010000", 6, inodes, count);
    DIR *processes = opendir("/proc");
    bool found = false;
    *alive = false;
    if (processes == NULL)
        bench_die("/proc cannot be read, so a server cannot be seen to listen");
    for (const struct dirent *entry; !found && (entry = readdir(processes)) != NULL;) {
        pid_t process = (pid_t)atoi(entry->d_name);
        if (process <= 0 || process == group || getpgid(process) != group)
            continue;
        *alive = true;
        found = serve_holds(entry->d_name, inodes, count);
    }
    closedir(processes);
    return found;
}

static bool serve_wait(pid_t group)
{
    double ends = bench_now_seconds() + SERVE_START_SECONDS;
    bool seen = false;
    while (bench_now_seconds() < ends && !bench_interrupted()) {
        bool alive;
        if (serve_listens(group, &alive))
            return true;
        if (seen && !alive)
            return false; /* it has ended */
        seen = seen || alive;
        serve_nap();
    }
    return false;
}

double bench_serve(const struct bench_launch *launch, pid_t group, struct bench_run *run)
{
    double began = bench_now_seconds();
    run->client_status = -1;
    if (serve_wait(group)) {
        began = bench_now_seconds();
        run->client_status = bench_run_shell(launch->client, launch->directory);
    }
    double seconds = bench_now_seconds() - began;
    (void)kill(-group, SIGTERM);
    double ends = bench_now_seconds() + SERVE_END_SECONDS;
    bool alive = true;
    for (; alive && bench_now_seconds() < ends; serve_nap())
        (void)serve_listens(group, &alive);
    if (!alive)
        return seconds;
    bench_say("the server did not end at SIGTERM within %.0f s and is killed", SERVE_END_SECONDS);
    DIR *processes = opendir("/proc");
    for (const struct dirent *entry; processes != NULL && (entry = readdir(processes)) != NULL;) {
        pid_t process = (pid_t)atoi(entry->d_name);
        if (process > 0 && process != group && getpgid(process) == group)
            (void)kill(process, SIGKILL);
    }
    if (processes != NULL)
        closedir(processes);
    return seconds;
}
