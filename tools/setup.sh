# Sourced by ./demo, ./test and .ci/run: installs Debian packages, configures and builds. Not meant to be run.
# Everything is done once: what is installed or up to date is left alone.
set -euo pipefail
caller=$PWD  # what relative paths of arguments are relative to
export LC_ALL=C.UTF-8
cd "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
mkdir -p build

say() { printf '%s\n' "==> $*"; }
die() { printf '%s\n' "$(basename "$0"): $*" >&2; exit 1; }

# Runs a command as root: directly, or by sudo.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# install_packages GROUP...: installs what is missing of those groups of tools/packages.txt.
install_packages() {
  command -v dpkg-query >/dev/null ||
    die "this script installs Debian packages; elsewhere install the like of tools/packages.txt and use cmake --preset release"
  local wanted group missing
  wanted=$(for group in "$@"; do awk -v g="$group" '$1 == g {print $2}' tools/packages.txt; done)
  # shellcheck disable=SC2086
  missing=$(comm -23 <(sort <<<"$wanted") \
    <(dpkg-query -W -f='${Package} ${db:Status-Status}\n' $wanted 2>/dev/null | awk '$2 == "installed" {print $1}' | sort) |
    tr '\n' ' ')
  missing=${missing% }
  if [ -z "$missing" ]; then say "packages: nothing to install"; return; fi
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
    die "these packages are missing, and installing them needs root or sudo: $missing"
  say "packages: installing from Debian: $missing"
  local log=build/packages.log options=(-o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=120)
  # shellcheck disable=SC2086
  if ! { as_root apt-get "${options[@]}" update &&
         as_root env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y --no-install-recommends $missing
       } >"$log" 2>&1 </dev/null; then
    die "could not install the packages above: is there a network? (apt-get said: $(grep -m1 '^E:' "$log" || tail -n1 "$log"); all of it: $log)"
  fi
}

# build_preset PRESET TARGET...: configures if needed and builds, with ninja's own progress line.
build_preset() {
  local preset=$1 cache=build/$1/CMakeCache.txt start=$SECONDS; shift
  # A build folder that was configured at another path (a moved or copied clone) cannot be used.
  if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then rm -rf "build/$preset"; fi
  if [ ! -f "build/$preset/build.ninja" ]; then
    say "build: configuring build/$preset"
    cmake --preset "$preset" >"build/configure-$preset.log" 2>&1 ||
      { grep -A3 '^CMake Error' "build/configure-$preset.log" >&2 || true; die "configuring failed; all of it: build/configure-$preset.log"; }
  fi
  say "build: $preset ($*), $(nproc) jobs"
  NINJA_STATUS='[%f/%t %es] ' ninja -C "build/$preset" -j "$(nproc)" "$@"
  say "build: done in $((SECONDS - start)) s"
}
