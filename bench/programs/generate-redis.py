# SPDX-License-Identifier: MIT
"""Writes commands in the protocol of redis: strings, lists, hashes and sets that come, grow and go."""

import sys

from bench_numbers import Numbers

COMMANDS = 120000
KEYS = 20000


def command(*words):
    parts = [f"*{len(words)}\r\n"] + [f"${len(word)}\r\n{word}\r\n" for word in words]
    return "".join(parts)


def value(numbers):
    return chr(97 + numbers.below(26)) * (1 + numbers.below(numbers.pick([16, 64, 64, 512, 2048])))


def one(numbers):
    action = numbers.below(100)
    key = str(numbers.below(KEYS))
    if action < 35:
        return command("SET", "s" + key, value(numbers))
    if action < 45:
        return command("APPEND", "s" + key, value(numbers)[:40])
    if action < 60:
        return command("HSET", "h" + key, f"f{numbers.below(30)}", value(numbers), f"g{numbers.below(30)}", key)
    if action < 70:
        return command("RPUSH", "l" + key, value(numbers), key)
    if action < 80:
        return command("ZADD", "z" + str(numbers.below(200)), key, "m" + key)
    if action < 88:
        return command("SADD", "t" + str(numbers.below(500)), "x" + key)
    if action < 94:
        return command("DEL", "s" + key, "l" + str(numbers.below(KEYS)))
    return command("LRANGE", "l" + key, "0", "20")


def main():
    numbers = Numbers(29)
    for _ in range(COMMANDS):
        sys.stdout.write(one(numbers))


main()
