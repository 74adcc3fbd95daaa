#!/usr/bin/env python3
"""Times the float sum all-reduce of PyTorch's c10d with Gloo, on tensors of the CPU, over loopback. A peer for tools/compare:

  tools/compare --ranks 2,4 --peer "c10d=tools/compare-parts/c10d.py {ranks} {bytes} {seconds} {mode}"

In place, a barrier before each batch, the slowest rank counts, as in tutti-perf. Prints CSV. BYTES is a list with commas; the mode `resnet`
takes the 161 gradients of ResNet-50 instead: one by one, all in flight, and in buckets of 25 MiB into which they are copied and from which
they come back, as DistributedDataParallel has it. Wants PyTorch (Debian: python3-torch)."""

import argparse
import os
import statistics
import sys
import tempfile
import time

BATCHES = 9
BUCKET = 25 * 1024**2


def resnet50():
    """Elements of each gradient, the last layer's first."""
    counts = [64 * 3 * 49, 64, 64]
    before = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            for weights, channels in ((width * before, width), (width * width * 9, width), (width * 4 * width, width * 4)):
                counts += [weights, channels, channels]
            if block == 0:
                counts += [width * 4 * before, width * 4, width * 4]
            before = width * 4
    return (counts + [1000 * before, 1000])[::-1]


def bytes_of(tensor):
    return 4 * tensor.numel()


def buckets_of(tensors):
    made, filled = [[]], 0
    for each in tensors:
        if made[-1] and filled + bytes_of(each) > BUCKET:
            made.append([])
            filled = 0
        made[-1].append(each)
        filled += bytes_of(each)
    return made


class Rank:
    """One process of the group."""

    def __init__(self, me, ranks, meeting, torch):
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        torch.set_num_threads(1)
        self.me, self.ranks, self.torch, self.dist = me, ranks, torch, torch.distributed
        self.dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=me, world_size=ranks)

    def agreed(self, numbers, op):
        all_ranks = self.torch.tensor(numbers, dtype=self.torch.float64)
        self.dist.all_reduce(all_ranks, op=op)
        return all_ranks.tolist()

    def time(self, what, size, operation, seconds):
        """A row of the table."""
        for _ in range(2):
            operation()
        once = self.batch(operation, 1)
        slowest = self.agreed([once], self.dist.ReduceOp.MAX)[0]
        times = max(1, int(seconds / BATCHES / max(slowest, 1e-6)))
        began = sum(os.times()[:2])
        mine = [self.batch(operation, times) for _ in range(BATCHES)]
        used = self.agreed([sum(os.times()[:2]) - began], self.dist.ReduceOp.SUM)[0] / self.ranks
        all_ranks = [1e6 * each for each in self.agreed(mine, self.dist.ReduceOp.MAX)]
        if self.me == 0:
            cpu = used * 1e9 / (times * BATCHES * size)
            print(f"{what},{size},{min(all_ranks):.3f},{statistics.median(all_ranks):.3f},{cpu:.4f}", flush=True)

    def batch(self, operation, times):
        self.dist.barrier()
        began = time.perf_counter()
        for _ in range(times):
            operation()
        return (time.perf_counter() - began) / times

    def sweep(self, sizes, seconds):
        for size in sizes:
            vector = self.torch.zeros(size // 4)
            self.time("allreduce", size, lambda: self.dist.all_reduce(vector), seconds)

    def resnet(self, seconds):
        tensors = [self.torch.zeros(count) for count in resnet50()]
        size = sum(map(bytes_of, tensors))
        buckets = buckets_of(tensors)

        def one_by_one():
            for each in tensors:
                self.dist.all_reduce(each)

        def in_flight():
            for work in [self.dist.all_reduce(each, async_op=True) for each in tensors]:
                work.wait()

        def in_buckets():
            flat = [self.torch.cat(each) for each in buckets]
            for work in [self.dist.all_reduce(each, async_op=True) for each in flat]:
                work.wait()
            for bucket, each in zip(buckets, flat):
                for gradient, found in zip(bucket, each.split([one.numel() for one in bucket])):
                    gradient.copy_(found)

        self.time("rn50_one_by_one", size, one_by_one, seconds)
        self.time("rn50_all_async", size, in_flight, seconds)
        self.time("rn50_fused25_async", size, in_buckets, seconds)


def run(me, given, meeting, torch):
    rank = Rank(me, given.ranks, meeting, torch)
    if given.mode == "resnet":
        rank.resnet(given.seconds)
    else:
        rank.sweep([int(each) for each in given.bytes.split(",")], given.seconds)
    rank.dist.destroy_process_group()


def main():
    about, _, more = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ranks", type=int)
    parser.add_argument("bytes")
    parser.add_argument("seconds", type=float, help="how long one size is measured, about")
    parser.add_argument("mode", nargs="?", choices=["sweep", "resnet"], default="sweep")
    given = parser.parse_args()
    try:
        import torch
        import torch.distributed
        import torch.multiprocessing as processes
    except ImportError as error:
        sys.exit(f"c10d: PyTorch is not there: {error}")
    print("#what,bytes,us_min,us_med,cpu_ns_per_byte_per_rank", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        processes.start_processes(run, (given, os.path.join(folder, "meeting"), torch), nprocs=given.ranks, start_method="fork")


if __name__ == "__main__":
    main()
