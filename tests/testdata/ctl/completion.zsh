#compdef prefetchctl
# zsh completion for prefetchctl; made by prefetchctl completion zsh
_prefetchctl() {
  local cur=${words[CURRENT]} prev=${words[CURRENT-1]} at='' files='' value='' i
  local -a options words_here
  if [[ $cur == --*=* ]]; then prev=${cur%%=*}; compset -P '*='; cur=''; fi
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${words[i]}" in
    (' list'|' list print'|' completion') at="$at ${words[i]}" ;;
    esac
  done
  case "$at" in
    '')
      options=(
        '--version:its version')
      words_here=(
        'list:lists'
        'completion:this') ;;
    ' list')
      options=()
      words_here=(
        'print:prints one [canonical]\: it'\''s "good"') ;;
    ' list print')
      options=(
        '-o:a form\: '\''yaml'\'''
        '--output:a form\: '\''yaml'\'''
        '--list:a file')
      words_here=()
      files=1 ;;
    ' completion')
      options=()
      words_here=(
        'bash'
        'zsh') ;;
  esac
  case "$at $prev" in
    ' list print -o'|' list print --output') words_here=('yaml' 'json' ) value=1 ;;
    ' list print --list') words_here=() files=1 value=1 ;;
  esac
  if [[ -z $value && $cur == -* ]]; then _describe option options; return; fi
  if [[ -n $files ]]; then _files; return; fi
  _describe word words_here
}
# Sourced, or run by the completion system as a function of this name.
if [[ $funcstack[1] == _prefetchctl ]]; then _prefetchctl; else compdef _prefetchctl prefetchctl; fi
