/* SPDX-License-Identifier: MIT
 *
 * What: says in words where an address lies; see location.h.
 *
 * Why this way: lines are put together byte by byte, so that the size of a read and the length of a path do not matter.
 * A file's base is the last mapping of offset 0 before the address with the same inode.
 *
 * Invariants: see location.h.
 *
 * Concurrency: see location.h.
 */
#include "report/location.h"

#include "platform/descriptor.h"

enum { CHUNK_BYTES = 512, LINE_BYTES = 384, SMALL_ADDRESS_END = 65536 };

/* One line of /proc/self/maps: start-end perms offset device inode path */
struct mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    uint64_t inode;
    char permissions[5];
    const char *name; /* in the line; "" if anonymous */
};

/* Lines of the file, one after the other. */
static struct maps_reader {
    int fd;
    long chunk_length;
    long chunk_position;
    char chunk[CHUNK_BYTES];
    char line[LINE_BYTES];
} reader;

/* A mapping found for an address, with what the text needs after the reader has gone on. */
struct found {
    struct mapping mapping;
    uint64_t file_base; /* start of the first mapping of the same file, or of this mapping */
};

static bool next_byte(char *byte)
{
    if (reader.chunk_position >= reader.chunk_length) {
        reader.chunk_length = sj__descriptor_read(reader.fd, reader.chunk, sizeof reader.chunk);
        reader.chunk_position = 0;
        if (reader.chunk_length <= 0)
            return false;
    }
    *byte = reader.chunk[reader.chunk_position++];
    return true;
}

static bool next_line(void)
{
    struct sj_text line;
    char byte;
    bool any = false;
    sj__format_start(&line, reader.line, sizeof reader.line);
    while (next_byte(&byte)) {
        if (byte == '\n')
            return true;
        sj__format_char(&line, byte);
        any = true;
    }
    return any;
}

/* Reads digits of `base` and steps over one separator after them. */
static const char *read_number(const char *text, uint64_t base, uint64_t *number)
{
    *number = 0;
    for (;; text++) {
        uint64_t digit;
        if (*text >= '0' && *text <= '9')
            digit = (uint64_t)(*text - '0');
        else if (base == 16 && *text >= 'a' && *text <= 'f')
            digit = (uint64_t)(*text - 'a') + 10;
        else
            return *text == '\0' ? text : text + 1;
        *number = *number * base + digit;
    }
}

static void parse_line(const char *line, struct mapping *mapping)
{
    uint64_t skipped;
    line = read_number(line, 16, &mapping->start);
    line = read_number(line, 16, &mapping->end);
    unsigned length = 0;
    for (; *line != '\0' && *line != ' ' && length < sizeof mapping->permissions - 1; line++)
        mapping->permissions[length++] = *line;
    mapping->permissions[length] = '\0';
    line += *line == ' ';
    line = read_number(line, 16, &mapping->offset);
    line = read_number(line, 16, &skipped); /* device, major:minor */
    line = read_number(line, 16, &skipped);
    line = read_number(line, 10, &mapping->inode);
    while (*line == ' ')
        line++;
    mapping->name = line;
}

/* Finds the mapping of `address`; found->mapping.name points into the reader. */
static bool find_mapping(uintptr_t address, struct found *found)
{
    uint64_t base = 0;
    uint64_t base_inode = 0;
    bool hit = false;
    reader.fd = sj__descriptor_open("/proc/self/maps");
    reader.chunk_length = 0;
    reader.chunk_position = 0;
    if (reader.fd < 0)
        return false;
    while (!hit && next_line()) {
        struct mapping *mapping = &found->mapping;
        parse_line(reader.line, mapping);
        if (mapping->offset == 0) {
            base = mapping->start;
            base_inode = mapping->inode;
        }
        hit = address >= mapping->start && address < mapping->end;
        found->file_base = mapping->inode != 0 && mapping->inode == base_inode ? base : mapping->start;
    }
    sj__descriptor_close(reader.fd);
    return hit;
}

static bool starts_with(const char *text, const char *prefix)
{
    for (; *prefix != '\0'; text++, prefix++) {
        if (*text != *prefix)
            return false;
    }
    return true;
}

enum sj_address_shape sj__location_shape(const void *address)
{
    const uint64_t value = (uint64_t)(uintptr_t)address;
    const uint64_t high = value >> 47; /* the sign and all bits that must repeat it, with four levels of page tables */
    if (value < SMALL_ADDRESS_END)
        return SJ_ADDRESS_SMALL;
    if (high == 0)
        return SJ_ADDRESS_USUAL;
    return high == 0x1ffff ? SJ_ADDRESS_KERNEL : SJ_ADDRESS_NON_CANONICAL;
}

static void format_file_offset(struct sj_text *text, const char *file, uintptr_t offset)
{
    sj__format_printable(text, file, LINE_BYTES);
    sj__format_char(text, '+');
    sj__format_hex(text, offset);
}

bool sj__location_find_code(const void *address, struct sj_code_place *place)
{
    struct found found;
    if (!find_mapping((uintptr_t)address, &found) || found.mapping.name[0] == '\0')
        return false;
    *place = (struct sj_code_place){ .file = found.mapping.name,
                                     .base = found.file_base,
                                     .offset = (uintptr_t)address - found.file_base };
    return true;
}

void sj__location_format_code(struct sj_text *text, const void *address)
{
    struct sj_code_place place;
    if (sj__location_find_code(address, &place))
        format_file_offset(text, place.file, place.offset);
}

static void format_mapping(struct sj_text *text, const struct found *found, uintptr_t address)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const struct mapping *mapping = &found->mapping;
    if (here >= mapping->start && here < mapping->end) {
        sj__format_string(text, "in the stack of this thread");
    } else if (starts_with(mapping->name, "[stack")) {
        sj__format_string(text, "in the stack of the first thread");
    } else if (starts_with(mapping->name, "[heap]")) {
        sj__format_string(text, "in the brk heap, which is another allocator's");
    } else if (mapping->name[0] == '\0' || starts_with(mapping->name, "[anon")) {
        sj__format_string(text, "in an anonymous mapping of ");
        sj__format_decimal(text, mapping->end - mapping->start);
        sj__format_string(text, " bytes");
    } else {
        sj__format_string(text, "in ");
        format_file_offset(text, mapping->name, address - found->file_base);
    }
    sj__format_string(text, " (");
    sj__format_string(text, mapping->permissions);
    sj__format_char(text, ')');
}

void sj__location_format_data(struct sj_text *text, const void *address)
{
    struct found found;
    switch (sj__location_shape(address)) {
    case SJ_ADDRESS_SMALL: sj__format_string(text, "nowhere: so small a number is no address"); return;
    case SJ_ADDRESS_NON_CANONICAL:
        sj__format_string(text, "nowhere: a non-canonical address, overwritten or tagged");
        return;
    case SJ_ADDRESS_KERNEL:
        if (!find_mapping((uintptr_t)address, &found)) { /* [vsyscall] is there */
            sj__format_string(text, "nowhere: an address of the kernel's half");
            return;
        }
        break;
    case SJ_ADDRESS_USUAL:
        if (!find_mapping((uintptr_t)address, &found)) {
            sj__format_string(text, reader.fd < 0 ? "at a place not known: /proc/self/maps can't be read"
                                                  : "nowhere: not mapped");
            return;
        }
        break;
    }
    format_mapping(text, &found, (uintptr_t)address);
}
