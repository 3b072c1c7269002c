# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Completion of memtraced's command line in bash. tests/unit/test_documents.c holds it to the
# table of options.

# The values of the option $1 that begin with $2.
_memtraced_values() {
    case $1 in
    -p | --pid)
        # of a list of pids, the last one
        local before="" after=${2##*,} dir
        [ "$after" = "$2" ] || before=${2%,*},
        case $after in *[!0-9]*) return ;; esac
        for dir in /proc/"$after"*; do
            dir=${dir##*/}
            case $dir in *[!0-9]*) ;; *) printf '%s\n' "$before$dir" ;; esac
        done ;;
    -h | --help)
        compgen -W 'targets jobs leaks start times filters output tracing service other report diff ctl sample valgrind formats status all' -- "$2" ;;
    -c) compgen -c -- "$2" ;;
    --cgroup) compgen -d -- "${2:-/sys/fs/cgroup/}" ;;
    --comm) sort -u /proc/[0-9]*/comm 2> /dev/null | grep -- "^$2" ;;
    --run-as | --uid) compgen -u -- "$2" ;;
    --env) compgen -v -S = -- "$2" ;;
    --group-by) compgen -W 'site function line file object process class growth leak size age' -- "$2" ;;
    --sort) compgen -W 'bytes count growth peak temporary' -- "$2" ;;
    --leak-check) compgen -W 'no summary full yes' -- "$2" ;;
    --leak-resolution) compgen -W 'low med high' -- "$2" ;;
    --xml) compgen -W 'no yes' -- "$2" ;;
    --gen-suppressions) compgen -W 'no yes all' -- "$2" ;;
    --default-suppressions | --xtree-leak) compgen -W 'yes no' -- "$2" ;;
    --suppressions | --log-file | --xml-file | --xtree-leak-file | --config) compgen -f -- "$2" ;;
    --attach) compgen -W 'auto session multi perf exit' -- "$2" ;;
    --exact) compgen -W 'auto probes library' -- "$2" ;;
    --allocator)
        # the first word of its value; readline splits the rest at = and :
        compgen -W 'malloc= calloc= realloc= free= inside= object=' -- "$2" ;;
    --unwind) compgen -W 'cfi fp' -- "$2" ;;
    --time-unit) compgen -W 'ms B' -- "$2" ;;
    --widths) compgen -W 'after before' -- "$2" ;;
    --color) compgen -W 'auto always never' -- "$2" ;;
    -f) compgen -W 'table json html folded flamegraph perf-script perf-data gprof2dot pprof speedscope callgrind massif heaptrack dhat prometheus openmetrics' -- "$2" ;;
    -o) compgen -S : -W 'table json html folded flamegraph perf-script perf-data gprof2dot pprof speedscope callgrind massif heaptrack dhat prometheus openmetrics record' -- "$2" ;;
    esac
}

# Is the value of the option $1 its next word, if no "=" stands behind it?
_memtraced_takes_value() {
    case $1 in
    -h | --help | -p | --pid | -c | -e | -i | -d | -f | -o | --cgroup | --uid | --comm | --hist | --run-as | --env | --min-size | \
        --max-size | --older-than | --where | --group-by | --wrapper | --top | --sort | --threshold | --max-snapshots | --time-unit | \
        --widths | --color | --attach | --exact | --allocator | --max-blocks | --memory-limit | --keep-ended | --max-stack | \
        --max-stop | --unwind | --sample-interval | --max-overhead | --leak-check | --leak-check-at | \
        --leak-check-heuristics | --leak-resolution | --num-callers | --show-leak-kinds | --errors-for-leak-kinds | \
        --error-exitcode | --gen-suppressions | --default-suppressions | --suppressions | --log-file | --log-fd | --xml | --xml-file | --xml-fd | --xml-protocol | \
        --xtree-leak | --xtree-leak-file | --config) ;;
    *) return 1 ;;
    esac
}

# The options and commands that begin with $1; $2 is "report", "diff", "ctl" or "sample" when they are its.
_memtraced_options() {
    local report='--older-than= --where= --group-by= --wrapper= --full-names --top= --sort= -f -o --threshold=
        --max-snapshots= --time-unit= --color=
        -v --verbose -q --quiet -V --version -h --help'
    local diff='--where= --group-by= --wrapper= --full-names --top= --sort= -f -o --widths= --color=
        -v --verbose -q --quiet -V --version -h --help'
    local trace='-p
        --pid=
        --min-size= --max-size=
        -c
        --cgroup=
        -a
        --uid=
        --comm=
        --hist=
        -e
        --cpu
        --off-cpu
        --page-faults
        --mappings
        --kernel
        --each
        --syscalls
        --stacks
        --alloc
        --sample
        --max-overhead=
        --leak-check=
        --show-leak-kinds=
        --errors-for-leak-kinds=
        --leak-resolution=
        --leak-check-heuristics=
        --num-callers=
        --suppressions=
        --default-suppressions=
        --gen-suppressions=
        --log-file=
        --log-fd=
        --xml=
        --xml-file=
        --xml-fd=
        --xml-protocol=
        --xtree-leak=
        --xtree-leak-file=
        --error-exitcode=
        --leak-check-at=
        --leak-check-delta
        --max-stop=
        --run-as=
        --env=
        --no-follow
        --debuginfod
        -i
        -d
        --no-tui
        --sample-interval=
        --no-rss
        --attach=
        --exact=
        --allocator=
        --existing
        --max-blocks=
        --memory-limit=
        --keep-ended=
        --max-stack=
        --unwind=
        --check-stacks
        --heap-errors
        --free-stacks
        --floor
        --service
        --config=
        --features
        --widths=
        --'

    case $2:$1 in
    report:-*) compgen -W "$report" -- "$1" ;;
    diff:-*) compgen -W "$diff" -- "$1" ;;
    report:* | diff:*) compgen -f -- "$1" ;;
    :-*) compgen -W "$report $trace" -- "$1" ;;
    :*) compgen -W 'report diff ctl sample valgrind' -- "$1" || compgen -c -- "$1" ;;
    sample:*) compgen -W '--unit= --interval= --print --remove' -- "$1" ;;
    ctl:*) compgen -W 'status trace reports token --for= --format= --revoke --sample --socket=' -- "$1" ;;
    esac
}

_memtraced() {
    local cur=${COMP_WORDS[COMP_CWORD]} option="" mode="" i

    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        report | diff) mode=${COMP_WORDS[i]} ;;
        ctl | sample) [ "$i" -gt 1 ] || mode=${COMP_WORDS[i]} ;;
        --)
            # a command of its own: its name, then files
            if ((i + 1 == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            return ;;
        -* | = | :) ;;
        *)
            # a value of the option before it, or a command, behind which files are offered
            [[ -n $mode || ${COMP_WORDS[i - 1]} == [=:] ]] && continue
            _memtraced_takes_value "${COMP_WORDS[i - 1]}" && continue
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return ;;
        esac
    done

    # readline splits "--sort=by" and "json:file" at what COMP_WORDBREAKS names
    i=$((COMP_CWORD - 1))
    if [[ $cur == [=:] ]]; then
        i=$COMP_CWORD
        cur=""
    fi
    case ${COMP_WORDS[i]} in
    :)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return ;;
    =) option=${COMP_WORDS[i - 1]} ;;
    *) option=${COMP_WORDS[i]} ;;
    esac

    if _memtraced_takes_value "$option"; then
        mapfile -t COMPREPLY < <(_memtraced_values "$option" "$cur")
    else
        mapfile -t COMPREPLY < <(_memtraced_options "$cur" "$mode")
    fi
    case ${COMPREPLY[0]-} in
    *= | *:) compopt -o nospace 2> /dev/null ;;
    esac
    return 0
}

complete -F _memtraced memtraced
