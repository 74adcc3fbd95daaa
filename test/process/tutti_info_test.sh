#!/bin/sh
# tutti-info from the outside. Takes the program's path.
info=$1
failed=0

# expect CODE TEXT ARGUMENTS...: exit code, and a piece of the output.
expect() {
    code=$1 text=$2
    shift 2
    said=$("$info" "$@" 2>&1)
    was=$?
    [ "$was" -eq "$code" ] || { echo "tutti-info $*: exit code $was, expected $code"; failed=1; }
    case $said in *"$text"*) ;; *) echo "tutti-info $*: says '$said', expected '$text'"; failed=1 ;; esac
}

expect 0 "Usage: tutti-info" --help
expect 0 "instruction set of reductions: "
expect 0 "TCP: yes"
expect 0 '"tcp": "yes"' --json
expect 2 "tutti-info: " --jason
"$info" --json | python3 -c 'import json, sys; json.load(sys.stdin)["gpu"]["devices"]' || failed=1

# Built with device memory it says why there is none, whatever the host has.
case $("$info") in
    *"built without CUDA and NCCL"*) ;;
    *)
        export TUTTI_CUDA_LIBRARY=/nowhere/libcuda.so.1 TUTTI_NCCL_LIBRARY=libnccl.so.2
        expect 0 "CUDA driver: not usable: TUTTI_CUDA_LIBRARY=/nowhere/libcuda.so.1 cannot be loaded"
        expect 0 "NCCL: not usable: TUTTI_NCCL_LIBRARY=libnccl.so.2 is not used: it takes an absolute path"
        expect 0 '"driver": {"usable": false' --json
        ;;
esac
exit $failed
