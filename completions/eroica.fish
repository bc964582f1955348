# fish completion for eroica. Put it into ~/.config/fish/completions.

set -l commands analyze summarize export rules simulate version
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a analyze -d "Show where the time goes"
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a summarize -d "Reduce each trace to a small pattern file"
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a export -d "Write a merged trace for a trace viewer"
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a version -d "Print the version"
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a rules -d "Check, list and explain the rules"
complete -c eroica -n "not __fish_seen_subcommand_from $commands" -f -a simulate -d "Write a bundle of a synthetic job"
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

complete -c eroica -n "__fish_seen_subcommand_from simulate" -l seed -x -d "Draws everything that is not given"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l fault -x -d "A fault of the job"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l strength -x -d "Of faults that name none, 0 to 1"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l ranks -x -d "Ranks of the job"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l layout -x -d "Such as dp=2,tp=2,pp=2,ep=1"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l steps -x -d "Steps in the window"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l out -r -a "(__fish_complete_directories)" -d "Where to write"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l format -x -a "bundle patterns" -d "What is written"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l drop-signal -x -d "Leave out these metrics"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l drop-rank -x -d "This rank writes no trace"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l with-baseline -d "Also the job without its faults"
complete -c eroica -n "__fish_seen_subcommand_from simulate" -l list-faults -d "Say which faults there are"

complete -c eroica -n "__fish_seen_subcommand_from summarize" -l pack -d "One file a host"

complete -c eroica -n "__fish_seen_subcommand_from export" -l perfetto -d "One merged trace"
complete -c eroica -n "__fish_seen_subcommand_from export" -l from -x -d "Only what ends after this time, in ms"
complete -c eroica -n "__fish_seen_subcommand_from export" -l to -x -d "Only what begins before this time, in ms"
