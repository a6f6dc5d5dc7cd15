/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay gauntlet`: attacks on the heap, each in a process of its own, against any allocators.
 *
 * Why this way: the attacks are part of this program, which runs itself again under the allocator at hand: they are built
 * once and the same for all, and nothing has to be found or installed.
 *
 * Invariants: exit status 1 if an arm raised a false alarm, else 0: the matrix judges, not the status.
 *
 * Concurrency: one thread here.
 */
#include "bench/peers.h"
#include "command.h"
#include "gauntlet/session.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_DEFAULT = 3, RUNS_MAX = 100 };

/* What the command line asks for. */
struct request {
    const char *json;
    const char *html;
    long attack; /* --attack: run this one here; -1: run all */
    int shared;
    bool misuse;
    bool list;
};

static void print_usage(FILE *out)
{
    fputs(
        "usage: scrubjay gauntlet [OPTION...]\n"
        "\n"
        "Runs attacks on the heap against allocators, and each attack's twin without the misuse, and says of each\n"
        "whether it was stopped at the act, stopped later, harmless, or not caught. The worst of several runs counts.\n"
        "\n"
        "      --arm NAME=LIB[;V=X]  an allocator to preload (none for the C library's) and variables; may be "
        "repeated;\n"
        "                            default: glibc, the allocators found here, and each level of Scrubjay\n"
        "      --lib PATH            libscrubjay.so, if not the one this command belongs to\n"
        "      --filter PATTERN      only attacks that match, such as 'double free: *'\n"
        "      --runs N              how often each is run; default 3\n"
        "      --json FILE           write the matrix as JSON\n"
        "      --html FILE           write it as a page\n"
        "      --list                print the attacks and end\n"
        "  -h, --help\n",
        out);
}

static void print_list(const struct gauntlet_session *session)
{
    for (size_t i = 0; i < session->count; i++)
        printf("%s: %s\n    %s\n", session->attacks[i]->kind, session->attacks[i]->name, session->attacks[i]->text);
}

/* Returns -1 to go on, or an exit status. */
static int read_arguments(int argc, char **argv, struct request *request, struct bench_options *options,
                          struct gauntlet_session *session)
{
    enum { ARM = 256, LIB, FILTER, RUNS, JSON, HTML, LIST, ATTACK, SHARED, MISUSE, TWIN };
    static const struct option table[] = {
        { "arm", required_argument, NULL, ARM },
        { "lib", required_argument, NULL, LIB },
        { "filter", required_argument, NULL, FILTER },
        { "runs", required_argument, NULL, RUNS },
        { "json", required_argument, NULL, JSON },
        { "html", required_argument, NULL, HTML },
        { "list", no_argument, NULL, LIST },
        { "attack", required_argument, NULL, ATTACK },
        { "shared", required_argument, NULL, SHARED },
        { "misuse", no_argument, NULL, MISUSE },
        { "twin", no_argument, NULL, TWIN },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "h", table, NULL)) != -1;) {
        switch (option) {
        case ARM: bench_arms_add(&options->arms, optarg, false); break;
        case LIB: options->library = optarg; break;
        case FILTER: session->pattern = optarg; break;
        case RUNS: session->runs = (unsigned)strtoul(optarg, NULL, 10); break;
        case JSON: request->json = optarg; break;
        case HTML: request->html = optarg; break;
        case LIST: request->list = true; break;
        case ATTACK: request->attack = strtol(optarg, NULL, 10); break;
        case SHARED: request->shared = (int)strtol(optarg, NULL, 10); break;
        case MISUSE: request->misuse = true; break;
        case TWIN: break;
        case 'h': print_usage(stdout); return SJ_EXIT_GOOD;
        default: fputs("`scrubjay gauntlet --help` says more.\n", stderr); return SJ_EXIT_USAGE;
        }
    }
    if (optind == argc && session->runs > 0 && session->runs <= RUNS_MAX)
        return -1;
    sj__message(optind < argc ? "%s: no such argument" : "--runs is a number from 1 to 100", argv[optind]);
    return SJ_EXIT_USAGE;
}

/* Writes the files asked for; returns the exit status. */
static int write_files(const struct request *request, const struct gauntlet_session *session)
{
    int status = SJ_EXIT_GOOD;
    if (request->json != NULL && !gauntlet_write_json(session, request->json)) {
        sj__message("%s: %s", request->json, strerror(errno));
        status = SJ_EXIT_USAGE;
    }
    if (request->html != NULL && !gauntlet_write_html(session, request->html)) {
        sj__message("%s: %s", request->html, strerror(errno));
        status = SJ_EXIT_USAGE;
    }
    return status;
}

int sj__command_gauntlet(int argc, char **argv)
{
    static struct bench_options options;
    static struct gauntlet_session session = { .runs = RUNS_DEFAULT };
    struct request request = { .attack = -1, .shared = -1 };
    const int answer = read_arguments(argc, argv, &request, &options, &session);
    if (answer >= 0)
        return answer;
    if (request.attack >= 0)
        return attack_main((size_t)request.attack, request.misuse, request.shared);
    gauntlet_choose(&session);
    if (request.list) {
        print_list(&session);
        return SJ_EXIT_GOOD;
    }
    if (!options.arms.chosen) {
        bench_add_glibc(&options.arms);
        bench_add_peers(&options.arms);
        bench_add_levels(&options, "scrubjay ");
    }
    session.arms = &options.arms;
    gauntlet_run(&session);
    gauntlet_print(&session);
    size_t alarms = 0;
    for (size_t arm = 0; arm < session.arms->count; arm++)
        alarms += gauntlet_total(&session, arm, GAUNTLET_FALSE_ALARM);
    const int status = write_files(&request, &session);
    return status != SJ_EXIT_GOOD ? status : alarms > 0 ? 1 : SJ_EXIT_GOOD;
}
