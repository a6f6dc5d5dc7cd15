# SPDX-License-Identifier: MIT
"""Dictionaries, text, objects and JSON; prints sums that depend on nothing but this file."""

import json
import re


class Numbers:
    """A small generator of our own: the same stream in every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        return (self.state >> 33) % limit


class Node:
    def __init__(self, key, payload):
        self.key = key
        self.payload = payload
        self.left = None
        self.right = None

    def insert(self, key, payload):
        node = self
        while key != node.key:
            side = "left" if key < node.key else "right"
            following = getattr(node, side)
            if following is None:
                setattr(node, side, Node(key, payload))
                return
            node = following
        node.payload = payload

    def walk(self):
        if self.left is not None:
            yield from self.left.walk()
        yield self.key, self.payload
        if self.right is not None:
            yield from self.right.walk()


def words(numbers):
    counts = {}
    for _ in range(30000):
        word = "".join(chr(97 + numbers.below(6)) for _ in range(3 + numbers.below(4)))
        counts[word] = counts.get(word, 0) + 1
    text = " ".join(f"{word}:{count}" for word, count in sorted(counts.items()))
    return len(counts), len(re.sub(r"([a-f]+):(\d+)", r"\2-\1", text))


def tree(numbers):
    root = Node(500000, [])
    for _ in range(15000):
        key = numbers.below(1000000)
        root.insert(key, [key, str(key)])
    return sum(len(payload) for _, payload in root.walk())


def documents(numbers):
    total = 0
    for _ in range(8):
        document = [
            {"id": i, "name": f"name-{numbers.below(1000)}", "tags": [numbers.below(10) for _ in range(8)],
             "ratio": i / 7}
            for i in range(1500)
        ]
        total += len(json.dumps(json.loads(json.dumps(document)), indent=1))
    return total


def sort(numbers):
    pairs = [(numbers.below(1000), -i, f"{i:06d}") for i in range(50000)]
    pairs.sort()
    return hash_of("".join(text for _, _, text in pairs[::97]))


def hash_of(text):
    total = 0
    for letter in text:
        total = (total * 31 + ord(letter)) & 0xFFFFFFFF
    return total


def main():
    numbers = Numbers(7)
    print("words", *words(numbers))
    print("tree", tree(numbers))
    print("documents", documents(numbers))
    print("sort", sort(numbers))


main()
