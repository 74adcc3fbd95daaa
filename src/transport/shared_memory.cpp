#include "transport/shared_memory.hpp"

#include "base/refused_by_system.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace tutti {

result<file_descriptor> make_shared_file(const char* name, std::size_t bytes) {
    constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING,
                       no_exec = 0x0008;  // MFD_NOEXEC_SEAL: some systems want it, older ones do not know it
    file_descriptor file(::memfd_create(name, flags | no_exec));
    if (!file && errno == EINVAL) file = file_descriptor(::memfd_create(name, flags));
    if (!file) return refused_by_system("no shared memory");
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {  // else the system would end this process (SIGXFSZ)
        errno = EFBIG;
        return refused_by_system("no shared memory of this size");
    }
    if (::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) return refused_by_system("no shared memory of this size");
    if (::fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return refused_by_system("shared memory cannot be sealed");
    return file;
}

file_identity identity_of(const file_descriptor& file) noexcept {
    struct stat about {};
    if (::fstat(file.number(), &about) != 0) return {};
    return {about.st_dev, about.st_ino};
}

result<mapping> mapping::of(const file_descriptor& file, access how) {
    struct stat about {};
    const int seals = ::fcntl(file.number(), F_GET_SEALS);
    if (::fstat(file.number(), &about) != 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0 || about.st_size <= 0)
        return failure(error::protocol_error, "this is no shared memory");
    const auto bytes = static_cast<std::size_t>(about.st_size);
    const int rights = how == access::write ? PROT_READ | PROT_WRITE : PROT_READ;
    void* const place = ::mmap(nullptr, bytes, rights, MAP_SHARED | MAP_NORESERVE, file.number(), 0);
    if (place == MAP_FAILED) return refused_by_system("shared memory cannot be mapped");
    return mapping(std::span(static_cast<std::byte*>(place), bytes));
}

mapping::~mapping() {
    if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

}  // namespace tutti
