/* SPDX-License-Identifier: MIT
 *
 * What: runs a command and prints the cpu seconds it used, as wait4 tells them, in microseconds' resolution; its output goes
 * nowhere. What a run costs that nobody measures (bench/bars/measured.sh).
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    pid_t child = argc > 1 ? fork() : -1;
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        if (dup2(nowhere, 0) >= 0 && dup2(nowhere, 1) >= 0 && dup2(nowhere, 2) >= 0)
            execv(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0)
        return 1;
    printf("%.6f\n", (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    return 0;
}
