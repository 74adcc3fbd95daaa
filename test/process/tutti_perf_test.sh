#!/bin/sh
# tutti-perf from the outside, on two ranks: right results of every collective, JSON that can be read, one line for a bad input.
# Takes the paths of tutti-run and tutti-perf.
launcher=$1 perf=$2
failed=0
json=$(mktemp) list=$(mktemp)
trap 'rm -f "$json" "$list"' EXIT

# measure ARGUMENTS...: exit code 0, and a JSON row whose `wrong` is 0.
measure() {
    "$launcher" -n 2 --no-prefix -- "$perf" "$@" --bytes 4,100003 --iters 2 --seconds 0.01 --json "$json" >/dev/null || { echo "tutti-perf $*: failed"; failed=1; }
    python3 -c 'import json, sys; rows = json.load(open(sys.argv[1])); sys.exit(not rows or any(row["wrong"] != 0 or row["ranks"] != 2 for row in rows))' "$json" ||
        { echo "tutti-perf $*: says $(cat "$json")"; failed=1; }
}

# expect PYTHON ARGUMENTS...: exit code 0, and JSON `rows` of which PYTHON is true.
expect() {
    claim=$1
    shift
    "$launcher" -n 3 --no-prefix -- "$perf" "$@" --iters 1 --seconds 0.01 --json "$json" >/dev/null || { echo "tutti-perf $*: failed"; failed=1; }
    python3 -c "import json, sys; rows = json.load(open(sys.argv[1])); sys.exit(not ($claim))" "$json" ||
        { echo "tutti-perf $*: $claim is not true of $(cat "$json")"; failed=1; }
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
measure gather --type bool
measure scatter --type cf64 --in-place
measure scan --type i16 --op bxor --in-place
measure exclusive_scan --type bf16 --op premul_sum
measure all_gather_v --type u16
measure reduce_scatter_v --type cf32 --op prod --in-place
measure gather_v --in-place
measure scatter_v --arena
measure all_to_all_v --arena
measure send_recv --type u8
measure ping_pong --transport tcp
TUTTI_COSTS=measure measure all_reduce
TUTTI_COSTS=round=1,message=0 measure all_gather
TUTTI_TUNING=$(mktemp)
printf 'shm all_reduce 3: 0 ring\ntcp all_reduce 3: 0 star, 1000 tree\n' >"$TUTTI_TUNING"
export TUTTI_TUNING
expect '[row["algorithm"] for row in rows] == ["star", "tree"]' all_reduce --bytes 12,4000 --transport tcp
expect '[row["algorithm"] for row in rows] == ["ring"]' all_reduce --bytes 12 --transport shm
echo 'tcp all_reduce 3: 0 bruck' >"$TUTTI_TUNING"
complain "tuning 'tcp all_reduce 3: 0 bruck': all_reduce has no algorithm 'bruck'" all_reduce
rm "$TUTTI_TUNING"
complain "TUTTI_TUNING=$TUTTI_TUNING: No such file or directory" all_reduce
TUTTI_TUNING=/ complain "TUTTI_TUNING=/: Is a directory" all_reduce
unset TUTTI_TUNING
TUTTI_COSTS=round complain "TUTTI_COSTS=round is not understood; measure is, and round=" all_reduce
# cores COUNT: of so many cores, each of four ranks is bound to one; together they have them all, and no others.
cores() {
    few=$(python3 -c "import os; print(*sorted(os.sched_getaffinity(0))[:$1], sep=',')")
    [ "$(echo "$few" | tr , '\n' | wc -l)" -eq "$1" ] || return
    said=$(taskset -c "$few" "$launcher" -n 4 -- "$perf" barrier --iters 1 --seconds 0.01)
    case $said in *", $1 cores,"*) ;; *) echo "tutti-perf on cores $few: says '$said'"; failed=1 ;; esac
}
cores 1
cores 2

measure all_reduce --algorithm halving_doubling --transport tcp --lanes 4
measure all_reduce --transport shm --lanes 2
measure all_reduce --transport tcp --lanes 3 --threads 2
measure all_reduce --overlap 1
measure all_reduce --spin
columns='["op", "bytes", "count", "type", "reduce_op", "ranks", "transport", "algorithm", "time_us_min", "time_us_median", "time_us_p99", "algbw_GBps", "busbw_GBps", "cpu_s_per_GB", "wrong"]'
expect "[list(row) for row in rows] == [$columns]" reduce --bytes 12
expect '[row["algorithm"] for row in rows] == ["tree"]' all_reduce --bytes 12 --algorithm tree
expect '[row["transport"] for row in rows] == ["tcp"]' all_reduce --bytes 12 --transport tcp
expect '[row["transport"] for row in rows] == ["shm"]' all_reduce --bytes 12 --transport shm
expect '[row["transport"] for row in rows] == ["shm"]' all_reduce --bytes 12
expect '[row["algorithm"] for row in rows] == ["halving_doubling"]' all_reduce --bytes 4MiB --deterministic
TUTTI_DETERMINISTIC=1 expect '[row["algorithm"] for row in rows] == ["halving"]' reduce_scatter --bytes 12
expect '[row["wrong"] for row in rows] == [0]' all_reduce --bytes 12 --check
expect '[row["wrong"] for row in rows] == [None]' all_reduce --bytes 12 --no-check
expect '[row["op"] for row in rows] == ["all_reduce", "all_reduce_and_computation"]' all_reduce --bytes 12 --overlap 1
printf '3\n1 # one\n\n1000\n' >"$list"
expect '[(row["algorithm"], row["count"], row["wrong"]) for row in rows] == [(way, 1004, 0) for way in ("one_by_one", "in_flight", "25MiB_buckets", "fused")]' \
    all_reduce --list "$list" --type f16
said=$("$launcher" -n 3 --no-prefix -- "$perf" all_gather --algorithm recursive_doubling 2>&1)
case $said in *"recursive_doubling does not serve 3 ranks"*) ;; *) echo "an algorithm for powers of two, on 3 ranks: says '$said'"; failed=1 ;; esac
said=$("$launcher" -n 3 --no-prefix -- "$perf" all_reduce --algorithm leaders 2>&1)
case $said in *"leaders does not serve 3 ranks"*) ;; *) echo "an algorithm for several hosts, on one: says '$said'"; failed=1 ;; esac
on_two_hosts='TUTTI_HOST=$((RANK / 2)) exec "$0" "$@"'
for algorithm in leaders leaders_ring parts; do
    said=$("$launcher" -n 4 --no-prefix -- sh -c "$on_two_hosts" "$perf" all_reduce --algorithm $algorithm --bytes 4,100003 --iters 2 --seconds 0.01 --json "$json" 2>&1)
    case $said in *"4 ranks on 2 hosts"*) ;; *) echo "$algorithm on two hosts: says '$said'"; failed=1 ;; esac
    python3 -c 'import json, sys; rows = json.load(open(sys.argv[1])); sys.exit([(row["algorithm"], row["wrong"]) for row in rows] != [(sys.argv[2], 0)] * 2)' "$json" $algorithm ||
        { echo "$algorithm on two hosts: says $(cat "$json")"; failed=1; }
done
for arguments in --help "barrier --iters 1 --seconds 0.01"; do
    said=$("$perf" $arguments 2>&1 >/dev/full)
    was=$?
    case $was,$said in
        1,*": cannot write the output: No space left on device") ;;
        *) echo "tutti-perf $arguments on a full device: exit code $was, says '$said'"; failed=1 ;;
    esac
done
complain "--spin is for one call; ping_pong is several" ping_pong --spin
complain "there is no operation 'all_redoce'; there are all_reduce" all_redoce
TUTTI_DETERMINISTIC=maybe complain "TUTTI_DETERMINISTIC=maybe is not 0 or 1" all_reduce
said=$("$launcher" -n 3 --no-prefix -- "$perf" all_reduce --algorithm ring --deterministic 2>&1)
case $said in *"ring is not deterministic"*) ;; *) echo "a ring in the deterministic mode: says '$said'"; failed=1 ;; esac
complain "there is no type 'f31'" all_reduce --type f31
complain "there is no operator 'plus'" all_reduce --op plus
complain "'4x' is no size" all_reduce --bytes 4x
complain "'-4' is no size" all_reduce --bytes=-4
complain "'65GiB' is no size" all_reduce --bytes 65GiB
complain "the range is empty" all_reduce --bytes 8..4
complain "'0' is neither" all_reduce --iters 0
complain "all_to_all does not work in place" all_to_all --in-place
complain "there is no algorithm of all_gather 'rung'; there are ring, " all_gather --algorithm rung
complain "operator band is not defined for f32" all_reduce --op band
complain "operator max is not defined for cf32" scan --op max --type cf32
complain "scan has no avg" scan --op avg
complain "send_recv has no algorithms" send_recv --algorithm ring
complain "--overlap is for one call" ping_pong --overlap 1
complain "takes auto, tcp or shm, not 'udp'" all_reduce --transport udp
complain "--lanes" all_reduce --lanes 9
complain "--list is for all_reduce" broadcast --list resnet50
complain "excludes" all_reduce --list resnet50 --bytes 4
complain "cannot read '/nonexistent/file': No such file" all_reduce --list /nonexistent/file
complain "cannot write to /nonexistent/file" all_reduce --json /nonexistent/file
exit $failed
