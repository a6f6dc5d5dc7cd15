# SPDX-License-Identifier: MIT
"""Writes a history for git fast-import: files that grow, change, move and go over a few hundred commits."""

import sys

from bench_numbers import Numbers

COMMITS = 500
FILES = 120
WORDS = "lock page block heap slab guard scrub ledger thread cache bit word span class policy".split()


def line(numbers):
    return " ".join(numbers.pick(WORDS) for _ in range(4 + numbers.below(9))) + f" {numbers.below(100000)};"


def edit(numbers, lines):
    for _ in range(1 + numbers.below(6)):
        at = numbers.below(len(lines))
        action = numbers.below(3)
        if action == 0:
            lines[at] = line(numbers)
        elif action == 1:
            lines.insert(at, line(numbers))
        elif len(lines) > 20:
            del lines[at]


def data(text):
    raw = text.encode()
    sys.stdout.buffer.write(b"data %d\n%s\n" % (len(raw), raw))


def put(text):
    sys.stdout.buffer.write(text.encode() + b"\n")


def write_file(path, lines):
    put(f"M 100644 inline {path}")
    data("\n".join(lines) + "\n")


def commit(numbers, number, files, moved):
    put("commit refs/heads/main")
    put(f"committer A Writer <writer@example.org> {1700000000 + number * 3600} +0000")
    data(f"Change number {number}\n\n" + "\n".join(line(numbers) for _ in range(3)))
    for path in moved:
        put(f"D {path}")
    for path, lines in files.items():
        write_file(path, lines)


def main():
    numbers = Numbers(19)
    tree = {}
    for index in range(FILES):
        tree[f"part{index % 8}/file{index}.c"] = [line(numbers) for _ in range(60 + numbers.below(200))]
    commit(numbers, 0, tree, [])
    for number in range(1, COMMITS):
        touched = {}
        moved = []
        for _ in range(1 + numbers.below(5)):
            path = numbers.pick(sorted(tree))
            edit(numbers, tree[path])
            if numbers.below(12) == 0:
                moved.append(path)
                touched.pop(path, None)
                target = f"part{numbers.below(8)}/moved{number}_{numbers.below(1000)}.c"
                tree[target] = tree.pop(path)
                path = target
            touched[path] = tree[path]
        commit(numbers, number, {path: tree[path] for path in touched if path in tree}, moved)
    put("done")


main()
