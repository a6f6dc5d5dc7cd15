# SPDX-License-Identifier: MIT
"""What: gdb's command sj-pointer, which says what a pointer is to Scrubjay: of a live process or a core file.

Why this way: by the table of src/policy/layout.h, which lies in the process. So it needs neither types nor symbols of the
library, and fits whatever build it looks at. Nothing is called in the process, which may be a core file.

Invariants: what is read may be damaged: every chain is bounded, and memory that can't be read is said.

Concurrency: the process is stopped; a thread may be in the middle of a change.
"""
import re

import gdb

CONTROL_MAGIC = b"scrubjay control"
LAYOUT_MAGIC = b"scrubjay layout\0"
CONTROL_VERSION, LAYOUT_VERSION = 3, 1
# The address of the table is the last word of the control block; see src/policy/control_block.h.
LAYOUT_NAME_BYTES, WORD, SELF_AT = 24, 8, 24
CHAIN_MOST = 100000
GRANULES_BACK = 1 << 20


class NotOurs(Exception):
    """Scrubjay is not there, or not as this script knows it."""


def read(address, count):
    return bytes(gdb.selected_inferior().read_memory(address, count))


def number(address, count=WORD):
    return int.from_bytes(read(address, count), "little")


def text(address):
    found = b""
    while address and len(found) < 256:
        byte = read(address + len(found), 1)
        if byte == b"\0":
            break
        found += byte
    return "".join(chr(byte) if 32 <= byte < 127 else "?" for byte in found)


def page_bytes():
    match = re.search(r"AT_PAGESZ\s.*\s(\d+)$", gdb.execute("info auxv", to_string=True), re.MULTILINE)
    return int(match.group(1)) if match else 4096


def control_by_symbol():
    try:
        yield int(gdb.parse_and_eval("(unsigned long)&sj__control_page"))
    except gdb.error:
        return


def control_by_magic():
    """Writable mappings of files: the library may be stripped, or part of a static program."""
    try:
        mappings = gdb.execute("info proc mappings", to_string=True)
    except gdb.error:
        return
    for line in mappings.splitlines():
        match = re.match(r"\s*(0x[0-9a-f]+)\s+(0x[0-9a-f]+)\s+0x[0-9a-f]+\s+0x[0-9a-f]+\s+(.*/.*)", line)
        if match is None:
            continue
        start, end = int(match.group(1), 16), int(match.group(2), 16)
        while start < end:
            try:
                found = gdb.selected_inferior().search_memory(start, end - start, CONTROL_MAGIC)
            except gdb.MemoryError:
                break
            if found is None:
                break
            yield found
            start = found + 1


def find_control():
    for candidates in (control_by_symbol, control_by_magic):
        for address in candidates():
            try:
                if read(address, 16) == CONTROL_MAGIC and number(address + SELF_AT) == address:
                    return address
            except gdb.MemoryError:
                continue
    raise NotOurs("Scrubjay is not in this process, or has not been started yet")


class Layout:
    """The table, by name: an address is taken with `at`, an offset or a count with []."""

    def __init__(self):
        control = find_control()
        version, size = number(control + 16, 4), number(control + 20, 4)
        table = number(control + size - WORD)
        if version != CONTROL_VERSION or read(table, 16) != LAYOUT_MAGIC or number(table + 16, 4) != LAYOUT_VERSION:
            raise NotOurs("it runs another version of Scrubjay than this script knows")
        count, entries = number(table + 20, 4), number(table + 24)
        self.values = {}
        for i in range(count):
            entry = entries + i * (LAYOUT_NAME_BYTES + WORD)
            self.values[text(entry)[:LAYOUT_NAME_BYTES]] = number(entry + LAYOUT_NAME_BYTES)

    def __getitem__(self, name):
        return self.values[name]

    def at(self, name):
        return self.values["&" + name]

    def member(self, record, name, count=WORD):
        return number(record + self[name], count)


def say_frames(address, count):
    for i in range(min(count, 64)):
        frame = number(address + i * WORD)
        symbol = gdb.execute("info symbol 0x%x" % (frame - 1), to_string=True).strip().split(" in section")[0]
        line = gdb.find_pc_line(frame - 1)
        where = " at %s:%d" % (line.symtab.filename, line.line) if line.symtab is not None else ""
        print("    #%-2d 0x%x %s%s" % (i, frame, "" if symbol.startswith("No symbol") else symbol, where))


class Pointer:
    """What is known about an address; say() prints it."""

    def __init__(self, layout, address):
        self.layout, self.address = layout, address
        self.shift = layout["granule_shift"]
        self.base = number(layout.at("window_base"))
        self.map = number(layout.at("window_map"))
        self.offset = address - self.base

    def span(self, granule):
        return number(self.map + granule * WORD)

    def kind(self, span):
        return self.layout.member(span, "span.kind", 4)

    def say(self):
        layout = self.layout
        if not 0 <= self.offset < number(layout.at("window_limit")):
            print("0x%x: not Scrubjay's" % self.address)
            return
        span = self.span(self.offset >> self.shift)
        kind = self.kind(span) if span else 0
        if kind == layout["kind.slab"]:
            self.say_slot(span)
        elif kind == layout["kind.sampled"]:
            self.say_sampled()
        elif not self.say_large():
            free = {layout["kind.run"]: "free", layout["kind.fresh"]: "free, and never handed out",
                    layout["kind.freed"]: "free: of a block or slab that is no more"}
            print("0x%x: %s" % (self.address, free.get(kind, "in Scrubjay's memory, and in no block")))

    # The start of a block, or how far into it.
    def place(self, start):
        return "" if start == self.address else ", %d bytes into it" % (self.address - start)

    def say_account(self, account):
        if account == 0:
            return
        layout = self.layout
        chunk = number(layout.at("account_chunks") + account // layout["account.chunk"] * WORD)
        record = chunk + account % layout["account.chunk"] * layout["account.bytes"]
        arena = layout.member(layout.member(record, "account.book"), "book.name")
        label = text(record + layout["account.label"])
        print("  arena %s, label %s" % (text(arena) if arena else "none", label or "none"))

    def say_trace(self, what, trace):
        layout = self.layout
        print("  %s by thread %d, from:" % (what, layout.member(trace, "trace.thread", 4)))
        say_frames(trace + layout["trace.frames"], layout.member(trace, "trace.count", 4))

    def say_profile(self, start):
        layout = self.layout
        spread = (start >> 4) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
        head = layout.at("profile_heads") + (spread >> 64 - layout["profile.head_bits"]) * 4
        record_number = number(head, 4)
        for _ in range(CHAIN_MOST):
            if record_number == 0:
                return
            chunk, index = divmod(record_number - 1, layout["profile.chunk_records"])
            record = number(layout.at("profile_records") + chunk * WORD) + index * layout["record.bytes"]
            if layout.member(record, "record.address") == start:
                break
            record_number = layout.member(record, "record.next", 4)
        else:
            return
        chunk, index = divmod(layout.member(record, "record.site", 4), layout["profile.chunk_sites"])
        site = number(layout.at("profile") + layout["profile.chunks"] + chunk * WORD) + index * layout["site.bytes"]
        print("  a sample of the profile, allocated from:")
        say_frames(site + layout["site.frames"], layout.member(site, "site.count", 4))

    def slot_bytes_of(self, slab, index, slot_bytes):
        layout = self.layout
        canary = layout.member(slab, "slab.canary", 1)
        if canary == 0:
            return slot_bytes
        if canary == layout["canary.exact"]:
            return slot_bytes - number(layout.member(slab, "slab.notes") + 2 * index, 2)
        return slot_bytes - layout["canary.bytes"]

    def say_slot(self, slab):
        layout = self.layout
        slot_bytes = layout.member(slab, "slab.slot_bytes", 4)
        base, slots = layout.member(slab, "slab.base"), layout.member(slab, "slab.slots", 4)
        index = (self.address - base) // slot_bytes if slot_bytes else slots
        if index >= slots:
            print("0x%x: in the last bytes of a slab, which no slot covers" % self.address)
            return
        planes = slab + layout["slab.planes"] + index // 64 * layout["plane.bytes"]
        bit = 1 << index % 64
        remote = number(layout.member(slab, "slab.remote") + layout["remote.bits"] + index // 64 * WORD) & bit
        live = layout.member(planes, "plane.live") & bit
        freed = (layout.member(planes, "plane.freed") | layout.member(planes, "plane.dirty")) & bit
        if live and remote:
            state = "freed, and not taken back by its heap yet"
        elif live:
            state = "live"
        else:
            state = "freed" if freed else "never handed out"
        start = base + index * slot_bytes
        print("0x%x: %s%s" % (self.address, state, self.place(start)))
        print("  block 0x%x, class %d of %d bytes, slot %d of %d" %
              (start, layout.member(slab, "slab.class", 1), slot_bytes, index, slots))
        if live and not remote:
            print("  usable %d bytes" % self.slot_bytes_of(slab, index, slot_bytes))
        owner = layout.member(slab, "span.owner")
        thread = layout.member(owner, "heap.thread", 4) if owner else 0
        print("  slab 0x%x, heap 0x%x%s" % (slab, owner, " of thread %d" % thread if thread else ""))
        if live and not remote:
            if layout.member(slab, "slab.stamp", 1) & layout["stamp.counted"]:
                self.say_account(number(layout.member(slab, "slab.accounts") + 2 * index, 2))
            self.say_profile(start)

    def say_large(self):
        """The granule that a block starts in names it; the others name nothing."""
        layout = self.layout
        granule = self.offset >> self.shift
        for back in range(min(granule + 1, GRANULES_BACK)):
            span = self.span(granule - back)
            kind = self.kind(span) if span else 0
            if kind == layout["kind.large"]:
                break
            if kind in (layout["kind.slab"], layout["kind.sampled"]):
                return False
        else:
            return False
        start, usable = layout.member(span, "large.start"), layout.member(span, "large.usable")
        first, granules = layout.member(span, "large.first_granule"), layout.member(span, "large.granules")
        if not first <= granule < first + granules:
            return False
        if not start <= self.address < start + usable:
            print("0x%x: beside the large block 0x%x, in its guard or slack" % (self.address, start))
        else:
            print("0x%x: live%s" % (self.address, self.place(start)))
        print("  large block 0x%x, %d bytes asked for, usable %d" % (start, layout.member(span, "large.requested"), usable))
        self.say_account(layout.member(span, "large.account", 4))
        self.say_profile(start)
        return True

    def say_sampled(self):
        """Pages and guards take turns, a guard first."""
        layout = self.layout
        base, records = number(layout.at("sampled_base")), number(layout.at("sampled_records"))
        page = (self.address - base) // page_bytes()
        index = page // 2
        if page % 2 == 0 or index >= layout["sampled.pages"]:
            print("0x%x: in a guard between sampled blocks" % self.address)
            return
        record = records + index * layout["sampled.bytes"]
        state = layout.member(record, "sampled.state", 4)
        start, usable = layout.member(record, "sampled.start"), layout.member(record, "sampled.usable", 4)
        inside = start <= self.address < start + usable
        names = {layout["sampled.live"]: "live", layout["sampled.freed_state"]: "freed"}
        print("0x%x: %s%s" % (self.address, names.get(state, "never handed out"),
                              self.place(start) if inside else ", beside the block on its page"))
        if state not in names:
            return
        print("  sampled block 0x%x of %d bytes, between guards" % (start, usable))
        self.say_trace("allocated", record + layout["sampled.allocated"])
        if state == layout["sampled.freed_state"]:
            self.say_trace("freed", record + layout["sampled.freed"])


class SjPointer(gdb.Command):
    """sj-pointer EXPRESSION: says what a pointer is to Scrubjay: live, freed or neither, start and size of its block, size
class, heap, arena and label, and, of samples, the stacks that allocated and freed it."""

    def __init__(self):
        super().__init__("sj-pointer", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError("sj-pointer: no pointer given")
        address = int(gdb.parse_and_eval("(unsigned long)(%s)" % argument))
        try:
            Pointer(Layout(), address).say()
        except NotOurs as reason:
            raise gdb.GdbError("sj-pointer: %s" % reason)
        except gdb.MemoryError as reason:
            raise gdb.GdbError("sj-pointer: the books can't be read: %s" % reason)


SjPointer()
