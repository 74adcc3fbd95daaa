# Included by tests of a program from the outside: `program` is its path, `failed` what they exit with.
failed=0

# expect CODE TEXT ARGUMENTS...: exit code, a piece of the output, and with code 2 nothing but one line on stderr.
expect() {
    code=$1 text=$2 name=${program##*/}
    shift 2
    said=$("$program" "$@" 2>&1)
    was=$?
    [ "$was" -eq "$code" ] || { echo "$name $*: exit code $was, expected $code"; failed=1; }
    case $said in *"$text"*) ;; *) echo "$name $*: says '$said', expected '$text'"; failed=1 ;; esac
    [ "$code" -ne 2 ] || [ "$(echo "$said" | wc -l)" -eq 1 ] || { echo "$name $*: more than one line"; failed=1; }
}

# full ARGUMENTS...: exit code 1, and one line on stderr that says why, where standard output takes nothing.
full() {
    said=$("$program" "$@" 2>&1 >/dev/full)
    was=$?
    case $was,$(echo "$said" | wc -l),$said in
        1,1,*"cannot write"*": No space left on device"*) ;;
        *) echo "${program##*/} $* on a full device: exit code $was, says '$said'"; failed=1 ;;
    esac
}
