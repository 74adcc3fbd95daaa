#!/bin/sh
# tutti-perf from the outside, on two ranks: right results of every collective, JSON that can be read, one line for a bad input.
# Takes the paths of tutti-run and tutti-perf.
launcher=$1 perf=$2
failed=0
json=$(mktemp)
trap 'rm -f "$json"' EXIT

# measure ARGUMENTS...: exit code 0, and a JSON row whose `wrong` is 0.
measure() {
    "$launcher" -n 2 --no-prefix -- "$perf" "$@" --bytes 4,100003 --iters 2 --seconds 0.01 --json "$json" >/dev/null || { echo "tutti-perf $*: failed"; failed=1; }
    python3 -c 'import json, sys; rows = json.load(open(sys.argv[1])); sys.exit(not rows or any(row["wrong"] != 0 or row["ranks"] != 2 for row in rows))' "$json" ||
        { echo "tutti-perf $*: says $(cat "$json")"; failed=1; }
}

# complain TEXT ARGUMENTS...: exit code 2, and nothing but one line with TEXT.
complain() {
    text=$1
    shift
    said=$("$perf" "$@" 2>&1)
    was=$?
    [ "$was" -eq 2 ] || { echo "tutti-perf $*: exit code $was, expected 2"; failed=1; }
    [ "$(echo "$said" | wc -l)" -eq 1 ] || { echo "tutti-perf $*: more than one line"; failed=1; }
    case $said in *"$text"*) ;; *) echo "tutti-perf $*: says '$said', expected '$text'"; failed=1 ;; esac
}

measure all_reduce
measure all_reduce --type f16 --op avg --in-place
measure broadcast --type i8
measure reduce --op max --type f64
measure all_gather --type u8 --in-place
measure reduce_scatter --type i32 --op prod --in-place
measure all_to_all --type i64
measure barrier
TUTTI_COSTS=measure measure all_reduce
TUTTI_COSTS=round=1,message=0 measure all_gather
TUTTI_COSTS=round complain "TUTTI_COSTS=round is not understood; measure is, and round=8e-06" all_reduce
complain "there is no collective 'all_redoce'; there are all_reduce" all_redoce
complain "there is no type 'f31'" all_reduce --type f31
complain "there is no operator 'plus'" all_reduce --op plus
complain "'4x' is no size" all_reduce --bytes 4x
complain "'-4' is no size" all_reduce --bytes=-4
complain "'65GiB' is no size" all_reduce --bytes 65GiB
complain "the range is empty" all_reduce --bytes 8..4
complain "'0' is neither" all_reduce --iters 0
complain "all_to_all does not work in place" all_to_all --in-place
complain "cannot write to /nonexistent/file" all_reduce --json /nonexistent/file
exit $failed
