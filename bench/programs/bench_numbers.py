# SPDX-License-Identifier: MIT
"""The generators' random numbers: a stream of our own, the same in every version of Python."""


class Numbers:
    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        return (self.state >> 33) % limit

    def pick(self, items):
        return items[self.below(len(items))]
