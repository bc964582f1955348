#compdef eroica
# zsh completion for eroica. Put it as _eroica into a folder of $fpath.

_eroica() {
  local -a commands input
  commands=(
    'analyze:show where the time goes'
    'summarize:reduce each trace to a small pattern file'
    'export:write a merged trace for a trace viewer'
    'rules:check, list and explain the rules that name causes'
    'policy:show, check and try the policy of live jobs'
    'run:run a training job and say why it is slow or stuck'
    'agent:watch all jobs of a host that were started with eroica env'
    'env:print the environment of a job that eroica agent is to watch'
    'status:say how the live jobs on this host stand'
    'trigger:profile a live job now'
    'serve:keep the incidents of many hosts and answer over HTTP'
    'token:say who may ask eroica serve'
    'jobs:list the jobs that a server knows'
    'incidents:list the incidents that a server knows'
    'show:all that a server knows about an incident'
    'changes:list changes, or tell a server of one'
    'feedback:say whether a diagnosis was right'
    'report:what happened over a period'
    'doctor:say what works here and what not'
    'simulate:write a bundle of a synthetic job'
    'version:print the version'
  )
  input=(
    '(-h --help)'{-h,--help}'[say how it is used]'
    '--rank-from[read the rank off the path]:regular expression'
    '(-j --jobs)'{-j,--jobs}'[most traces in memory at once]:number'
    '(-q --quiet -v --verbose)'{-q,--quiet}'[errors only on stderr]'
    '(-q --quiet -v --verbose)'{-v,--verbose}'[say what is done]'
    '*:trace, folder or pattern file:_files'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _values option --help --version
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
    analyze)
      _arguments $input \
        '--step-marker[annotation or function that begins each step]:name' \
        '--format[form of the report]:format:(text json html)' \
        '(-o --output)'{-o,--output}'[write to this file]:file:_files' \
        '--color[colours]:when:(auto always never)' \
        '*--rank[only this rank]:rank' \
        '--function[all about one function]:name' \
        '--top[list this many functions]:number' \
        '*--rules[also the rules of this folder]:folder:_files' \
        '--baseline[an earlier, healthy window to compare with]:folder or file:_files' \
        '--method[how to conclude]:method:(full eroica largest-total longest-collective)'
      ;;
    rules)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '1:verb:(check list explain)' \
        '--format[form of the answer]:format:(text json)' \
        '*--rules[also the rules of this folder]:folder:_files' \
        '*:rule file or cause:_files'
      ;;
    policy)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '1:verb:(show check replay)' \
        '--policy[policy to try]:policy:_files' \
        '--against[policy to compare with]:policy:_files' \
        '--format[form of the answer]:format:(text json)' \
        '*:policy or step records:_files'
      ;;
    run)
      _arguments \
        '--server[the server]:address' \
        '--token[the token that it knows]:token' \
        '--token-file[the file that the token stands in]:file:_files' \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--policy[when to speak up and to profile]:policy:_files' \
        '--watch-only[never profile]' \
        '--window[profile for so long]:time' \
        '--json[append each diagnosis to this file]:file:_files' \
        '--keep[keep windows in this folder]:folder:_files -/' \
        '--job[id of the job]:id' \
        '--probe[folder of the probe]:folder:_files -/' \
        '*::command:_normal'
      ;;
    agent)
      _arguments \
        '--server[the server]:address' \
        '--token[the token that it knows]:token' \
        '--token-file[the file that the token stands in]:file:_files' \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--policy[when to speak up and to profile]:policy:_files' \
        '--watch-only[never profile]' \
        '--window[profile for so long]:time' \
        '--json[append each diagnosis to this file]:file:_files' \
        '--keep[keep windows in folders of this one]:folder:_files -/'
      ;;
    env)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--job[id of the job]:id' \
        '--watch-only[never profile]' \
        '--probe[folder of the probe]:folder:_files -/' \
        '--format[form of the variables]:format:(sh plain json)'
      ;;
    status)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--format[form of the answer]:format:(text json)' \
        '1:job'
      ;;
    trigger)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--window[profile for so long]:time' \
        '--reason[why]:text' \
        '--wait[print what was found]' \
        '--format[form of the answer]:format:(text json)' \
        '1:job'
      ;;
    serve)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--listen[where to listen]:address' \
        '--store[the file that all is kept in]:file:_files' \
        '--keep-days[forget what is older]:number' \
        '--keep-gib[forget the oldest beyond this size]:number' \
        '*--webhook[send what happens there]:address' \
        '--webhook-secret-file[sign with what stands in this file]:file:_files' \
        '--alertmanager[keep this one told]:address'
      ;;
    token)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--store[the file of the server]:file:_files' \
        '--role[what it allows]:role:(agent viewer operator admin)' \
        '--tenant[whose jobs it sees]:name' \
        '--days[how long it holds]:number' \
        '--format[form of the answer]:format:(text json)' \
        '1:what to do:(add list remove)' \
        '*:name'
      ;;
    jobs)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--format[form of the answer]:format:(text json)' \
        '--server[the server]:address' \
        '--token[the token that it knows]:token' \
        '--token-file[the file that the token stands in]:file:_files'
      ;;
    incidents)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--format[form of the answer]:format:(text json)' \
        '--job[of this one only]:job' \
        '--all[closed ones too]' \
        '--server[the server]:address' \
        '--token[the token that it knows]:token' \
        '--token-file[the file that the token stands in]:file:_files'
      ;;
    show)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--format[form of the answer]:format:(text json)' \
        '1:incident' \
        '--server[the server]:address' \
        '--token[the token that it knows]:token' \
        '--token-file[the file that the token stands in]:file:_files'
      ;;
    changes)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--format[form of the answer]:format:(text json)' \
        '--add[what was changed]:text' \
        '--who[who changed it]:name' \
        '--job[that it concerns]:job' \
        '--url[of a ticket or a commit]:address' \
        '--against[an incident]:incident' \
        '--days[how far back]:number' \
        '--server[the server]:address' \
        '--token[the token that it knows]:token' \
        '--token-file[the file that the token stands in]:file:_files'
      ;;
    feedback)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--format[form of the answer]:format:(text json)' \
        '--cause[what it was]:cause' \
        '--text[for people]:text' \
        '1:incident' \
        '2:verdict:(right wrong other-cause)' \
        '--server[the server]:address' \
        '--token[the token that it knows]:token' \
        '--token-file[the file that the token stands in]:file:_files'
      ;;
    report)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--format[form of the answer]:format:(text json)' \
        '--days[how far back]:number' \
        '--csv[as a table]' \
        '--server[the server]:address' \
        '--token[the token that it knows]:token' \
        '--token-file[the file that the token stands in]:file:_files'
      ;;
    doctor)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--python[the Python of the jobs]:program:_files' \
        '--probe[folder of the probe]:folder:_files -/' \
        '--format[form of the answer]:format:(text json)'
      ;;
    simulate)
      _arguments \
        '(-h --help)'{-h,--help}'[say how it is used]' \
        '--list-faults[say which faults there are]' \
        '--seed[draws everything that is not given]:number' \
        '*--fault[a fault of the job]:fault' \
        '--strength[of faults that name none]:0 to 1' \
        '(--layout)--ranks[ranks of the job]:number' \
        '(--ranks)--layout[layout of the job]:dp=2,tp=2,pp=2,ep=1' \
        '--steps[steps in the window]:number' \
        '--out[folder to write into]:folder:_files -/' \
        '--format[what is written]:format:(bundle patterns)' \
        '*--drop-signal[leave out these metrics]:glob' \
        '*--drop-rank[this rank writes no trace]:rank' \
        '--with-baseline[also the job without its faults]'
      ;;
    summarize)
      _arguments $input \
        '--step-marker[annotation or function that begins each step]:name' \
        '(-o --output)'{-o,--output}'[folder to write into]:folder:_files -/' \
        '--pack[one file a host]'
      ;;
    export)
      _arguments $input \
        '--perfetto[one merged trace]' \
        '(-o --output)'{-o,--output}'[file to write]:file:_files' \
        '*--rank[only this rank]:rank' \
        '--from[only what ends after this time]:ms' \
        '--to[only what begins before this time]:ms'
      ;;
  esac
}

_eroica "$@"
