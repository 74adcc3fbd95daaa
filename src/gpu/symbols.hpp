// The functions of the CUDA driver and of NCCL that Tutti calls. The members of the tables, and the code that fills them, are made of these lists.
//
// Macros of cuda.h replace old names of functions by new ones (cuMemAlloc by cuMemAlloc_v2). The lists have the old names; members and text have the
// new ones.
#pragma once

// clang-format off

/// A driver without one of these is refused.
#define TUTTI_DRIVER_SYMBOLS(X) \
    X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) \
    X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceGetPCIBusId) \
    X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxGetStreamPriorityRange) \
    X(cuStreamCreateWithPriority) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamWaitEvent) X(cuStreamIsCapturing) \
    X(cuThreadExchangeStreamCaptureMode) \
    X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize) \
    X(cuMemAlloc) X(cuMemFree) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostRegister) X(cuMemHostUnregister) X(cuMemHostGetDevicePointer) \
    X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async) X(cuPointerGetAttribute) \
    X(cuLaunchHostFunc)

/// Null where a driver lacks them.
#define TUTTI_OPTIONAL_DRIVER_SYMBOLS(X) \
    X(cuMemAllocAsync) X(cuMemFreeAsync) X(cuStreamWriteValue32) \
    X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLaunchKernel)

/// A library without one of these is refused.
#define TUTTI_NCCL_SYMBOLS(X) \
    X(ncclGetVersion) X(ncclGetUniqueId) X(ncclGetErrorString) X(ncclGetLastError) \
    X(ncclCommInitRankConfig) X(ncclCommFinalize) X(ncclCommDestroy) X(ncclCommAbort) X(ncclCommGetAsyncError) \
    X(ncclCommCount) X(ncclCommUserRank) X(ncclCommCuDevice) \
    X(ncclGroupStart) X(ncclGroupEnd) \
    X(ncclAllReduce) X(ncclReduce) X(ncclBroadcast) X(ncclAllGather) X(ncclReduceScatter) X(ncclSend) X(ncclRecv)

/// Null where a version lacks them.
#define TUTTI_OPTIONAL_NCCL_SYMBOLS(X) \
    X(ncclCommSplit) X(ncclCommShrink) X(ncclRedOpCreatePreMulSum) X(ncclRedOpDestroy) \
    X(ncclAlltoAll) X(ncclGather) X(ncclScatter)

// clang-format on
