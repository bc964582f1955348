#!/usr/bin/env bash
# Installs what the project needs on Debian 12, and only what is missing.
#   tools/setup.sh [build] [test] [torch] [demo] [megatron] [browser]      (default: build test)
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

say() { echo "setup: $*"; }
die() { say "$*" >&2; exit 1; }

build_packages=(g++ cmake ninja-build ccache git python3 python3-venv ca-certificates
  libsimdjson-dev nlohmann-json3-dev libisal-dev libzstd-dev zlib1g-dev libcli11-dev libspdlog-dev
  libfmt-dev libtomlplusplus-dev libre2-dev protobuf-compiler libprotobuf-dev libboost1.81-dev libxxhash-dev
  libsqlite3-dev libssl-dev libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev)
test_packages=(clang-16 clang-format-16 clang-tidy-16 libclang-rt-16-dev llvm-16 zstd iproute2)
browser_packages=(chromium)

parts=("$@")
[ $# -gt 0 ] || parts=(build test)
wants() { [[ " ${parts[*]} " == *" $1 "* ]]; }

packages=()
for part in "${parts[@]}"; do
  case $part in
    build) packages+=("${build_packages[@]}") ;;
    test) packages+=("${test_packages[@]}") ;;
    browser) packages+=("${browser_packages[@]}") ;;
    torch|demo|megatron) ;;
    *) die "unknown part '$part' (build, test, torch, demo, megatron, browser)" ;;
  esac
done

# The report's page needs node 18 and npm, from wherever they come.
node_is_fine() {
  command -v npm >/dev/null && command -v node >/dev/null &&
    [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ]
}

install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: these packages, or what your system calls them, must be there:"
    say "  ${packages[*]} nodejs npm"
    return
  fi
  missing=$({ dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${packages[@]}" 2>/dev/null || true; } |
    awk '$1 == "ii" { print $2 }' | sort -u |
    comm -13 - <(printf '%s\n' "${packages[@]}" | sort -u) | xargs)
  if wants build && ! node_is_fine; then missing="$missing nodejs npm"; fi
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    die "packages are missing. As root: apt-get install --no-install-recommends $missing"
  fi
  say "installing $missing"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086  # a list of words
  { apt-get -qq update && apt-get -qq -y install --no-install-recommends $missing; } \
    >build/setup.log 2>&1 </dev/null || { tail -n 20 build/setup.log >&2; die "apt-get failed"; }
}

# make_venv FOLDER REQUIREMENTS [pip option...]: done once for each content of REQUIREMENTS.
make_venv() {
  local folder=$1 requirements=$2
  shift 2
  cmp -s "$requirements" "$folder/installed.txt" && return
  say "creating $folder ($(grep -v '^#' "$requirements" | xargs))"
  rm -rf "$folder"
  { python3 -m venv "$folder" &&
    "$folder/bin/python3" -m pip install -q --disable-pip-version-check "$@" -r "$requirements"; } \
    >build/setup.log 2>&1 </dev/null || { tail -n 20 build/setup.log >&2; die "pip failed"; }
  cp "$requirements" "$folder/installed.txt"
}

install_torch() {
  local requirements=tools/requirements-torch.txt folder=build/venv-torch
  cmp -s $requirements $folder/installed.txt && return
  # PyTorch's own index has a build without GPU libraries, ten times smaller; PyPI works as well.
  local cpu=https://download.pytorch.org/whl/cpu options=()
  if python3 -c "import urllib.request as u; u.urlopen('$cpu/', timeout=5)" 2>/dev/null; then
    options=(--extra-index-url "$cpu")
  fi
  make_venv $folder $requirements "${options[@]}"
}

# Without what it depends on: PyTorch is there, and the rest is for GPUs.
install_megatron() {
  local requirements=tools/requirements-megatron.txt folder=build/megatron
  cmp -s $requirements $folder/installed.txt && return
  say "installing $(grep -v '^#' $requirements | xargs)"
  rm -rf $folder
  build/venv-torch/bin/python3 -m pip install -q --disable-pip-version-check --no-deps --target $folder -r $requirements \
    >build/setup.log 2>&1 </dev/null || { tail -n 20 build/setup.log >&2; die "pip failed"; }
  cp $requirements $folder/installed.txt
}

has_torch() { python3 -c 'import torch.distributed, torch.profiler' 2>/dev/null; }

mkdir -p build
exec 9>build/setup.lock
flock 9
install_packages
if wants test; then make_venv build/venv tools/requirements.txt; fi
# The demo trains with the torch of python3 where it has one; tests with the one they were written for.
if wants torch || { wants demo && ! has_torch; }; then install_torch; fi
if wants megatron; then install_megatron; fi
