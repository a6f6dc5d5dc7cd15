/* SPDX-License-Identifier: MIT
 *
 * What: the page's style sheet.
 *
 * Why this way: text in a source of its own, so that the page needs no file beside it.
 *
 * Invariants: no url(), no import; no '<' and no '&', so that the page is well-formed XML too. Blue and orange tell
 * cheaper from dearer to colour-blind eyes as well, and never alone: the word stands beside it.
 *
 * Concurrency: constants.
 */
#ifndef SJ_PAGE_STYLE_H
#define SJ_PAGE_STYLE_H

extern const char page_style[];
extern const char page_style_print[];

#endif
