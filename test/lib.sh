# What the scripts of this repository share. To be sourced by bash, with
# `set -euo pipefail` in force.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian 12 and 13, Ubuntu 22.04 and later.
packages=(
  libcaf-dev libfmt-dev libgtest-dev libgmock-dev librapidcheck-dev
  libbenchmark-dev libtomlplusplus-dev libcli11-dev nlohmann-json3-dev
  cmake ninja-build g++ ccache python3 clang-format
)

# Says what happens next.
say() { printf '\n== %s\n' "$*"; }

# Says why it cannot go on, and ends.
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Prints the comment at the top of the calling script, without its marks.
print_help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//;t show;q;:show;p}' "$0"; }

# Installs the packages that are missing, and nothing if there are none.
need_packages() {
  if ! command -v dpkg >/dev/null; then
    echo "No dpkg here: taking it that these are installed: ${packages[*]}"
    return
  fi
  local missing=() p
  for p in "${packages[@]}"; do
    dpkg -s "$p" 2>/dev/null | grep -q '^Status: .* installed$' \
      || missing+=("$p")
  done
  if ((${#missing[@]} == 0)); then
    return
  fi
  say "Installing ${missing[*]}"
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null \
      || die "neither root nor sudo: please install ${missing[*]}"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}

# Where the preset $1 builds.
build_dir_of() {
  if [[ $1 == default ]]; then
    echo "$root/build"
  else
    echo "$root/build-$1"
  fi
}

# Configures the preset $1; further arguments are for CMake. Says little unless
# it fails.
configure() {
  local preset=$1 log
  shift
  say "Configuring $(build_dir_of "$preset")"
  log=$(mktemp)
  if (cd "$root" && cmake --preset "$preset" "$@") >"$log" 2>&1; then
    grep -E '^-- CAF |[Ww]arning' "$log" || true
    rm -f "$log"
  else
    cat "$log" >&2
    rm -f "$log"
    die "CMake failed"
  fi
}

# Builds the preset $1; further arguments are for `cmake --build`.
build() {
  local dir
  dir=$(build_dir_of "$1")
  shift
  say "Building in $dir"
  cmake --build "$dir" --parallel "$(nproc)" "$@"
}
