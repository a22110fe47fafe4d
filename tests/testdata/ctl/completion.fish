# fish completion for prefetchctl; made by prefetchctl completion fish
function __prefetchctl_is --description 'The command line has this command so far'
  set -l at ''
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ' list' ' list print' ' completion'
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c prefetchctl -f
complete -c prefetchctl -n '__prefetchctl_is \'\'' -l version -d 'its version'
complete -c prefetchctl -n '__prefetchctl_is \'\'' -a 'list' -d 'lists'
complete -c prefetchctl -n '__prefetchctl_is \'\'' -a 'completion' -d 'this'
complete -c prefetchctl -n '__prefetchctl_is \' list\'' -a 'print' -d 'prints one [canonical]: it\'s "good"'
complete -c prefetchctl -n '__prefetchctl_is \' list print\'' -s o -l output -xa 'yaml json' -d 'a form: \'yaml\''
complete -c prefetchctl -n '__prefetchctl_is \' list print\'' -l list -rF -d 'a file'
complete -c prefetchctl -n '__prefetchctl_is \' list print\'' -F
complete -c prefetchctl -n '__prefetchctl_is \' completion\'' -a 'bash zsh'
