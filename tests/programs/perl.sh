# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: perl: hashes, sorting, regular expressions, strings that grow, closures, fork.
# Why this way: perl allocates an object for nearly everything it does.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need perl:perl

cat >"$SJ_WORK/job.pl" <<'PL'
use strict; use warnings;
my (%count, @list, $text);
for my $i (1 .. 100000) {
    my $word = join '', map { chr(97 + ($i * $_) % 26) } 1 .. ($i % 12 + 1);
    $count{$word}++;
    push @list, $word if $i % 7 == 0;
    $text .= "$word " if $i % 3 == 0;
}
print scalar(keys %count), " ", length($text), "\n";
my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$_ $count{$_}\n" for @sorted[0 .. 30];
my $changed = () = $text =~ /\b(\w*ab\w*)\b/g;
print "$changed\n";
$text =~ s/(\w+) (\w+)/$2 $1/g;
print substr($text, 1000, 200), "\n";
my @closures = map { my $n = $_; sub { return $n * $_[0] } } 1 .. 20000;
my $sum = 0;
$sum += $_->(3) for @closures;
print "$sum\n";
my @nested = map { { id => $_, inner => [ map { { v => $_ } } 1 .. 10 ] } } 1 .. 5000;
delete $nested[$_] for grep { $_ % 2 } 0 .. $#nested;
print scalar(grep { defined } @nested), "\n";
for (1 .. 10) {
    my $pid = fork();
    if ($pid == 0) { my @x = map { "x" x $_ } 1 .. 2000; exit(@x == 2000 ? 0 : 1); }
    waitpid($pid, 0);
    print "$?\n";
}
PL

perl_job() { PERL_HASH_SEED=0 under "$1" perl "$SJ_WORK/job.pl"; }

same perl perl_job
finish
