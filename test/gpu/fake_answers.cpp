// The calls for which a fake library has an answer of its own: its versions, how it starts, and its devices. cuda.h would insist on types.
#include <cstddef>
#include <cstdio>
#include <cstring>

extern "C" {

int cuDriverGetVersion(int* number);
int ncclGetVersion(int* number);
int cuInit(unsigned);
int cuDeviceGetCount(int* devices);
int cuDeviceGetName(char* text, int bytes, int);
int cuDeviceGetPCIBusId(char* text, int bytes, int);
int cuDeviceGetUuid_v2(void* bytes, int);
int cuGetErrorName(int code, const char** text);

int cuDriverGetVersion(int* number) {
    *number = FAKE_DRIVER_VERSION;
    return FAKE_ANSWER;
}
int ncclGetVersion(int* number) {
    *number = FAKE_NCCL_VERSION;
    return FAKE_ANSWER == 0 ? 0 : 1;  // ncclUnhandledCudaError
}
int cuInit(unsigned) { return FAKE_INIT; }
int cuDeviceGetCount(int* devices) {
    *devices = FAKE_DEVICES;
    return FAKE_ANSWER;
}
int cuDeviceGetName(char* text, int bytes, int) {
    std::snprintf(text, static_cast<std::size_t>(bytes), "a fake");
    return FAKE_ANSWER;
}
int cuDeviceGetPCIBusId(char* text, int bytes, int) {
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:0f:00.0");
    return FAKE_ANSWER;
}
int cuDeviceGetUuid_v2(void* bytes, int) {
    std::memset(bytes, 0xab, 16);
    return FAKE_ANSWER;
}
int cuGetErrorName(int code, const char** text) {
    if (code == 100) *text = "CUDA_ERROR_NO_DEVICE";
    if (code == 999) *text = "CUDA_ERROR_UNKNOWN";
    return 0;
}
}
