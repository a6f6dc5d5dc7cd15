/* SPDX-License-Identifier: MIT
 *
 * What: see svg.h.
 *
 * Why this way: see svg.h.
 */
#include "page/svg.h"

#include "page/markup.h"

void page_svg_begin(FILE *out, double width, double height, const char *sentence)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "role=\"img\" aria-label=\"",
            width, height, width, height);
    page_escape(out, sentence);
    fputs("\">\n", out);
}

void page_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

void page_svg_line(FILE *out, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

void page_svg_box(FILE *out, const char *class, double x, double y, double width, double height)
{
    fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class, x, y, width,
            height);
}

void page_svg_dot(FILE *out, const char *class, double x, double y, double radius)
{
    fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", class, x, y, radius);
}

void page_svg_text(FILE *out, const char *class, double x, double y, enum page_anchor anchor, const char *text)
{
    static const char *const names[] = { "start", "middle", "end" };
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", class, x, y, names[anchor]);
    page_escape(out, text);
    fputs("</text>\n", out);
}

void page_svg_dots_begin(FILE *out, const char *class)
{
    fprintf(out, "<path class=\"%s\" d=\"M0 0", class);
}

void page_svg_dots_add(FILE *out, double x, double y)
{
    fprintf(out, "M%.1f %.1fh0", x, y);
}

void page_svg_dots_end(FILE *out)
{
    fputs("\"/>\n", out);
}

void page_svg_curve_begin(FILE *out, const char *class)
{
    fprintf(out, "<polyline class=\"%s\" points=\"", class);
}

void page_svg_curve_add(FILE *out, double x, double y)
{
    fprintf(out, "%.1f,%.1f ", x, y);
}

void page_svg_curve_end(FILE *out)
{
    fputs("\"/>\n", out);
}
