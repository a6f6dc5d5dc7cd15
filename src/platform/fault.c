/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see fault.h.
 */
#include "platform/fault.h"

#include "base/atomic.h"
#include "platform/process.h"
#include "platform/tags.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { FAULT_WITH_TAG = 0x800 }; /* SA_EXPOSE_TAGBITS, which older headers lack */

static struct sj_atomic_u32 fault_is_watched;
static void (*fault_look)(const struct sj_fault *fault);
static struct sigaction fault_before; /* what was in force before us */

#if defined(__x86_64__)
enum { PAGE_FAULT_WROTE = 2 }; /* of the processor's error code */
#endif

static void fault_read_registers(struct sj_fault *fault, const ucontext_t *context)
{
    fault->access = "access";
#if defined(__x86_64__)
    fault->code = (const void *)context->uc_mcontext.gregs[REG_RIP];
    fault->access = (context->uc_mcontext.gregs[REG_ERR] & PAGE_FAULT_WROTE) != 0 ? "write" : "read";
#elif defined(__aarch64__)
    fault->code = (const void *)context->uc_mcontext.pc;
#else
    (void)context;
#endif
}

/* The default action: a fault happens again as soon as we return; what was sent is sent again. */
static void fault_take_default(siginfo_t *info, bool was_sent)
{
    struct sigaction as_default = { .sa_handler = SIG_DFL };
    (void)sigaction(info->si_signo, &as_default, NULL);
    if (was_sent)
        (void)syscall(SYS_rt_tgsigqueueinfo, sj__process_id(), sj__process_thread_id(), info->si_signo, info);
}

static void fault_pass_on(int number, siginfo_t *info, void *context, bool was_sent)
{
    if ((fault_before.sa_flags & SA_SIGINFO) != 0)
        fault_before.sa_sigaction(number, info, context);
    else if (fault_before.sa_handler == SIG_DFL || (fault_before.sa_handler == SIG_IGN && !was_sent))
        fault_take_default(info, was_sent); /* the kernel lets nobody ignore a fault */
    else if (fault_before.sa_handler != SIG_IGN)
        fault_before.sa_handler(number);
}

static void fault_handle(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    uint64_t tags = sj_tags_ignore();
    bool was_sent = info->si_code <= 0;
    if (!was_sent) {
        struct sj_fault fault = { .address = info->si_addr, .reason = info->si_code };
        fault_read_registers(&fault, context);
        fault_look(&fault);
        if (sj_tags_are_on() && (fault_before.sa_flags & FAULT_WITH_TAG) == 0)
            info->si_addr = sj_tags_strip(info->si_addr); /* who was here before us has not asked for it */
    }
    sj_tags_heed(tags);
    fault_pass_on(number, info, context, was_sent);
    errno = saved_errno;
}

bool sj__fault_watch(void (*look)(const struct sj_fault *fault))
{
    if (sj_exchange_acq_rel_u32(&fault_is_watched, 1) !=
        0) /* pairs with itself: only one thread asks what was before */
        return true;
    struct sigaction ours = { .sa_sigaction = fault_handle, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    if (sj_tags_are_on())
        ours.sa_flags |= FAULT_WITH_TAG;
    int saved_errno = errno;
    fault_look = look;
    (void)sigemptyset(&ours.sa_mask);
    bool done = sigaction(SIGSEGV, NULL, &fault_before) == 0 && sigaction(SIGSEGV, &ours, NULL) == 0;
    errno = saved_errno;
    return done;
}
