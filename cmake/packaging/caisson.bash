# Completion of the command caisson for bash. It asks the command itself for its
# subcommands and options, so it has those of the version that is installed.

# Prints the first words of the lines below the heading $1 of a help text; several
# names of one thing are parted.
_caisson_names() {
  awk -v heading="$1:" '
    /^[^ ]/ { within = $0 == heading }
    within && /^  [^ ]/ {
      gsub(/, */, ",")
      count = split($1, names, ",")
      for (i = 1; i <= count; i++) print names[i]
    }'
}

_caisson() {
  local command=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]}
  local previous=${COMP_WORDS[COMP_CWORD - 1]} words=() i help names
  COMPREPLY=()
  # The subcommands so far, two of them at most: `caisson ctl show`.
  help=$("$command" --help 2>/dev/null) || return 0
  for ((i = 1; i < COMP_CWORD; i++)); do
    names=$(_caisson_names Subcommands <<<"$help")
    if grep -qxF -e "${COMP_WORDS[i]}" <<<"$names"; then
      words+=("${COMP_WORDS[i]}")
      help=$("$command" "${words[@]}" --help 2>/dev/null) || return 0
    fi
  done
  if [[ $current == -* ]]; then
    names=$(_caisson_names Options <<<"$help")
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$current")
    return 0
  fi
  names=$(_caisson_names Subcommands <<<"$help")
  if [[ -n $names && $previous != --* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$current")
    return 0
  fi
  # Files and the values of options: what is in the directory.
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

complete -F _caisson caisson
