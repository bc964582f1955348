# fish completion for eroica. Put it into ~/.config/fish/completions.

set -l commands analyze summarize export rules version
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a analyze -d "Show where the time goes"
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a summarize -d "Reduce each trace to a small pattern file"
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a export -d "Write a merged trace for a trace viewer"
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a version -d "Print the version"
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a rules -d "Check, list and explain the rules"
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -s V -l version -d "Print the version"
complete -c eroica -s h -l help -d "Say how it is used"

set -l readers analyze summarize export
complete -c eroica -n "__fish_seen_subcommand_from $readers" -l rank-from -x -d "Read the rank off the path by an expression"
complete -c eroica -n "__fish_seen_subcommand_from $readers" -s j -l jobs -x -d "Most traces in memory at once"
complete -c eroica -n "__fish_seen_subcommand_from $readers" -s q -l quiet -d "Errors only on stderr"
complete -c eroica -n "__fish_seen_subcommand_from $readers" -s v -l verbose -d "Say what is done"
complete -c eroica -n "__fish_seen_subcommand_from $readers" -s o -l output -r -d "Where to write"

complete -c eroica -n "__fish_seen_subcommand_from analyze summarize" -l step-marker -x -d "Annotation or function that begins each step"
complete -c eroica -n "__fish_seen_subcommand_from analyze" -l format -x -a "text json html" -d "Form of the report"
complete -c eroica -n "__fish_seen_subcommand_from analyze" -l color -x -a "auto always never" -d "Colours"
complete -c eroica -n "__fish_seen_subcommand_from analyze" -l function -x -d "All about one function"
complete -c eroica -n "__fish_seen_subcommand_from analyze" -l top -x -d "List this many functions"
complete -c eroica -n "__fish_seen_subcommand_from analyze export" -l rank -x -d "Only this rank"

complete -c eroica -n "__fish_seen_subcommand_from analyze" -l rules -r -a "(__fish_complete_directories)" -d "Also the rules of this folder"
complete -c eroica -n "__fish_seen_subcommand_from analyze" -l baseline -r -d "An earlier, healthy window to compare with"
complete -c eroica -n "__fish_seen_subcommand_from analyze" -l method -x -a "full eroica largest-total longest-collective" -d "How to conclude"
complete -c eroica -n "__fish_seen_subcommand_from rules" -f -a "check list explain" -d "What to do with them"
complete -c eroica -n "__fish_seen_subcommand_from rules" -l rules -r -a "(__fish_complete_directories)" -d "Also the rules of this folder"
complete -c eroica -n "__fish_seen_subcommand_from rules" -l format -x -a "text json" -d "Form of the answer"

complete -c eroica -n "__fish_seen_subcommand_from summarize" -l pack -d "One file a host"

complete -c eroica -n "__fish_seen_subcommand_from export" -l perfetto -d "One merged trace"
complete -c eroica -n "__fish_seen_subcommand_from export" -l from -x -d "Only what ends after this time, in ms"
complete -c eroica -n "__fish_seen_subcommand_from export" -l to -x -d "Only what begins before this time, in ms"
