# SPDX-License-Identifier: MIT
# Hashes, regular expressions and strings; prints sums that depend on nothing but this file.

use strict;
use warnings;
use integer;

my $state = 1;

sub below {
    my ($limit) = @_;
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
    return ($state >> 16) % $limit;
}

sub words {
    my %counts;
    for (1 .. 60000) {
        my $word = join '', map { chr(97 + below(5)) } 1 .. 3 + below(5);
        $counts{$word}++;
    }
    my $text = join ' ', map { "$_=$counts{$_}" } sort keys %counts;
    (my $swapped = $text) =~ s/([a-e]+)=(\d+)/$2<$1>/g;
    return scalar(keys %counts) . ' ' . length $swapped;
}

sub records {
    my @records;
    for my $i (1 .. 60000) {
        push @records, { id => $i, name => 'n' . below(5000), list => [map { below(100) } 1 .. 4] };
    }
    my %groups;
    push @{ $groups{ $_->{name} } }, $_ for @records;
    my $sum = 0;
    for my $name (sort keys %groups) {
        $sum += $_->{list}[0] * $_->{id} for @{ $groups{$name} };
    }
    return $sum;
}

sub lines {
    my $text = join "\n", map { sprintf '%05d,%s,%d', $_, 'x' x below(40), below(1000) } 1 .. 80000;
    my ($sum, $bytes) = (0, 0);
    for my $line (split /\n/, $text) {
        my ($id, $fill, $value) = split /,/, $line;
        $sum += $id * $value;
        $bytes += length $fill;
    }
    return "$sum $bytes";
}

print 'words ', words(), "\n";
print 'records ', records(), "\n";
print 'lines ', lines(), "\n";
