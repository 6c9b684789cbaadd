# shellcheck shell=bash
# Sourced by scripts whose steps take minutes: what runs, for how long, and how
# far it is.

# "48 s", "3 min 05 s".
duration_text() {
  if (($1 < 60)); then
    printf '%d s' "$1"
  else
    printf '%d min %02d s' $(($1 / 60)) $(($1 % 60))
  fi
}

# The last thing that the log says of how far it is: ninja's [23/170], or what
# apt reports with APT::Status-Fd.
# REQUIRES: the log is there.
progress_of() {
  tail -c 4096 "$1" | tr '\r' '\n' | awk '
    match($0, /^\[[0-9]+\/[0-9]+\]/) {
      split(substr($0, 2, RLENGTH - 2), done, "/")
      at = sprintf("%d of %d files", done[1], done[2])
    }
    /^dlstatus:/ { split($0, of, ":"); at = sprintf("%d %% downloaded", of[3]) }
    /^pmstatus:/ { split($0, of, ":"); at = sprintf("%d %% installed", of[3]) }
    END { print at }'
}

# run_step LABEL LOG COMMAND...: runs the command with its output in LOG and
# shows on stderr how far it is: on a terminal a line that is redrawn each
# second, elsewhere a line each ten seconds. A command that fails ends the
# script, after the last lines of its log.
run_step() {
  local label=$1 log=$2
  shift 2
  local begin=$SECONDS interval=10 terminal='' rc=0 next child line
  if [[ -t 2 && "${TERM:-dumb}" != dumb ]]; then
    terminal=1 interval=1
  fi
  mkdir -p "$(dirname "$log")"
  # It is there before anybody looks: on a busy machine the first look is
  # sooner than the command. And it says nothing of an earlier run.
  : >"$log"
  # In a process group of its own, so that nothing of it outlives the script.
  set -m
  "$@" >>"$log" 2>&1 </dev/null &
  child=$!
  set +m
  trap 'kill -- "-$child" 2>/dev/null; exit 130' INT TERM HUP
  [[ -n "$terminal" ]] || echo "$label" >&2
  next=$interval
  while kill -0 "$child" 2>/dev/null; do
    if [[ -n "$terminal" ]] || ((SECONDS - begin >= next)); then
      next=$((next + interval))
      line="$label: $(duration_text $((SECONDS - begin)))  $(progress_of "$log")"
      if [[ -n "$terminal" ]]; then
        printf '\r\033[K%.*s' "$(($(tput cols 2>/dev/null || echo 80) - 1))" "$line" >&2
      else
        echo "$line" >&2
      fi
    fi
    sleep 0.5
  done
  wait "$child" || rc=$?
  trap - INT TERM HUP
  [[ -z "$terminal" ]] || printf '\r\033[K' >&2
  line=$(duration_text $((SECONDS - begin)))
  if ((rc != 0)); then
    grep -vE '^(dl|pm)status:' "$log" | tail -n 20 >&2 || true
    echo "paceline: \"$label\" failed after $line; the whole output is in $log" >&2
    exit "$rc"
  fi
  echo "$label: done in $line" >&2
}
