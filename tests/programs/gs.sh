# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: Ghostscript makes a PDF from PostScript, and renders it to pixels.
# Why this way: an interpreter with allocators of its own on top of ours, and large blocks that come and go.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need gs:ghostscript

cat >"$SJ_WORK/job.ps" <<'PS'
%!PS
/Helvetica findfont 9 scalefont setfont
1 1 6 { /page exch def
  0 5 700 { /y exch def
    20 y moveto (page ) show page 10 string cvs show ( line ) show y 10 string cvs show
    ( the quick brown fox jumps over the lazy dog) show
    gsave y 700 div page 6 div 0.4 setrgbcolor 300 y translate y rotate 0 0 120 12 rectfill grestore
    newpath 450 y 30 0 y 360 mod arc stroke
  } for showpage } for
PS

gs_job()
{
    under "$1" gs -q -dSAFER -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -sOutputFile=job.pdf "$SJ_WORK/job.ps" || return
    under "$1" gs -q -dSAFER -dBATCH -dNOPAUSE -r150 -sDEVICE=ppmraw -sOutputFile=page%d.ppm job.pdf || return
    cat page*.ppm | digest
    under "$1" gs -q -dSAFER -dBATCH -dNOPAUSE -r80 -dNumRenderingThreads=2 -sDEVICE=png16m -sOutputFile=page%d.png job.pdf || return
    cat page*.png | digest
}

same gs gs_job
finish
