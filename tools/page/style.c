/* SPDX-License-Identifier: MIT
 *
 * What: see style.h.
 *
 * Why this way: see style.h.
 */
#include "page/style.h"

const char page_style[] =
    ":root{color-scheme:light dark;--paper:#fdfdfc;--ink:#1c1f23;--quiet:#5d656e;--line:#dfe2e6;--zero:#8b939c;"
    "--null:#e6e8eb;--nil:#aab1b8;--more:#b34b00;--less:#0a62a8;--flat:#3d454d;--panel:#f4f5f6}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#14171a;--ink:#e7e9eb;--quiet:#9aa3ac;--line:#2b3036;"
    "--zero:#737c86;--null:#262b30;--nil:#5d666f;--more:#ffa057;--less:#6db8ff;--flat:#c3cad1;--panel:#1c2024}}\n"
    "@media print{:root{--paper:#fff;--ink:#000;--quiet:#444;--line:#ccc;--zero:#777;--null:#e6e8eb;--nil:#999;"
    "--more:#b34b00;--less:#0a62a8;--flat:#333;--panel:#fff}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,"
    "'Liberation Sans',Arial,sans-serif;font-variant-numeric:tabular-nums}\n"
    "main,header,footer{max-width:64rem;margin:0 auto;padding:0 1.25rem}\n"
    "header{padding-top:2.5rem}\n"
    "h1{font-size:1.5rem;line-height:1.25;font-weight:650;margin:0 0 .5rem;overflow-wrap:anywhere}\n"
    "h2{font-size:1.125rem;font-weight:650;margin:2.75rem 0 .25rem;overflow-wrap:anywhere}\n"
    "h3{font-size:1rem;font-weight:650;margin:1.75rem 0 .25rem}\n"
    "p{max-width:44rem;margin:.35rem 0 .75rem}\n"
    ".lead{font-size:1.125rem}\n"
    ".quiet,p.note{color:var(--quiet);font-weight:400}p.note{font-size:.875rem}\n"
    "a{color:var(--less)}:focus-visible{outline:2px solid var(--less);outline-offset:2px}\n"
    ".skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.25rem "
    ".5rem}\n"
    "nav ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.1rem 1rem;font-size:.875rem}\n"
    ".pictures{display:flex;flex-wrap:wrap;gap:1.5rem 2.5rem;margin:.75rem 0}\n"
    ".pictures svg{flex:0 1 440px;max-width:100%;height:auto}\n"
    "svg text{font-size:13px;fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:3px;"
    "stroke-linejoin:round}\n"
    "svg .title{font-size:13px;fill:var(--quiet)}svg .name{font-weight:650}svg "
    ".quiet{fill:var(--quiet);font-weight:400}\n"
    "svg .tick{font-size:12px;fill:var(--quiet)}svg .fault{fill:var(--more)}\n"
    "svg .grid{stroke:var(--line)}svg .zero{stroke:var(--zero)}svg .null{fill:var(--null)}\n"
    ".word{font-size:.8em;font-weight:650;letter-spacing:.03em}svg .word{font-size:10px}\n"
    ".more{--tone:var(--more)}.less{--tone:var(--less)}.flat,.open{--tone:var(--flat)}.nil{--tone:var(--nil)}\n"
    ".word{color:var(--tone);white-space:nowrap}td.word{white-space:normal}svg .word{fill:var(--tone)}\n"
    "svg .bar{stroke:var(--tone);stroke-width:3;stroke-linecap:round}svg .bar.open{stroke-dasharray:1 6}\n"
    "svg .dot{fill:var(--tone);stroke:var(--paper);stroke-width:1.5}\n"
    "svg .band{fill:var(--tone);opacity:.2}\n"
    "svg .pair{fill:none;stroke:var(--tone);stroke-width:4.5;stroke-linecap:round;opacity:.85}\n"
    "svg .pair.nil{opacity:.6}svg .pair.flagged{stroke-width:3.4}svg .pair.edge{stroke-linecap:square}\n"
    "svg .rail{stroke:var(--line);stroke-width:3}svg .runs{fill:none;stroke:var(--flat);stroke-width:5;"
    "stroke-linecap:round;opacity:.3}svg .median{stroke:var(--ink);stroke-width:2}\n"
    "svg .curve{fill:none;stroke:var(--tone);stroke-width:2;stroke-linejoin:round}\n"
    ".scroll{overflow-x:auto;margin:.75rem 0}\n"
    "table{border-collapse:collapse;font-size:.8125rem;line-height:1.35}\n"
    "th,td{text-align:left;padding:.3rem 1rem .3rem 0;vertical-align:top;border-bottom:1px solid var(--line)}\n"
    "thead th{color:var(--quiet);font-weight:400;vertical-align:bottom}tbody th{font-weight:650}\n"
    ".wide{min-width:13rem}.number{text-align:right;white-space:nowrap}td.fault{color:var(--more)}\n"
    "pre{background:var(--panel);padding:.75rem 1rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;"
    "font-size:.8125rem;line-height:1.45;border-radius:4px}\n"
    "code,pre{font-family:ui-monospace,'Liberation Mono','DejaVu Sans Mono',monospace}td code{font-size:.8125rem}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.25rem;font-size:.875rem;margin:.75rem 0}\n"
    "dt{color:var(--quiet)}dd{margin:0;overflow-wrap:anywhere}footer{padding-top:2rem;padding-bottom:3rem}\n"
    "@media (max-width:34rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}header{padding-top:1.25rem}}\n";

/* After the other, so that it wins. */
const char page_style_print[] =
    "@media print{nav,.skip{display:none}svg,tr{break-inside:avoid}h2,h3{break-after:avoid}body{font-size:10pt}"
    "header,main{padding:0}h2{margin-top:1.5rem}.scroll{overflow:visible}table{font-size:7pt}"
    ".number{white-space:normal}td code{font-size:inherit}.pictures{gap:.75rem 1rem}.pictures svg{flex:0 1 48%}}\n";
