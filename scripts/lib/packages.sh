# The Debian packages the project is built, run and tested with: the one list, for every script.
# Sourced, after common.sh.

packages=(
  # tools
  build-essential ccache cmake ninja-build pkg-config python3 curl ca-certificates
  # the library
  libabsl-dev libargon2-dev libcurl4-openssl-dev libfmt-dev libsimdjson-dev libsqlite3-dev libssl-dev
  libyaml-cpp-dev zlib1g-dev
  # the sidecar
  libcli11-dev libcpp-httplib-dev libspdlog-dev nlohmann-json3-dev
  prometheus-cpp-dev
  # the tests
  catch2
)
# Only the benchmarks need these.
bench_packages=(nginx-light libbenchmark-dev)
# Only the tests of the official clients need these; a Node from elsewhere will do as well.
node_packages=(nodejs npm)
venv_packages=(python3-venv)

has_node() {
  command -v npm >/dev/null && [[ "$(node --version 2>/dev/null)" =~ ^v([0-9]+) ]] &&
    ((BASH_REMATCH[1] >= 18))
}

has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

# install_packages [with-node] [with-bench]: installs what is missing; asks nothing.
install_packages() {
  local missing=() package wanted=("${packages[@]}")
  if [[ " $* " == *" with-node "* ]] && ! has_node; then wanted+=("${node_packages[@]}"); fi
  if [[ " $* " == *" with-node "* ]] && ! has_venv; then wanted+=("${venv_packages[@]}"); fi
  if [[ " $* " == *" with-bench "* ]]; then wanted+=("${bench_packages[@]}"); fi
  for package in "${wanted[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
      missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return; fi
  local sudo=()
  if ((EUID != 0)); then sudo=(sudo); fi
  say "installing ${missing[*]}"
  logged "${sudo[@]}" apt-get update
  logged "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}
