#!/usr/bin/env bash
# Makes written Korean text of Debian's Korean help packages: unpacks them (nothing is installed) and strips the HTML.
#   tools/fetch_korean_help.sh CACHE-FOLDER > text.txt
# Fails, with what apt-get said on standard error, when the packages are neither in the cache nor to be downloaded.
set -euo pipefail
tools=$(dirname "$(readlink -f "$0")")
packages=(libreoffice-help-ko debian-faq-ko)
mkdir -p "$1"; cd "$1"

download() { apt-get -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=20 download "${packages[@]}"; }
have_all() { local p; for p in "${packages[@]}"; do compgen -G "${p}_*.deb" >/dev/null || return 1; done; }

# Package lists may be missing (containers drop them): only then are they fetched, which needs root.
if ! have_all && ! download >download.log 2>&1; then
  { [ "$(id -u)" = 0 ] && apt-get update && download; } >>download.log 2>&1 || { tail -n1 download.log >&2; exit 1; }
fi
rm -rf unpacked
for deb in *.deb; do dpkg-deb -x "$deb" unpacked; done
perl "$tools/html_to_text.pl" unpacked
