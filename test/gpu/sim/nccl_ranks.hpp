// The communicators of a machine, as ranks of cliques: which calls wait for which, and what was injected for whom.
#pragma once

#include "gpu/sim/work.hpp"
#include "gpu/tables.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace tutti::gpu::sim {

class machine;
class call;
struct clique;

enum class nccl_kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter, all_to_all, gather, scatter, send, recv };
const char* name_of(nccl_kind kind);

/// One rank's call.
struct rank_call {
    nccl_kind kind = nccl_kind::all_reduce;
    CUdeviceptr from = 0;
    CUdeviceptr to = 0;
    std::size_t count = 0;
    ncclDataType_t type = ncclInt8;
    ncclRedOp_t op = ncclSum;
    int root = -1;                 // or the peer
    std::optional<double> factor;  // of a pre-multiplied sum
    communicator* comm = nullptr;
    stream* where = nullptr;
    std::uint64_t number = 0;  // among the rank's

    /// Elements this rank reads and writes.
    std::size_t reads() const;
    std::size_t writes() const;
};

/// A collective, or a send with its receive: what all its ranks have called, and how far their streams are.
struct meeting {
    explicit meeting(int size) : calls(static_cast<std::size_t>(size)), reached(static_cast<std::size_t>(size)) {}
    std::vector<std::optional<rank_call>> calls;     // by rank; of a send and its receive: sender, receiver
    std::vector<std::optional<time_point>> reached;  // by the same
    std::optional<time_point> started;
    std::optional<time_point> due;
    bool never = false;
    bool moved = false;
};

/// A call of a communicator that has been made and may not have taken effect.
struct group_part {
    communicator* comm = nullptr;
    stream* where = nullptr;
    std::function<void()> launch;
    std::function<std::optional<ncclResult_t>()> done;  // nothing: not yet
    std::optional<rank_call> message;                   // those of one group and stream become one piece of work
};

struct communicator {
    std::shared_ptr<sim::clique> clique;
    int rank = 0;
    context* home = nullptr;
    std::string host;
    bool blocking = true;
    ncclResult_t state = ncclSuccess;  // what ncclCommGetAsyncError says when nothing is in progress
    bool in_progress = false;
    int polls_left = 0;
    bool launched = false;
    std::vector<group_part> parts;
    std::vector<stream*> claimed;
    bool finalized = false;
    bool gone = false;
    std::optional<std::thread::id> issuer;
    std::uint64_t collectives = 0, operations = 0, splits = 0;
    std::vector<std::pair<ncclDataType_t, double>> factors;  // of its own operators
    std::set<std::size_t> operators_given_back;
    std::vector<std::shared_ptr<work>> queued;
};

/// The arguments of a rank when communicators are made of others.
struct split_call {
    int color = 0;
    int key = 0;
    bool blocking = true;
    ncclComm_t* made = nullptr;
};

struct splitting {
    std::map<int, split_call> calls;  // by rank
    std::set<int> excluded;
    bool done = false;
};

/// The ranks of one communicator.
struct clique {
    int number = 0;
    int size = 0;
    std::vector<communicator*> members;  // by rank; null until they come
    std::map<std::uint64_t, std::shared_ptr<meeting>> collectives;
    struct pipe {
        std::vector<std::shared_ptr<meeting>> all;
        std::size_t sent = 0, received = 0;
    };
    std::map<std::pair<int, int>, pipe> pipes;  // by sender and receiver
    std::map<std::uint64_t, splitting> splits;
};

struct operation_fault {
    int rank = 0;
    std::uint64_t number = 0;
    ncclResult_t code = ncclSuccess;  // success: it hangs, and no rank is told
};

class nccl_ranks {
public:
    explicit nccl_ranks(machine& owner) : owner_(owner) {}

    ncclUniqueId make_id();
    /// Null where the id is none of this machine's.
    std::shared_ptr<clique> clique_of(const ncclUniqueId& id, int size);
    std::shared_ptr<clique> make_clique(int size);
    communicator* make(std::shared_ptr<clique> of, int rank, context& home, bool blocking);
    communicator* find(ncclComm_t handle) const;

    std::string name_of(const void* comm) const;
    std::vector<std::string> leaks() const;

    // nccl_group.cpp
    ncclResult_t submit(call& here, group_part part);
    ncclResult_t launch(call& here, std::vector<group_part> parts);
    /// Returns whether the communicator has become ready, or failed.
    bool poll(communicator& which);
    // nccl_meeting.cpp
    void enqueue(const rank_call& what);
    void enqueue_messages(std::vector<rank_call> all);
    void drop_queued(communicator& of);
    bool all_ended(const communicator& of) const;

    std::vector<operation_fault> operation_faults;
    std::map<int, duration> slow_ranks;
    std::map<int, ncclResult_t> failing_inits;
    std::set<int> never_finalizing;
    int polls = 1;
    std::string last_error;
    std::map<std::pair<std::string, int>, std::thread::id> issuers;  // by host and device

private:
    std::shared_ptr<work> make_work(const rank_call& what);
    void reach(meeting& at, std::size_t part);
    void check_match(const meeting& at, const rank_call& what);

    machine& owner_;
    std::map<std::string, std::shared_ptr<clique>> by_id_;
    std::vector<std::unique_ptr<communicator>> all_;
    int cliques_ = 0;
};

/// Moves the data of a collective, or of a message, all of whose ranks have come.
void move_data(machine& on, const meeting& what);
std::size_t size_of(ncclDataType_t type);
bool can_scale(ncclDataType_t type);
double value_of(ncclDataType_t type, const void* at);

}  // namespace tutti::gpu::sim
