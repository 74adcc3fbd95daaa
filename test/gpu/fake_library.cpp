// All that is looked for in the CUDA driver and in NCCL, by name only: each answers the same. -DcuEventQuery=other leaves that one out.
#include "gpu/symbols.hpp"

#include <cuda.h>
#include <nccl.h>

// In two steps, so that macros, of cuda.h and of the command line, are replaced first. Weak: fake_answers.cpp has better ones of some.
#define FAKE_TEXT(symbol) FAKE_QUOTED(symbol)
#define FAKE_QUOTED(symbol) #symbol
#define FAKE(symbol) FAKE_NAMED(symbol, __COUNTER__)
#define FAKE_NAMED(symbol, number) FAKE_NUMBERED(FAKE_TEXT(symbol), number)
#define FAKE_NUMBERED(text, number)                                                     \
    extern "C" [[gnu::weak, gnu::visibility("default")]] int fake_##number() asm(text); \
    int fake_##number() { return FAKE_ANSWER; }

TUTTI_DRIVER_SYMBOLS(FAKE)
TUTTI_OPTIONAL_DRIVER_SYMBOLS(FAKE)
TUTTI_NCCL_SYMBOLS(FAKE)
TUTTI_OPTIONAL_NCCL_SYMBOLS(FAKE)
