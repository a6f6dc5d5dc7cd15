/* SPDX-License-Identifier: MIT
 *
 * What: one step up a stack; see unwind.h.
 *
 * Why this way: .eh_frame_hdr has a sorted table from code to a record (FDE), which points to what it shares with others
 * (CIE). Both hold a little program that builds, place by place, the rules by which the caller's registers are found; it is
 * run up to the place in question. The format is the one of the System V ABI for x86-64 and of the Linux Standard Base.
 *
 * Invariants: see unwind.h. Registers beyond the integer ones are read past and forgotten.
 *
 * Concurrency: see unwind.h.
 */
#include "platform/unwind.h"

#include "platform/lock.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROBE_BYTES = 4096, KERNEL_SIGSET_BYTES = 8, NO_SUCH_HOW = -1 };

/* Asks the kernel to read a signal set there, for a purpose that does not exist: EFAULT if it can't be read, else EINVAL. */
bool sj__unwind_is_readable(uintptr_t address)
{
    const uintptr_t word = address & ~(uintptr_t)(KERNEL_SIGSET_BYTES - 1); /* crosses no page */
    return syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, word, NULL, KERNEL_SIGSET_BYTES) == -1 && errno == EINVAL;
}

SJ_READS_ANYTHING bool sj__unwind_read(struct sj_unwinder *unwinder, uintptr_t address, uintptr_t *value)
{
    const uintptr_t page = address & ~(uintptr_t)(PROBE_BYTES - 1);
    if (page == 0 || address % sizeof *value != 0)
        return false;
    if (page != unwinder->page && !sj__unwind_is_readable(page))
        return false;
    unwinder->page = page;
    *value = *(const uintptr_t *)address;
    return true;
}

/* ---- Finding the table ------------------------------------------------------------------------------------------- */

#if defined(DLFO_STRUCT_HAS_EH_DBASE) /* glibc 2.35 and later: no lock */
extern __typeof(_dl_find_object) _dl_find_object __attribute__((weak));

static const unsigned char *find_table(uintptr_t place)
{
    struct dl_find_object found;
    if (&_dl_find_object == NULL || _dl_find_object((void *)place, &found) != 0)
        return NULL;
    return found.dlfo_eh_frame;
}
#else /* the object that we are part of: in a static program that is all there is */
extern const unsigned char __ehdr_start[] __attribute__((weak, visibility("hidden")));

static const unsigned char *find_table(uintptr_t place)
{
    const unsigned char *base = __ehdr_start;
    if (base == NULL)
        return NULL;
    const ElfW(Ehdr) *header = (const void *)base;
    const ElfW(Phdr) *segment = (const void *)(base + header->e_phoff);
    const unsigned char *table = NULL;
    uintptr_t bias = 0;
    bool is_ours = false;
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD && segment[i].p_offset == 0)
            bias = (uintptr_t)base - segment[i].p_vaddr;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const uintptr_t start = bias + segment[i].p_vaddr;
        is_ours = is_ours || (segment[i].p_type == PT_LOAD && place - start < segment[i].p_memsz);
        if (segment[i].p_type == PT_GNU_EH_FRAME)
            table = (const void *)start;
    }
    return is_ours ? table : NULL;
}
#endif

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

/* What is left of a stretch of bytes; reading past its end gives zeros. */
struct bytes {
    const unsigned char *at;
    const unsigned char *end;
};

static uint64_t take_fixed(struct bytes *bytes, size_t count, bool is_signed)
{
    uint64_t value = 0;
    if ((size_t)(bytes->end - bytes->at) < count) {
        bytes->at = bytes->end;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        value |= (uint64_t)bytes->at[i] << (8 * i);
    bytes->at += count;
    if (is_signed && count < sizeof value && (value >> (8 * count - 1)) != 0)
        value |= ~(uint64_t)0 << (8 * count);
    return value;
}

/* A number of seven bits a byte, the lowest first. */
static uint64_t take_leb(struct bytes *bytes, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte;
    do {
        byte = (unsigned char)take_fixed(bytes, 1, false);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0);
    if (is_signed && shift < 64 && (byte & 0x40) != 0)
        value |= ~(uint64_t)0 << shift;
    return value;
}

/* A pointer in one of the encodings of DW_EH_PE_*; `table` is what "relative to data" means here. */
static uint64_t take_pointer(struct bytes *bytes, unsigned encoding, const unsigned char *table)
{
    const uint64_t here = (uint64_t)(uintptr_t)bytes->at;
    uint64_t value = 0;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c: value = take_fixed(bytes, 8, false); break;
    case 0x01: value = take_leb(bytes, false); break;
    case 0x09: value = take_leb(bytes, true); break;
    case 0x02: value = take_fixed(bytes, 2, false); break;
    case 0x0a: value = take_fixed(bytes, 2, true); break;
    case 0x03: value = take_fixed(bytes, 4, false); break;
    case 0x0b: value = take_fixed(bytes, 4, true); break;
    default: return 0;
    }
    switch (encoding & 0x70) {
    case 0x10: return value + here;
    case 0x30: return value + (uint64_t)(uintptr_t)table;
    default: return value;
    }
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

enum rule {
    RULE_SAME,
    RULE_UNDEFINED,
    RULE_SAVED,     /* at CFA + value */
    RULE_IS_OFFSET, /* is CFA + value */
    RULE_REGISTER,  /* in register `value` */
    RULE_SAVED_BY,  /* at the address that the expression at table + value gives */
    RULE_IS_BY      /* is what that expression gives */
};

/* The rules at one place of a function. */
struct row {
    uint8_t rule[SJ_UNWIND_REGISTERS]; /* enum rule */
    uint8_t cfa_rule;                  /* RULE_REGISTER, or RULE_IS_BY */
    uint8_t cfa_register;
    int32_t value[SJ_UNWIND_REGISTERS];
    int32_t cfa_value; /* added to the register; or where the expression is */
};

enum { ROWS_KEPT = 4 };

/* A function's program and how far it has run. */
struct program {
    const unsigned char *table;
    uint64_t code_factor;
    int64_t data_factor;
    uint64_t location; /* what the rules hold from */
    uint64_t wanted;   /* the place in question */
    unsigned encoding; /* of pointers to code */
    unsigned kept_count;
    bool is_signal; /* the frame that the kernel makes for a signal handler */
    bool is_unable; /* met what it does not know */
    struct row row;
    struct row initial;
    struct row kept[ROWS_KEPT]; /* the last member: only `kept_count` of them mean anything */
};

static void set_rule(struct program *program, uint64_t number, enum rule rule, int64_t value)
{
    if (number >= SJ_UNWIND_REGISTERS)
        return;
    program->row.rule[number] = (uint8_t)rule;
    program->row.value[number] = (int32_t)value;
}

static void restore_rule(struct program *program, uint64_t number)
{
    if (number < SJ_UNWIND_REGISTERS)
        set_rule(program, number, (enum rule)program->initial.rule[number], program->initial.value[number]);
}

static void set_cfa(struct program *program, uint64_t number, int64_t value)
{
    program->is_unable |= number >= SJ_UNWIND_REGISTERS;
    program->row.cfa_rule = RULE_REGISTER;
    program->row.cfa_register = (uint8_t)number;
    program->row.cfa_value = (int32_t)value;
}

/* An expression is kept as its distance from the table, and stepped over. */
static int64_t take_expression(struct program *program, struct bytes *code)
{
    const int64_t place = code->at - program->table;
    const uint64_t length = take_leb(code, false);
    code->at = length <= (uint64_t)(code->end - code->at) ? code->at + length : code->end;
    return place;
}

/* The instructions about the CFA, 0x0c to 0x0f and 0x12, 0x13. */
static void run_cfa_instruction(struct program *program, unsigned opcode, struct bytes *code)
{
    const bool is_factored = opcode == 0x12 || opcode == 0x13;
    const int64_t factor = is_factored ? program->data_factor : 1;
    uint64_t number = program->row.cfa_register;
    switch (opcode) {
    case 0x0c:
    case 0x12:
        number = take_leb(code, false);
        set_cfa(program, number, (int64_t)take_leb(code, is_factored) * factor);
        break;
    case 0x0d: set_cfa(program, take_leb(code, false), program->row.cfa_value); break;
    case 0x0e:
    case 0x13: set_cfa(program, number, (int64_t)take_leb(code, is_factored) * factor); break;
    default: program->row.cfa_rule = RULE_IS_BY; program->row.cfa_value = (int32_t)take_expression(program, code);
    }
}

/* The other instructions whose first operand is a register. */
static void run_rule_instruction(struct program *program, unsigned opcode, struct bytes *code)
{
    const uint64_t number = take_leb(code, false);
    switch (opcode) {
    case 0x05: set_rule(program, number, RULE_SAVED, (int64_t)take_leb(code, false) * program->data_factor); break;
    case 0x06: restore_rule(program, number); break;
    case 0x07: set_rule(program, number, RULE_UNDEFINED, 0); break;
    case 0x08: set_rule(program, number, RULE_SAME, 0); break;
    case 0x09: set_rule(program, number, RULE_REGISTER, (int64_t)take_leb(code, false)); break;
    case 0x10: set_rule(program, number, RULE_SAVED_BY, take_expression(program, code)); break;
    case 0x11: set_rule(program, number, RULE_SAVED, (int64_t)take_leb(code, true) * program->data_factor); break;
    case 0x14: set_rule(program, number, RULE_IS_OFFSET, (int64_t)take_leb(code, false) * program->data_factor); break;
    case 0x15: set_rule(program, number, RULE_IS_OFFSET, (int64_t)take_leb(code, true) * program->data_factor); break;
    case 0x16: set_rule(program, number, RULE_IS_BY, take_expression(program, code)); break;
    case 0x2f: set_rule(program, number, RULE_SAVED, -(int64_t)take_leb(code, false) * program->data_factor); break;
    default: program->is_unable = true;
    }
}

static void run_instruction(struct program *program, struct bytes *code)
{
    const unsigned opcode = (unsigned)take_fixed(code, 1, false);
    const unsigned low = opcode & 0x3f;
    switch (opcode & 0xc0) {
    case 0x40: program->location += low * program->code_factor; return;
    case 0x80: set_rule(program, low, RULE_SAVED, (int64_t)take_leb(code, false) * program->data_factor); return;
    case 0xc0: restore_rule(program, low); return;
    default: break;
    }
    switch (opcode) {
    case 0x00: break;
    case 0x01: program->location = take_pointer(code, program->encoding, program->table); break;
    case 0x02: program->location += take_fixed(code, 1, false) * program->code_factor; break;
    case 0x03: program->location += take_fixed(code, 2, false) * program->code_factor; break;
    case 0x04: program->location += take_fixed(code, 4, false) * program->code_factor; break;
    case 0x0a:
        if (program->kept_count < ROWS_KEPT)
            program->kept[program->kept_count++] = program->row;
        else
            program->is_unable = true;
        break;
    case 0x0b:
        if (program->kept_count > 0)
            program->row = program->kept[--program->kept_count];
        break;
    case 0x0c:
    case 0x0d:
    case 0x0e:
    case 0x0f:
    case 0x12:
    case 0x13: run_cfa_instruction(program, opcode, code); break;
    case 0x2e: (void)take_leb(code, false); break; /* bytes of arguments pushed */
    default: run_rule_instruction(program, opcode, code);
    }
}

/* Runs until the rules would hold from behind the wanted place only. */
static void run(struct program *program, struct bytes code)
{
    while (code.at < code.end && !program->is_unable && program->location <= program->wanted)
        run_instruction(program, &code);
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

/* The record of the code at `place`, by halving the sorted table; NULL if there is none. */
static const unsigned char *find_record(const unsigned char *table, uintptr_t place)
{
    enum { RELATIVE_PAIRS = 0x3b, PAIR_BYTES = 8 };
    if (table[0] != 1 || table[3] != RELATIVE_PAIRS)
        return NULL;
    struct bytes header = { table + 4, table + 4 + 2 * sizeof(uint64_t) };
    (void)take_pointer(&header, table[1], table); /* where .eh_frame is */
    size_t count = take_pointer(&header, table[2], table);
    const unsigned char *pairs = header.at;
    if (count == 0)
        return NULL;
    while (count > 1) {
        struct bytes middle = { pairs + count / 2 * PAIR_BYTES, pairs + (count / 2 + 1) * PAIR_BYTES };
        if ((uintptr_t)table + take_fixed(&middle, 4, true) <= place) {
            pairs += count / 2 * PAIR_BYTES;
            count -= count / 2;
        } else {
            count /= 2;
        }
    }
    struct bytes second = { pairs + 4, pairs + PAIR_BYTES };
    return table + (int64_t)take_fixed(&second, 4, true);
}

/* A record's bytes without its length; empty if it has the long form. */
static struct bytes open_record(const unsigned char *record)
{
    struct bytes length = { record, record + 4 };
    const uint64_t bytes = take_fixed(&length, 4, false);
    return (struct bytes){ length.at, length.at + (bytes < 0xfffffff0 ? bytes : 0) };
}

/* What functions share; false if it has something unknown. Leaves the instructions in *bytes. */
static bool read_shared(struct program *program, struct bytes *bytes)
{
    (void)take_fixed(bytes, 4, false); /* its mark */
    const uint64_t version = take_fixed(bytes, 1, false);
    const char *letters = (const char *)bytes->at;
    while (take_fixed(bytes, 1, false) != 0)
        ;
    program->code_factor = take_leb(bytes, false);
    program->data_factor = (int64_t)take_leb(bytes, true);
    const uint64_t pc = version == 1 ? take_fixed(bytes, 1, false) : take_leb(bytes, false);
    if (letters[0] == '\0')
        return pc == SJ_UNWIND_PC;
    if (letters[0] != 'z' || pc != SJ_UNWIND_PC)
        return false;
    const uint64_t data_bytes = take_leb(bytes, false);
    struct bytes data = { bytes->at, bytes->at + data_bytes };
    bytes->at = data.end;
    for (letters++; *letters != '\0'; letters++) {
        if (*letters == 'R')
            program->encoding = (unsigned)take_fixed(&data, 1, false);
        else if (*letters == 'P')
            (void)take_pointer(&data, (unsigned)take_fixed(&data, 1, false), program->table);
        else if (*letters == 'L')
            (void)take_fixed(&data, 1, false);
        else if (*letters == 'S')
            program->is_signal = true;
        else
            return false;
    }
    return true;
}

/* Works out the rules at the wanted place of the function that `record` is about. */
static bool find_rules(struct program *program, const unsigned char *record)
{
    struct bytes bytes = open_record(record);
    const unsigned char *here = bytes.at;
    struct bytes shared = open_record(here - take_fixed(&bytes, 4, false));
    const bool has_data = ((const char *)shared.at)[5] == 'z';
    if (!read_shared(program, &shared))
        return false;
    const uint64_t start = take_pointer(&bytes, program->encoding, program->table);
    const uint64_t length = take_pointer(&bytes, program->encoding & 0x0f, program->table);
    if (program->wanted - start >= length)
        return false;
    if (has_data) {
        const uint64_t data_bytes = take_leb(&bytes, false);
        bytes.at += data_bytes;
    }
    program->location = start;
    run(program, shared);
    program->initial = program->row;
    run(program, bytes);
    return !program->is_unable;
}

/* ---- Rules that are remembered ----------------------------------------------------------------------------------- */

enum { REMEMBERED_BITS = 9 };

struct remembered {
    uint64_t place;
    const unsigned char *table;
    bool is_signal;
    struct row row;
};

static struct sj_lock remembered_lock; /* is only ever tried */
static struct remembered remembered[1 << REMEMBERED_BITS];

static struct remembered *remembered_of(uint64_t place)
{
    return &remembered[place * 0x9e3779b97f4a7c15u >> (64 - REMEMBERED_BITS)];
}

static bool recall(struct program *program)
{
    if (!sj__try_lock(&remembered_lock))
        return false;
    const struct remembered *entry = remembered_of(program->wanted);
    const bool is_it = entry->place == program->wanted && entry->table == program->table;
    if (is_it) {
        program->is_signal = entry->is_signal;
        program->row = entry->row;
    }
    sj__unlock(&remembered_lock);
    return is_it;
}

static void remember(const struct program *program)
{
    if (!sj__try_lock(&remembered_lock))
        return;
    *remembered_of(program->wanted) = (struct remembered){
        .place = program->wanted, .table = program->table, .is_signal = program->is_signal, .row = program->row
    };
    sj__unlock(&remembered_lock);
}

/* The rules at the wanted place; false if nothing is known about it. */
static bool settle_rules(struct program *program, bool remembers)
{
    if (program->table == NULL)
        return false;
    if (remembers && recall(program))
        return true;
    const unsigned char *record = find_record(program->table, program->wanted);
    if (record == NULL || !find_rules(program, record))
        return false;
    if (remembers)
        remember(program);
    return true;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* What an expression gives, on a stack that begins with `first`; the operations are those that compilers write for
 * realigned stacks and libc for signal frames. */
static bool evaluate(struct sj_unwinder *unwinder, const unsigned char *expression, uintptr_t first, uintptr_t *result)
{
    enum { DEPTH = 8 };
    uintptr_t stack[DEPTH] = { first };
    size_t top = 0;
    struct bytes code = { expression, expression + 10 };
    const uint64_t length = take_leb(&code, false);
    code.end = code.at + length;
    while (code.at < code.end) {
        const unsigned opcode = (unsigned)take_fixed(&code, 1, false);
        if (opcode == 0x06) { /* deref */
            if (!sj__unwind_read(unwinder, stack[top], &stack[top]))
                return false;
        } else if (opcode == 0x22 && top > 0) { /* plus */
            stack[top - 1] += stack[top];
            top--;
        } else if (opcode == 0x23) { /* plus_uconst */
            stack[top] += take_leb(&code, false);
        } else if (opcode >= 0x70 && opcode < 0x70 + SJ_UNWIND_REGISTERS && top + 1 < DEPTH) { /* breg */
            stack[++top] = unwinder->at[opcode - 0x70] + take_leb(&code, true);
        } else if (opcode >= 0x30 && opcode < 0x50 && top + 1 < DEPTH) { /* lit */
            stack[++top] = opcode - 0x30;
        } else {
            return false;
        }
    }
    *result = stack[top];
    return true;
}

/* The caller's register `number`; false if it can't be read. */
static bool find_value(struct sj_unwinder *unwinder, const struct program *program, unsigned number, uintptr_t cfa,
                       uintptr_t *value)
{
    const int32_t operand = program->row.value[number];
    switch ((enum rule)program->row.rule[number]) {
    case RULE_UNDEFINED: *value = 0; return true;
    case RULE_SAVED: return sj__unwind_read(unwinder, cfa + (uintptr_t)(intptr_t)operand, value);
    case RULE_IS_OFFSET: *value = cfa + (uintptr_t)(intptr_t)operand; return true;
    case RULE_REGISTER: *value = operand < SJ_UNWIND_REGISTERS ? unwinder->at[operand] : 0; return true;
    case RULE_SAVED_BY:
        return evaluate(unwinder, program->table + operand, cfa, value) && sj__unwind_read(unwinder, *value, value);
    case RULE_IS_BY: return evaluate(unwinder, program->table + operand, cfa, value);
    case RULE_SAME: break;
    }
    *value = number == SJ_UNWIND_SP ? cfa : unwinder->at[number];
    return true;
}

bool sj__unwind_step(struct sj_unwinder *unwinder)
{
    const uintptr_t place = unwinder->at[SJ_UNWIND_PC] - !unwinder->is_exact;
    struct program program;
    memset(&program, 0, offsetof(struct program, kept));
    program.table = find_table(place);
    program.wanted = place;
    if (!settle_rules(&program, unwinder->remembers) || program.row.rule[SJ_UNWIND_PC] == RULE_SAME)
        return false;
    uintptr_t cfa = unwinder->at[program.row.cfa_register] + (uintptr_t)(intptr_t)program.row.cfa_value;
    if (program.row.cfa_rule == RULE_IS_BY && !evaluate(unwinder, program.table + program.row.cfa_value, 0, &cfa))
        return false;
    if (!program.is_signal && cfa <= unwinder->at[SJ_UNWIND_SP])
        return false;
    uintptr_t values[SJ_UNWIND_REGISTERS];
    memcpy(values, unwinder->at, sizeof values);
    for (unsigned i = 0; i < SJ_UNWIND_REGISTERS; i++) /* most are the same */
        if ((program.row.rule[i] != RULE_SAME || i == SJ_UNWIND_SP) &&
            !find_value(unwinder, &program, i, cfa, &values[i]))
            return false;
    memcpy(unwinder->at, values, sizeof values);
    unwinder->is_exact = program.is_signal;
    return true;
}
