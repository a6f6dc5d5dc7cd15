/* SPDX-License-Identifier: MIT */
/*
 * What: runs streams of the model in child processes, and cuts a failing one down.
 * Why this way: a failure may be a report of the library (SIGABRT), a fault, or a hang, so each try is a child; a
 * stream is cut by leaving out ever smaller pieces as long as it still fails.
 */
#include "support/model.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_SECONDS = 20 };

static struct model child_model;

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void hush(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) {
        dup2(nowhere, STDERR_FILENO);
        close(nowhere);
    }
}

bool model_survives(const struct model_calls *calls, bool clean, const unsigned char *stream, size_t bytes, bool report)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        if (!report)
            hush();
        model_start(&child_model, calls, clean);
        bool good = model_run(&child_model, stream, bytes) && model_finish(&child_model);
        if (!good && report) {
            char line[300];
            int length = snprintf(line, sizeof line, "# %s\n", child_model.failure);
            ssize_t ignored = write(STDOUT_FILENO, line, (size_t)length);
            (void)ignored;
        }
        _exit(good ? 0 : 1);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (report && WIFSIGNALED(status)) {
        char line[64];
        int length = snprintf(line, sizeof line, "# ended by signal %d\n", WTERMSIG(status));
        ssize_t ignored = write(STDOUT_FILENO, line, (size_t)length);
        (void)ignored;
    }
    return status == 0;
}

size_t model_shrink(const struct model_calls *calls, bool clean, unsigned char *stream, size_t bytes, double seconds)
{
    static unsigned char trial[1 << 20];
    double end = now_seconds() + seconds;
    size_t records = bytes / MODEL_RECORD_BYTES;
    if (bytes > sizeof trial)
        return bytes;
    for (size_t piece = records / 2; piece > 0; piece /= 2) {
        for (size_t at = 0; at + piece <= records && now_seconds() < end;) {
            size_t head = at * MODEL_RECORD_BYTES;
            size_t cut = piece * MODEL_RECORD_BYTES;
            size_t left = records * MODEL_RECORD_BYTES - cut;
            memcpy(trial, stream, head);
            memcpy(trial + head, stream + head + cut, left - head);
            if (model_survives(calls, clean, trial, left, false)) {
                at += piece;
            } else {
                memcpy(stream, trial, left);
                records -= piece;
            }
        }
    }
    return records * MODEL_RECORD_BYTES;
}
