# SPDX-License-Identifier: MIT
"""Writes a PDF of many pages: text in several fonts, curves with patterns of colour, small images, shared forms."""

import sys

from bench_numbers import Numbers

PAGES = 40
WORDS = "lock page block heap slab guard scrub ledger thread cache bit word span class policy".split()
FONTS = ["Times-Roman", "Helvetica", "Courier", "Times-Italic"]


def text_lines(numbers):
    parts = ["BT"]
    for row in range(60):
        font = numbers.below(len(FONTS))
        words = " ".join(numbers.pick(WORDS) for _ in range(9))
        parts.append(f"/F{font} {7 + numbers.below(5)} Tf 1 0 0 1 40 {800 - row * 12} Tm ({words}) Tj")
    return parts + ["ET"]


def curves(numbers):
    parts = []
    for _ in range(160):
        colour = " ".join(f"{numbers.below(100) / 100:.2f}" for _ in range(3))
        points = " ".join(str(numbers.below(800)) for _ in range(6))
        parts.append(f"{colour} RG {1 + numbers.below(4)} w {numbers.below(600)} {numbers.below(800)} m {points} c S")
    return parts


def images(numbers):
    parts = []
    for _ in range(6):
        pixels = "".join(f"{numbers.below(256):02x}" for _ in range(32 * 32 * 3))
        parts.append(f"q {20 + numbers.below(100)} 0 0 {20 + numbers.below(100)} {numbers.below(500)} "
                     f"{numbers.below(700)} cm BI /W 32 /H 32 /CS /RGB /BPC 8 /F /AHx ID {pixels}> EI Q")
    return parts


def stream(text):
    return f"<< /Length {len(text)} >>\nstream\n{text}\nendstream"


def main():
    numbers = Numbers(23)
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    fonts = ""
    for index, name in enumerate(FONTS):
        objects.append(f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} >>")
        fonts += f"/F{index} {len(objects)} 0 R "
    kids = []
    for _ in range(PAGES):
        objects.append(stream("\n".join(text_lines(numbers) + curves(numbers) + images(numbers))))
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects)} 0 R "
                       f"/Resources << /Font << {fonts}>> >> >>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>"
    out = "%PDF-1.4\n"
    offsets = []
    for index, body in enumerate(objects):
        offsets.append(len(out))
        out += f"{index + 1} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    out += (f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n"
            f"<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n")
    sys.stdout.write(out)


main()
