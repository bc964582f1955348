# bash completion for eroica. Source it, or put it into /usr/share/bash-completion/completions/eroica.

_eroica() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "analyze summarize export rules policy run agent env status trigger doctor simulate serve token jobs incidents show changes feedback report version --help --version" -- "$cur")
    return
  fi
  case $prev in
    --policy | --against)
      mapfile -t COMPREPLY < <(compgen -W "default eroica" -- "$cur"; compgen -f -- "$cur")
      return ;;
    --rules) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    --format)
      if [ "$command" = simulate ]; then
        mapfile -t COMPREPLY < <(compgen -W "bundle patterns" -- "$cur")
      elif [ "$command" = env ]; then
        mapfile -t COMPREPLY < <(compgen -W "sh plain json" -- "$cur")
      else
        mapfile -t COMPREPLY < <(compgen -W "text json html" -- "$cur")
      fi
      return ;;
    --fault)
      mapfile -t COMPREPLY < <(compgen -W "$(eroica simulate --list-faults 2>/dev/null | awk '{ print $1 }')" -- "$cur")
      return ;;
    --keep | --probe) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    --window | --job | --reason | --listen | --keep-days | --keep-gib | --webhook | --alertmanager | --server | --token | --tenant | --days) return ;;
    --add | --who | --url | --cause | --text) return ;;
    --role) mapfile -t COMPREPLY < <(compgen -W "agent viewer operator admin" -- "$cur"); return ;;
    --store | --token-file | --webhook-secret-file) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    --out) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    --seed | --strength | --ranks | --layout | --steps | --drop-signal | --drop-rank) return ;;
    --method)
      mapfile -t COMPREPLY < <(compgen -W "full eroica largest-total longest-collective" -- "$cur")
      return ;;
    --color) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$cur"); return ;;
    --rank | --rank-from | --step-marker | --function | --top | --jobs | -j | --from | --to) return ;;
    -o | --output)
      if [ "$command" = summarize ]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      fi
      return ;;
  esac
  if [ "$command" = rules ] && [ "$COMP_CWORD" -eq 2 ]; then
    mapfile -t COMPREPLY < <(compgen -W "check list explain --help" -- "$cur")
    return
  fi
  if [ "$command" = policy ] && [ "$COMP_CWORD" -eq 2 ]; then
    mapfile -t COMPREPLY < <(compgen -W "show check replay --help" -- "$cur")
    return
  fi
  if [ "$command" = token ] && [ "$COMP_CWORD" -eq 2 ]; then
    mapfile -t COMPREPLY < <(compgen -W "add list remove --help" -- "$cur")
    return
  fi
  local options="--help --rank-from --jobs --quiet --verbose --output"
  case $command in
    analyze) options="$options --step-marker --format --color --rank --function --top --rules --baseline --method" ;;
    summarize) options="$options --step-marker --pack" ;;
    export) options="$options --perfetto --rank --from --to" ;;
    rules) options="--help --format --rules" ;;
    policy) options="--help --format --policy --against" ;;
    run) options="--help --policy --watch-only --window --json --keep --job --probe --server --token --token-file" ;;
    agent) options="--help --policy --watch-only --window --json --keep --server --token --token-file" ;;
    env) options="--help --job --watch-only --probe --format" ;;
    status) options="--help --format" ;;
    trigger) options="--help --window --reason --wait --format" ;;
    serve) options="--help --listen --store --keep-days --keep-gib --webhook --webhook-secret-file --alertmanager" ;;
    token) options="--help --store --role --tenant --days --format" ;;
    jobs) options="--help --format --server --token --token-file" ;;
    incidents) options="--help --format --job --all --server --token --token-file" ;;
    show) options="--help --format --server --token --token-file" ;;
    changes) options="--help --format --add --who --job --url --against --days --server --token --token-file" ;;
    feedback) options="--help --format --cause --text --server --token --token-file" ;;
    report) options="--help --format --days --csv --server --token --token-file" ;;
    doctor) options="--help --python --format --probe" ;;
    simulate)
      options="--help --seed --fault --strength --ranks --layout --steps --out --format --drop-signal --drop-rank"
      options="$options --with-baseline --list-faults" ;;
    *) options="--help" ;;
  esac
  if [[ $command == status || $command == trigger ]] && [[ $cur != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(eroica status 2>/dev/null | sed -n 's/^\([^ ]*\): .*/\1/p')" -- "$cur")
    return
  fi
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -o filenames -F _eroica eroica
