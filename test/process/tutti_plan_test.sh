#!/bin/sh
# tutti-plan from the outside: its exit codes, and one line for every bad input. Takes the program's path.
plan=$1
failed=0

# expect CODE TEXT ARGUMENTS...: exit code, a piece of the output, and with code 2 nothing but one line on stderr.
expect() {
    code=$1 text=$2
    shift 2
    said=$("$plan" "$@" 2>&1)
    was=$?
    [ "$was" -eq "$code" ] || { echo "tutti-plan $*: exit code $was, expected $code"; failed=1; }
    case $said in *"$text"*) ;; *) echo "tutti-plan $*: says '$said', expected '$text'"; failed=1 ;; esac
    [ "$code" -ne 2 ] || [ "$(echo "$said" | wc -l)" -eq 1 ] || { echo "tutti-plan $*: more than one line"; failed=1; }
}

expect 0 "Usage: tutti-plan" --help
expect 0 "collective TEXT REQUIRED" print --help
expect 0 "sizes 1, 2, 4, 8" list
expect 0 "round 3: send to 2 output[2]" print all_reduce ring --ranks 4 --rank 1
expect 0 "rank 2 of 3: 1 rounds, 1 steps" print broadcast tree --ranks 3 --root 1
expect 0 "all_reduce      ring                33 of 33 correct" verify
expect 0 "4 of 4 correct" verify all_gather pairwise --ranks 5..8 --slices 3 --seed 7
expect 0 "77.4  chosen" cost all_reduce --ranks 4 --bytes 64KiB
expect 0 "barrier of 0 bytes" cost barrier --ranks 4 --bytes 8
expect 2 "A subcommand is required"
expect 2 "there is no command 'prnt'" prnt
expect 2 "no collective 'all_redoce'; there are all_reduce" print all_redoce ring --ranks 4
expect 2 "no algorithm 'rng'; there are ring" print all_reduce rng --ranks 4
expect 2 "--ranks is required" print all_reduce ring
expect 2 "not in range" print all_reduce ring --ranks 0
expect 2 "ranks are 0 to 3" print all_reduce ring --ranks 4 --rank 4
expect 2 "ranks are 0 to 3" print broadcast tree --ranks 4 --root 4
expect 2 "all_reduce has no root" print all_reduce ring --ranks 4 --root 1
expect 2 "does not serve 3 ranks" print all_gather recursive_doubling --ranks 3
expect 2 "the range is empty" verify --ranks 5..2
expect 2 "'x' is neither" verify --ranks 1..x
expect 2 "'129' is neither" verify --ranks 129
expect 2 "no collective 'foo'" verify foo
expect 2 "cannot be negative" cost all_reduce --ranks 4 --bytes=-4
expect 2 "unit not recognized" cost all_reduce --ranks 4 --bytes 3zB
expect 2 "" list more
exit $failed
