# bash completion for prefetchctl; made by prefetchctl completion bash
_prefetchctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local at='' options='' words='' files='' value='' i
  COMPREPLY=()
  # bash takes --output=js apart at the equals sign.
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${COMP_WORDS[i]}" in
    ' list'|' list print'|' completion') at="$at ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
    '') options='--version' words='list completion' ;;
    ' list') options='' words='print' ;;
    ' list print') options='-o --output --list' words='' files=1 ;;
    ' completion') options='' words='bash zsh' ;;
  esac
  case "$at $prev" in
    ' list print -o'|' list print --output') words='yaml json' value=1 ;;
    ' list print --list') words='' files=1 value=1 ;;
  esac
  if [[ -z $value && $cur == -* ]]; then words=$options files=''; fi
  if [[ -n $files ]]; then compopt -o default 2>/dev/null; return; fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _prefetchctl prefetchctl
