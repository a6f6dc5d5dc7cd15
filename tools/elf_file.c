/* SPDX-License-Identifier: MIT
 *
 * What: what an executable file or a library says about itself; see elf_file.h.
 *
 * Why this way: the file is mapped, and every structure in it goes through view_at, which knows the file's end. Names
 * are found by the section headers: strip keeps those of the dynamic symbols, and a file without any loses only hints.
 *
 * Invariants: see elf_file.h.
 *
 * Concurrency: one thread.
 */
#include "elf_file.h"

#include "policy/status.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct view {
    const unsigned char *bytes;
    size_t count;
};

/* `count` bytes at `offset`, or NULL if the file has them not all or they lie askew. */
static const void *view_at(struct view view, uint64_t offset, uint64_t count, size_t alignment)
{
    if (offset > view.count || count > view.count - offset || offset % alignment != 0)
        return NULL;
    return view.bytes + offset;
}

/* The NUL-terminated string at `offset` of a string table, or "". */
static const char *string_at(struct view view, const Elf64_Shdr *table, uint64_t offset)
{
    const char *strings = view_at(view, table->sh_offset, table->sh_size, 1);
    if (strings == NULL || offset >= table->sh_size || memchr(strings + offset, 0, table->sh_size - offset) == NULL)
        return "";
    return strings + offset;
}

static void read_symbols(struct view view, const Elf64_Shdr *section, const Elf64_Shdr *names,
                         struct sj_elf_facts *facts)
{
    const Elf64_Sym *symbols = view_at(view, section->sh_offset, section->sh_size, _Alignof(Elf64_Sym));
    for (size_t i = 0; symbols != NULL && i < section->sh_size / sizeof *symbols; i++) {
        const bool defined = symbols[i].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC;
        if (defined && strcmp(string_at(view, names, symbols[i].st_name), "malloc") == 0)
            facts->defines_malloc = true;
    }
}

static void read_dynamic(struct view view, const Elf64_Shdr *section, const Elf64_Shdr *names,
                         struct sj_elf_facts *facts)
{
    static const char scrubjay[] = "libscrubjay.so";
    const Elf64_Dyn *entries = view_at(view, section->sh_offset, section->sh_size, _Alignof(Elf64_Dyn));
    for (size_t i = 0; entries != NULL && i < section->sh_size / sizeof *entries; i++) {
        if (entries[i].d_tag != DT_NEEDED)
            continue;
        const char *needed = string_at(view, names, entries[i].d_un.d_val);
        facts->needs_scrubjay |= strncmp(needed, scrubjay, sizeof scrubjay - 1) == 0;
        facts->needs_glibc |= strcmp(needed, "libc.so.6") == 0;
    }
}

static void read_sections(struct view view, const Elf64_Ehdr *header, struct sj_elf_facts *facts)
{
    const uint64_t bytes = (uint64_t)header->e_shnum * sizeof(Elf64_Shdr);
    const Elf64_Shdr *sections = view_at(view, header->e_shoff, bytes, _Alignof(Elf64_Shdr));
    if (sections == NULL || header->e_shentsize != sizeof(Elf64_Shdr))
        return;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_link >= header->e_shnum)
            continue;
        const Elf64_Shdr *names = &sections[sections[i].sh_link];
        if (sections[i].sh_type == SHT_DYNSYM)
            read_symbols(view, &sections[i], names, facts);
        else if (sections[i].sh_type == SHT_DYNAMIC)
            read_dynamic(view, &sections[i], names, facts);
    }
}

static void read_segments(struct view view, const Elf64_Ehdr *header, struct sj_elf_facts *facts)
{
    const uint64_t bytes = (uint64_t)header->e_phnum * sizeof(Elf64_Phdr);
    const Elf64_Phdr *segments = view_at(view, header->e_phoff, bytes, _Alignof(Elf64_Phdr));
    if (segments == NULL || header->e_phentsize != sizeof(Elf64_Phdr))
        return;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        const void *content = view_at(view, segment->p_offset, segment->p_filesz, 1);
        if (content == NULL)
            continue;
        facts->is_dynamic |= segment->p_type == PT_DYNAMIC;
        if (segment->p_type == PT_INTERP) {
            facts->has_loader = true;
            const size_t room = sizeof facts->interpreter - 1;
            memcpy(facts->interpreter, content, segment->p_filesz < room ? segment->p_filesz : room);
        } else if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) != 0) {
            facts->holds_status |= sj__elf_find_status(content, segment->p_filesz) != SIZE_MAX;
        }
    }
}

static void read_elf(struct view view, struct sj_elf_facts *facts)
{
    const unsigned char own_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    const Elf64_Ehdr *header = view_at(view, 0, sizeof *header, _Alignof(Elf64_Ehdr));
    if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return;
    facts->is_elf = true;
    facts->bits = header->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
    if (header->e_ident[EI_DATA] != own_order)
        return;
    facts->machine = header->e_machine; /* at the same place in 32-bit files */
    facts->is_program = header->e_type == ET_EXEC || header->e_type == ET_DYN;
    if (facts->bits != 64)
        return;
    read_segments(view, header, facts);
    read_sections(view, header, facts);
}

/* "#! /bin/sh -e" becomes "/bin/sh -e". */
static void read_script(struct view view, struct sj_elf_facts *facts)
{
    const char *start = (const char *)view.bytes + 2;
    const char *end = (const char *)view.bytes + view.count;
    const char *stop = memchr(start, '\n', (size_t)(end - start));
    if (stop == NULL)
        stop = end;
    while (start < stop && (*start == ' ' || *start == '\t'))
        start++;
    while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r'))
        stop--;
    const size_t length = (size_t)(stop - start);
    facts->is_script = true;
    if (length < sizeof facts->interpreter) {
        memcpy(facts->interpreter, start, length);
        facts->interpreter[length] = '\0';
    }
}

bool sj__elf_read(const char *path, struct sj_elf_facts *facts)
{
    struct stat status;
    *facts = (struct sj_elf_facts){ 0 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        errno = EACCES;
        close(fd);
        return false;
    }
    struct view view = { .count = (size_t)status.st_size };
    void *mapped = view.count == 0 ? NULL : mmap(NULL, view.count, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        return false;
    view.bytes = mapped;
    if (view.count > 2 && memcmp(view.bytes, "#!", 2) == 0)
        read_script(view, facts);
    else if (view.count >= sizeof(Elf64_Ehdr))
        read_elf(view, facts);
    if (mapped != NULL)
        munmap(mapped, view.count);
    return true;
}

const char *sj__elf_machine_name(uint16_t machine, char *buffer, size_t bytes)
{
    switch (machine) {
    case EM_386: return "x86 (32 bit)";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "Arm (32 bit)";
    case EM_AARCH64: return "AArch64";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "PowerPC 64";
    case EM_S390: return "S/390";
    default: snprintf(buffer, bytes, "ELF machine %u", machine); return buffer;
    }
}

size_t sj__elf_find_status(const unsigned char *bytes, size_t count)
{
    const size_t head_bytes = offsetof(struct sj_status, state); /* the same in all versions */
    for (size_t at = 0; at + head_bytes <= count; at += _Alignof(struct sj_status)) {
        struct sj_status head;
        if (memcmp(bytes + at, SJ_STATUS_MAGIC, SJ_STATUS_MAGIC_BYTES) != 0)
            continue;
        memcpy(&head, bytes + at, head_bytes);
        const bool is_ours = head.version == SJ_STATUS_VERSION;
        if (is_ours ? head.bytes == sizeof head && head.bytes <= count - at
                    : head.version != 0 && head.bytes > head_bytes)
            return at;
    }
    return SIZE_MAX;
}
