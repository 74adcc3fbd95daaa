#include "gpu/sim/call.hpp"

#include "gpu/sim/stand_alone.hpp"

#include <algorithm>

namespace tutti::gpu::sim {

call::call(const char* name, unsigned needs, ncclComm_t comm)
    : on_(machine_or_stand_alone().inner()),
      lock_(on_.guard),
      name_(name),
      comm_(comm) {
    ++on_.calls[name_][std::this_thread::get_id()];
    if (comm_ != nullptr) {
        for (const auto& other : on_.inside)
            if (other.comm == comm_ && other.thread != std::this_thread::get_id())
                misuse("on " + on_.ranks.name_of(comm_) + " while " + on_.thread_name(other.thread) + " is in " + other.name + " on it");
        on_.inside.push_back({name_, comm_, std::this_thread::get_id()});
    }
    if (on_.self().in_host_function) {
        misuse("in a host function: neither CUDA nor NCCL may be called there");
        refused_ = CUDA_ERROR_NOT_PERMITTED;
        return;
    }
    hold_up();
    if (refused_ == 0) look_around(needs);
}

call::~call() {
    const auto mine = [this](const auto& each) {
        return each.comm == comm_ && each.name == name_ && each.thread == std::this_thread::get_id();
    };
    const auto found = std::find_if(on_.inside.begin(), on_.inside.end(), mine);
    if (found != on_.inside.end()) on_.inside.erase(found);
}

void call::hold_up() {
    if (on_.sticking.contains(name_)) {
        ++on_.stuck[name_];
        on_.changed.notify_all();
        on_.changed.wait(lock_, [this] { return !on_.sticking.contains(name_) || on_.ending; });
        --on_.stuck[name_];
    }
    if (const auto slow = on_.slowness.find(name_); slow != on_.slowness.end()) on_.spend(lock_, slow->second);
    if (const auto failing = on_.failures.find(name_); failing != on_.failures.end()) {
        auto& [code, after, times] = failing->second;
        if (after > 0) {
            --after;
        } else if (times > 0) {
            --times;
            refused_ = code;
            by_test_ = true;
        }
    }
}

void call::look_around(unsigned needs) {
    if (needs & a_context) {
        home_ = on_.here();
        if (home_ == nullptr) {
            misuse("without a current context on this thread");
            refused_ = CUDA_ERROR_INVALID_CONTEXT;
            return;
        }
        refused_ = home_->fault;
    }
    if (refused_ == 0 && (needs & safety)) {
        if (const char* why = on_.captured_elsewhere()) {
            misuse(why);
            refused_ = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
}

CUresult call::wrong(CUresult code, const std::string& what) {
    misuse(what);
    return code;
}

stream* call::stream_of(CUstream handle) {
    stream* found = nullptr;
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        if (home_->null_stream == nullptr) home_->null_stream = on_.make_stream(*home_, false);
        return home_->null_stream;
    }
    if (on_.known_streams.contains(handle)) found = reinterpret_cast<stream*>(handle);
    if (found == nullptr || found->destroyed) {
        misuse(found ? "of " + on_.name_of(*found) + ", which was destroyed" : "of a stream that does not exist");
        return nullptr;
    }
    if (found->home == home_) return found;
    misuse("of " + on_.name_of(*found) + " while the context of device " + std::to_string(home_->device) + " is current");
    return nullptr;
}

event* call::event_of(CUevent handle) {
    event* const found = on_.known_events.contains(handle) ? reinterpret_cast<event*>(handle) : nullptr;
    if (found == nullptr || found->destroyed) {
        misuse(found ? "of event " + std::to_string(found->number) + ", which was destroyed" : "of an event that does not exist");
        return nullptr;
    }
    if (found->home == home_) return found;
    misuse("of event " + std::to_string(found->number) + " of device " + std::to_string(found->home->device) +
           " while the context of device " + std::to_string(home_->device) + " is current");
    return nullptr;
}

void call::waits() { on_.history.waits.push_back({name_, on_.this_thread()}); }

bool call::reaches(CUdeviceptr address, std::size_t bytes, const char* role) {
    if (bytes == 0) return true;
    const allocation* found = on_.memory.find(address);
    if (found == nullptr) {
        misuse(std::string("with a ") + role + " that no device can reach");
    } else if (found->freed) {
        misuse(std::string("with a ") + role + " that " + found->freed_by + " has freed");
    } else if (const std::size_t there = found->bytes - (address - on_.memory.base_of(address)); bytes > there) {
        misuse("with " + std::to_string(bytes) + " bytes of " + role + " where " + std::to_string(there) + " are left");
    } else {
        return true;
    }
    return false;
}

}  // namespace tutti::gpu::sim
