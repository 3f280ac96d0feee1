# What the scripts share. Sourced.
# shellcheck disable=SC2034

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
log_dir="$root/build/logs"
log_file="$log_dir/$(basename "$0").log"
mkdir -p "$log_dir"
: >"$log_file"

# Clones in other folders share what ccache knows.
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1

say() { printf '%s: %s\n' "$(basename "$0")" "$*"; }

# logged COMMAND...: runs it with its output in the log; shows the end of the log when it fails.
logged() {
  local status=0 from
  from=$(wc -l <"$log_file")
  printf '$ %s\n' "$*" >>"$log_file"
  "$@" >>"$log_file" 2>&1 || status=$?
  if ((status != 0)); then
    say "failed: $*"
    tail -n +"$((from + 1))" "$log_file" | tail -n 60 >&2
    say "the whole log is in $log_file"
  fi
  return "$status"
}

# build PRESET FOLDER [-DNAME=VALUE...] -- TARGET...
build() {
  local preset="$1" folder="$root/$2" options=()
  shift 2
  while [[ "$1" != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  logged cmake -S "$root" --preset "$preset" "${options[@]}" &&
    logged cmake --build "$folder" --parallel "${HOTEL_JOBS:-$(nproc)}" --target "$@"
}
