/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see stack.h.
 */
#include "platform/stack.h"

#include "platform/unwind.h"

#include <errno.h>
#include <ucontext.h>

/* Takes the registers as they are at this place of the function that it is inlined into. */
SJ_ALWAYS_INLINE void stack_capture(struct sj_unwinder *unwinder)
{
#if defined(__x86_64__)
    __asm__ volatile("leaq 0f(%%rip), %%rax\n"
                     "0: movq %%rax, 128(%0)\n"
                     "movq %%rbx, 24(%0)\n"
                     "movq %%rbp, 48(%0)\n"
                     "movq %%rsp, 56(%0)\n"
                     "movq %%r12, 96(%0)\n"
                     "movq %%r13, 104(%0)\n"
                     "movq %%r14, 112(%0)\n"
                     "movq %%r15, 120(%0)\n"
                     :
                     : "r"(unwinder->at)
                     : "rax", "memory");
#else
    unwinder->at[SJ_UNWIND_FP] = (uintptr_t)__builtin_frame_address(0);
    unwinder->at[SJ_UNWIND_SP] = (uintptr_t)__builtin_frame_address(0);
#endif
}

/* False if the registers of a context are not known here. */
static bool stack_take_context(struct sj_unwinder *unwinder, const ucontext_t *context)
{
#if defined(__x86_64__)
    /* DWARF's order of the registers, in the kernel's names. */
    static const int places[SJ_UNWIND_REGISTERS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
    for (unsigned i = 0; i < SJ_UNWIND_REGISTERS; i++)
        unwinder->at[i] = (uintptr_t)context->uc_mcontext.gregs[places[i]];
    return true;
#elif defined(__aarch64__)
    unwinder->at[SJ_UNWIND_FP] = context->uc_mcontext.regs[29];
    unwinder->at[SJ_UNWIND_SP] = context->uc_mcontext.sp;
    unwinder->at[SJ_UNWIND_PC] = context->uc_mcontext.pc;
    return true;
#else
    (void)unwinder;
    (void)context;
    return false;
#endif
}

/* Goes up by the frame pointer, which must point upwards. */
static bool stack_step_by_pointer(struct sj_unwinder *unwinder)
{
    const uintptr_t frame = unwinder->at[SJ_UNWIND_FP];
    uintptr_t outer, caller;
    if (frame < unwinder->at[SJ_UNWIND_SP] || frame % sizeof frame != 0 || !sj__unwind_read(unwinder, frame, &outer) ||
        !sj__unwind_read(unwinder, frame + sizeof frame, &caller))
        return false;
    unwinder->at[SJ_UNWIND_FP] = outer;
    unwinder->at[SJ_UNWIND_SP] = frame + 2 * sizeof frame;
    unwinder->at[SJ_UNWIND_PC] = caller;
    unwinder->is_exact = false;
    return true;
}

/* On aarch64 a return address may be signed in its upper bits (pointer authentication); without that this is no instruction's
 * business. */
SJ_ALWAYS_INLINE uintptr_t stack_unsigned(uintptr_t address)
{
#if defined(__aarch64__)
    register uintptr_t link __asm__("x30") = address;
    __asm__("hint 7" : "+r"(link)); /* XPACLRI; nothing on processors that sign nothing */
    address = link;
#endif
    return address;
}

static size_t stack_go_up(struct sj_unwinder *unwinder, const void **frames, size_t count, size_t most)
{
    const int saved_errno = errno;
    while (count < most && (sj__unwind_step(unwinder) || stack_step_by_pointer(unwinder)) &&
           unwinder->at[SJ_UNWIND_PC] != 0) {
        unwinder->at[SJ_UNWIND_PC] = stack_unsigned(unwinder->at[SJ_UNWIND_PC]);
        frames[count++] = (const void *)unwinder->at[SJ_UNWIND_PC];
    }
    errno = saved_errno;
    return count;
}

/* The frame that this is inlined into is where the walk begins. */
SJ_ALWAYS_INLINE size_t stack_walk(const void **frames, size_t most, bool remembers)
{
    struct sj_unwinder unwinder = { .is_exact = true, .remembers = remembers };
    stack_capture(&unwinder);
    const size_t count = stack_go_up(&unwinder, frames, 0, most);
    sj_compiler_barrier(); /* no tail call */
    return count;
}

SJ_NOINLINE size_t sj__stack_walk(const void **frames, size_t most)
{
    return stack_walk(frames, most, false);
}

SJ_NOINLINE size_t sj__stack_walk_often(const void **frames, size_t most)
{
    return stack_walk(frames, most, true);
}

size_t sj__stack_walk_context(const void *context, const void **frames, size_t most)
{
    struct sj_unwinder unwinder = { .is_exact = true };
    if (most == 0 || !stack_take_context(&unwinder, context))
        return 0;
    frames[0] = (const void *)unwinder.at[SJ_UNWIND_PC];
    return stack_go_up(&unwinder, frames, 1, most);
}
