# Bash completion of headlight: commands, and the options in a command's --help.
_headlight() {
  local word=${COMP_WORDS[COMP_CWORD]} candidates
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    candidates=$("${COMP_WORDS[0]}" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
    candidates+=" --help --version"
  elif [[ $word == -* ]]; then
    candidates=$("${COMP_WORDS[@]:0:2}" --help 2>/dev/null | grep -o -- '^ *--[a-z][a-z_0-9]*')
  else
    return  # completes file names, by the rule below
  fi
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$word")
}
complete -o default -F _headlight headlight
