#!/bin/sh
# tutti-info from the outside. Takes the program's path.
program=$1
. "$(dirname "$0")/expect.sh"

expect 0 "Usage: tutti-info" --help
expect 0 "instruction set of reductions: "
expect 0 "TCP: yes"
expect 0 '"tcp":"yes"' --json
expect 2 "tutti-info: " --jason
full
full --json
full --help
"$program" --json | python3 -c 'import json, sys; json.load(sys.stdin)["gpu"]["devices"]' || failed=1

# Built with device memory it says why there is none, whatever the host has.
case $("$program") in
    *"built without CUDA and NCCL"*) ;;
    *)
        export TUTTI_CUDA_LIBRARY=/nowhere/libcuda.so.1 TUTTI_NCCL_LIBRARY=libnccl.so.2
        expect 0 "CUDA driver: not usable: TUTTI_CUDA_LIBRARY=/nowhere/libcuda.so.1 cannot be loaded"
        expect 0 "NCCL: not usable: TUTTI_NCCL_LIBRARY=libnccl.so.2 is not used: it takes an absolute path"
        expect 0 '"driver":{"usable":false' --json
        ;;
esac
exit $failed
