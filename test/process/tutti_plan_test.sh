#!/bin/sh
# tutti-plan from the outside: its exit codes, and one line for every bad input. Takes the program's path.
program=$1
. "$(dirname "$0")/expect.sh"

expect 0 "Usage: tutti-plan" --help
expect 0 "collective TEXT REQUIRED" print --help
expect 0 "sizes 1, 2, 4, 8" list
expect 0 "halving_twice       sizes from 8" list
expect 0 "round 3: send to 2 output[2]" print all_reduce ring --ranks 4 --rank 1
expect 0 "rank 2 of 3: 1 rounds, 1 steps" print broadcast tree --ranks 3 --root 1
expect 0 "all_reduce      ring                33 of 33 correct" verify
expect 0 "4 of 4 correct" verify all_gather pairwise --ranks 5..8 --slices 3 --seed 7
expect 0 "33.30  chosen" cost all_reduce --ranks 4 --bytes 64KiB --costs tcp
expect 0 "barrier of 0 bytes" cost barrier --ranks 4 --bytes 8
expect 0 "halving_once from 32001 bytes" choose all_reduce --ranks 4 --costs tcp
expect 0 "chosen: star from 0 bytes, tree from 44445 bytes, halving_once from 120001 bytes, halving_doubling from 640000 bytes" cost all_reduce --ranks 4 --bytes 4 --costs tcp,cores=2
expect 0 "costs: round=3e-07,message=3e-07,moved_byte=1e-10" choose all_reduce --ranks 4
expect 0 "recursive_doubling from 48781 bytes" choose all_reduce --ranks 4 --bytes 48781 --costs tcp,round=20e-6
expect 0 "deterministic all_reduce, 4 ranks" choose all_reduce --ranks 4 --deterministic
expect 0 "halving from 4 bytes" choose reduce_scatter --ranks 4 --deterministic --costs tcp
tuning=$(mktemp)
printf '# measured\ntcp all_reduce 4: 4096 ring\nshm all_reduce 4: 0 tree\n' >"$tuning"
expect 0 "ring from 4096 bytes" choose all_reduce --ranks 4 --costs tcp --tuning "$tuning"
expect 0 "tree from 4 bytes" choose all_reduce --ranks 4 --tuning "$tuning"
echo "shm all_reduce 4: ring" >"$tuning"
expect 2 "tuning 'shm all_reduce 4: ring': behind the colon stand bytes" choose all_reduce --ranks 4 --tuning "$tuning"
rm "$tuning"
expect 2 "--tuning $tuning: No such file or directory" choose all_reduce --ranks 4 --tuning "$tuning"
expect 0 "dissemination from 0 bytes" choose barrier --ranks 4 --costs round=0
expect 0 "0.16           0.15     1.07      13       1 " simulate --ranks 8 --latency 10us --bandwidth 100Gbit --bytes 1MB --slice 10kB
expect 0 "not simulated: 67108864 transfers of 2 unlike ranks are too many to simulate; --slice 4 would do" \
    simulate --collective broadcast --ranks 2 --latency 1us --bandwidth 1GB --bytes 64MiB --slice 1B
expect 0 "all_reduce      parts               57 of 57 correct" verify all_reduce parts
expect 0 "several hosts of several ranks" list
expect 0 "round 1: recv_reduce from 2 output[0]" print all_reduce leaders --ranks 4 --hosts 2 --rank 0
expect 0 "rank 2 of 4: 2 rounds" print all_reduce leaders --ranks 4 --hosts 0,1,0,1
expect 0 "all_reduce of 1048576 bytes, 4 ranks on 2 hosts" cost all_reduce --ranks 4 --bytes 1MiB --hosts 2
expect 0 "parts from 41619 bytes" choose all_reduce --ranks 6 --hosts 3 --costs tcp
expect 0 "parts from 1 bytes" choose all_reduce --ranks 6 --hosts 0,0,0,1,1,1 --bytes 1..8 --costs round=0,message=0,far_round=0
expect 2 "all_reduce parts does not serve 4 ranks on 2 hosts" print all_reduce parts --ranks 4 --hosts 3
expect 2 "all_reduce leaders does not serve 4 ranks" print all_reduce leaders --ranks 4
expect 2 "--hosts takes ranks for each host, or the host of each rank as 0,0,1,1; '2,x' is neither" cost all_reduce --ranks 2 --bytes 4 --hosts 2,x
expect 2 "--hosts 0,1 says where 2 ranks are, of 3" choose all_reduce --ranks 3 --hosts 0,1
expect 2 "A subcommand is required"
expect 2 "--costs takes tcp or shm first, and numbers" choose all_reduce --ranks 4 --costs round=-1
expect 2 "'round=1e-6,shm' is not that" choose all_reduce --ranks 4 --costs round=1e-6,shm
expect 2 "--bytes takes a number and one of" choose all_reduce --ranks 4 --bytes 4..x
expect 2 "the range is empty" choose all_reduce --ranks 4 --bytes 8..4
expect 2 "--latency takes a number and one of ns, us, ms, s; '20' is not that" simulate --ranks 8 --latency 20 --bandwidth 1GB --bytes 1
expect 2 "--bandwidth takes more than nothing" simulate --ranks 8 --latency 20us --bandwidth 0GB --bytes 1
expect 2 "--slice takes one byte or more" simulate --ranks 8 --latency 20us --bandwidth 1GB --bytes 1 --slice 0B
expect 2 "does not serve 3 ranks" simulate --ranks 3 --collective all_gather --algorithm recursive_doubling --latency 1us --bandwidth 1GB --bytes 1
expect 2 "there is no command 'prnt'" prnt
expect 2 "all_to_all, barrier, gather, scatter, scan, exclusive_scan, all_gather_v" print all_redoce ring --ranks 4
expect 2 "no collective 'all_redoce'; there are all_reduce" print all_redoce ring --ranks 4
expect 2 "no algorithm 'rng'; there are ring" print all_reduce rng --ranks 4
expect 2 "--ranks is required" print all_reduce ring
expect 2 "not in range" print all_reduce ring --ranks 0
expect 2 "ranks are 0 to 3" print all_reduce ring --ranks 4 --rank 4
expect 2 "ranks are 0 to 3" print broadcast tree --ranks 4 --root 4
expect 2 "all_reduce has no root" print all_reduce ring --ranks 4 --root 1
expect 2 "does not serve 3 ranks" print all_gather recursive_doubling --ranks 3
expect 2 "--ranks 3: all_gather recursive_doubling serves none of these" verify all_gather recursive_doubling --ranks 3
expect 2 "--ranks 1..2: all_reduce leaders serves none of these" verify all_reduce leaders --ranks 1..2
expect 0 "all_gather      recursive_doubling  0 of 0 correct" verify all_gather --ranks 3
expect 2 "the range is empty" verify --ranks 5..2
expect 2 "'x' is neither" verify --ranks 1..x
expect 2 "'129' is neither" verify --ranks 129
expect 2 "no collective 'foo'" verify foo
expect 2 "'-4' is not that" cost all_reduce --ranks 4 --bytes=-4
expect 2 "'3zB' is not that" cost all_reduce --ranks 4 --bytes 3zB
expect 2 "more than 1024TiB is not looked at" cost all_reduce --ranks 4 --bytes 1e300
expect 0 "all_reduce of 1000000 bytes" cost all_reduce --ranks 4 --bytes 1MB
expect 2 "" list more
full list
full --help
full verify --ranks 1..4
full print all_reduce ring --ranks 64
full simulate --ranks 8 --latency 10us --bandwidth 100Gbit --bytes 1MB
exit $failed
