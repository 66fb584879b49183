#!/usr/bin/perl
# Prints the Korean sentences of HTML files as training text: one sentence a line, an empty line between files.
#   tools/html_to_text.pl FOLDER > text.txt
# Block elements end a paragraph; navigation, scripts and code samples are dropped. A paragraph that was printed before
# (menus and help pages repeat themselves) or that is less than half Hangul (not translated) is left out.
# Needs perl-base only, which every Debian has. It is no HTML parser: it is meant for machine-made help pages.
use strict;
use warnings;
binmode(STDOUT, ':utf8');

my %entity = (amp => '&', lt => '<', gt => '>', quot => '"', apos => "'", nbsp => ' ', middot => "\x{B7}",
              ndash => "\x{2013}", mdash => "\x{2014}", hellip => "\x{2026}", times => "\x{D7}");

sub files_below {
  my ($folder) = @_;
  opendir(my $handle, $folder) or die "cannot open folder $folder: $!\n";
  my @names = sort grep { !/^\./ } readdir $handle;
  closedir $handle;
  return map { -d "$folder/$_" ? files_below("$folder/$_") : "$folder/$_" } @names;
}

sub paragraphs_of {
  my ($html) = @_;
  $html =~ s/.*?<body[^>]*>//s;
  $html =~ s/<!--.*?-->//gs;
  $html =~ s{<(script|style|header|footer|aside|nav|noscript|pre)\b[^>]*>.*?</\1>}{ }gsi;
  $html =~ s{</?(?:p|h[1-6]|li|ul|ol|dl|dt|dd|div|table|tr|td|th|br|hr|caption|blockquote|section)\b[^>]*>}{\x00}gi;
  $html =~ s/<[^>]*>//gs;
  $html =~ s/&#x([0-9a-fA-F]+);/chr hex $1/ge;
  $html =~ s/&#([0-9]+);/chr $1/ge;
  $html =~ s/&(\w+);/exists $entity{$1} ? $entity{$1} : " "/ge;
  return split /\x00/, $html;
}

sub is_korean {
  my ($text) = @_;
  my $hangul = () = $text =~ /\p{Hangul}/g;
  my $letters = () = $text =~ /\p{L}/g;
  return $hangul >= 4 && 2 * $hangul >= $letters;
}

my %seen;
for my $file (grep { /\.html?$/ } map { files_below($_) } @ARGV) {
  open(my $handle, '<', $file) or die "cannot read $file: $!\n";
  my $html = do { local $/; <$handle> };
  close $handle;
  utf8::decode($html) or die "$file is not UTF-8\n";
  my $printed = 0;
  for my $paragraph (paragraphs_of($html)) {
    $paragraph =~ s/\s+/ /g;
    $paragraph =~ s/^ | $//g;
    next if !is_korean($paragraph) || $seen{$paragraph}++;
    # A sentence ends with a full stop, question or exclamation mark after a Hangul syllable, before a space.
    print "$_\n" for split /(?<=\p{Hangul}[.?!]) +/, $paragraph;
    $printed = 1;
  }
  print "\n" if $printed;
}
