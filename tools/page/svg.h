/* SPDX-License-Identifier: MIT
 *
 * What: the few shapes the page's pictures are made of, as SVG.
 *
 * Why this way: colours and fonts come from the page's style sheet by class, so that one picture serves light, dark and
 * print. Hundreds of dots are one path of round caps: small, and quick to draw.
 *
 * Invariants: text is escaped; numbers have one decimal and a point; every picture carries a sentence for those who
 * cannot see it.
 *
 * Concurrency: no globals.
 */
#ifndef SJ_PAGE_SVG_H
#define SJ_PAGE_SVG_H

#include <stdio.h>

void page_svg_begin(FILE *out, double width, double height, const char *sentence);
void page_svg_end(FILE *out);

void page_svg_line(FILE *out, const char *class, double x1, double y1, double x2, double y2);
void page_svg_box(FILE *out, const char *class, double x, double y, double width, double height);
void page_svg_dot(FILE *out, const char *class, double x, double y, double radius);

enum page_anchor { PAGE_START, PAGE_MIDDLE, PAGE_END };

void page_svg_text(FILE *out, const char *class, double x, double y, enum page_anchor anchor, const char *text);

/* A path of dots: begin, then each, then end. */
void page_svg_dots_begin(FILE *out, const char *class);
void page_svg_dots_add(FILE *out, double x, double y);
void page_svg_dots_end(FILE *out);

/* A line through points: begin, then each, then end. */
void page_svg_curve_begin(FILE *out, const char *class);
void page_svg_curve_add(FILE *out, double x, double y);
void page_svg_curve_end(FILE *out);

#endif
