# Functions and variables that the scripts of this repository share. To be
# sourced by bash, with `set -euo pipefail` in force.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian 12 and 13, Ubuntu 22.04 and later.
packages=(
  libcaf-dev libfmt-dev libgtest-dev libgmock-dev librapidcheck-dev
  libbenchmark-dev libtomlplusplus-dev libcli11-dev nlohmann-json3-dev
  prometheus-cpp-dev libcpp-httplib-dev libcurl4-openssl-dev libssl-dev pkg-config
  libasio-dev libjs-dygraphs
  cmake ninja-build g++ clang ccache python3 clang-format openssl
)

sanitizer_packages=(libclang-rt-dev)

# CI has a new clone each time: what was compiled in another one is the same.
if [[ -n ${CI-} ]]; then
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
fi

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
  # Hundreds of lines say nothing but that all is well; errors are shown.
  "${as_root[@]}" apt-get -qq update >/dev/null
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install --no-install-recommends "${missing[@]}" >/dev/null
}

# The CAF to build with: its version, and what shows CMake where it is. Empty:
# the one that CMake finds by itself. Set by use_caf.
caf_version=
caf_args=()

# From here on, builds with the CAF that is installed in $1, in directories of
# its own. Ends, naming what is missing, if $1 does not hold a whole one.
use_caf() {
  local dir core io openssl config number missing=()
  dir=$(cd "$1" 2>/dev/null && pwd) || die "$1 is not a directory"
  # The file $1 in `lib`, `lib64` or `lib/<machine>`.
  installed() { compgen -G "$dir/lib*/$1" || compgen -G "$dir/lib/*/$1"; }
  # What the lines of the header $1 that match $2 say at its parentheses.
  defined() { sed -nE "s/^#define $2\$/\1/p" "$dir/include/caf/$1" 2>/dev/null; }
  for file in include/caf/all.hpp include/caf/io/all.hpp; do
    [[ -f $dir/$file ]] || missing+=("$file")
  done
  core=$(installed libcaf_core.so || installed libcaf_core.a) \
    || missing+=(lib/libcaf_core)
  io=$(installed libcaf_io.so || installed libcaf_io.a) \
    || missing+=(lib/libcaf_io)
  # 1.x says what it is in one header, 0.17, which has no package for CMake, in
  # another.
  if caf_version=$(defined detail/build_config.hpp 'CAF_VERSION_STR "(.*)"') \
    && [[ -n $caf_version ]]; then
    config=$(installed cmake/CAF/CAFConfig.cmake) \
      || missing+=(lib/cmake/CAF/CAFConfig.cmake)
    caf_args=(-DCMAKE_DISABLE_FIND_PACKAGE_CAF=OFF -DCAF_DIR="${config%/*}")
  elif number=$(defined config.hpp 'CAF_VERSION ([0-9]+)') \
    && [[ -n $number ]]; then
    caf_version=0.$((number / 100)).$((number % 100))
    openssl=$(installed libcaf_openssl.so || installed libcaf_openssl.a) || true
    caf_args=(-DCMAKE_DISABLE_FIND_PACKAGE_CAF=ON
      -DCAF_INCLUDE_DIR="$dir/include" -DCAF_CORE_LIBRARY="$core"
      -DCAF_IO_LIBRARY="$io" -DCAF_OPENSSL_LIBRARY="$openssl")
  else
    missing+=("a header that says the version")
  fi
  if ((${#missing[@]} > 0)); then
    missing=$(printf ', %s' "${missing[@]}")
    die "no whole CAF is installed in $dir, it lacks: ${missing:2}"
  fi
  mapfile -t packages < <(printf '%s\n' "${packages[@]}" | grep -v '^libcaf')
}

# What the names of build directories end with for another compiler.
compiler_suffix=

# Where the preset $1 builds.
build_dir_of() {
  local dir=$root/build
  [[ -z $caf_version ]] || dir+=-caf-$caf_version
  [[ $1 == default ]] || dir+=-$1
  echo "$dir$compiler_suffix"
}

# From here on, builds with the compiler of the system, by which Debian's CAF and
# the tables of the docs are made: where it builds anyway if nothing has been built
# there, or by it, else in a directory beside that.
use_system_compiler() {
  local cache
  cache=$(build_dir_of default)/CMakeCache.txt
  export CXX=c++
  if [[ -f $cache ]] && ! grep -q '^CMAKE_CXX_COMPILER:.*/c++$' "$cache"; then
    compiler_suffix=-system
  fi
}

# Configures the preset $1; further arguments are for CMake. Says little unless
# it fails.
configure() {
  local preset=$1 dir log
  dir=$(build_dir_of "$preset")
  shift
  say "Configuring $dir"
  # It takes half the time of GCC for the tests. A directory keeps the compiler
  # that it has been configured with.
  if [[ -z ${CXX-} ]] && command -v clang++ >/dev/null; then
    export CXX=clang++
  fi
  log=$(mktemp)
  if ! (cd "$root" \
    && cmake --preset "$preset" -B "$dir" "${caf_args[@]}" "$@") >"$log" 2>&1
  then
    cat "$log" >&2
    rm -f "$log"
    die "CMake failed"
  fi
  grep -E '^-- CAF |[Ww]arning' "$log" || true
  # A package that CMake cannot use makes it look elsewhere.
  [[ -z $caf_version ]] || grep -q "^-- CAF $caf_version " "$log" \
    || die "CMake did not take CAF $caf_version; see $log"
  rm -f "$log"
}

# Builds the preset $1; further arguments are for `cmake --build`.
build() {
  local dir
  dir=$(build_dir_of "$1")
  shift
  say "Building in $dir"
  cmake --build "$dir" --parallel "$(nproc)" "$@"
}

# Prints how many tests passed and failed in the last run of ctest in the build
# directory $1. A part of a test program counts as the tests in it.
count_tests() {
  awk '
    /^[0-9]+\/[0-9]+ Testing: /    { good = bad = parts = 0 }
    /^\[  PASSED  \] [0-9]+ test/  { good += $4; parts = 1 }
    /^\[  FAILED  \] [0-9]+ test/  { bad += $4 }
    /^Test Passed\./               { passed += parts ? good : 1 }
    /^Test Failed\./               { passed += good; failed += bad ? bad : 1 }
    END                            { print passed + 0, failed + 0 }
  ' "$1/Testing/Temporary/LastTest.log"
}
