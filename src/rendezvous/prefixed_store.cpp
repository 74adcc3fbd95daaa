#include <tutti/store.hpp>

#include <fmt/format.h>

namespace tutti {
namespace {

class prefixed_store final : public store {
public:
    prefixed_store(std::unique_ptr<store> inner, std::string prefix) : inner_(std::move(inner)), prefix_(std::move(prefix) + "/") {}

    task<result<std::string>> get(std::string key, time_point deadline) override { return inner_->get(full(key), deadline); }
    task<result<>> set(std::string key, std::string value, time_point deadline) override {
        return inner_->set(full(key), std::move(value), deadline);
    }
    task<result<std::int64_t>> add(std::string key, std::int64_t delta, time_point deadline) override {
        return inner_->add(full(key), delta, deadline);
    }
    task<result<bool>> compare_set(std::string key, std::optional<std::string> expected, std::string desired,
                                   time_point deadline) override {
        return inner_->compare_set(full(key), std::move(expected), std::move(desired), deadline);
    }
    task<result<bool>> erase(std::string key, time_point deadline) override { return inner_->erase(full(key), deadline); }
    task<result<>> close(time_point deadline) override { return inner_->close(deadline); }
    std::string local_address() const override { return inner_->local_address(); }

private:
    std::string full(const std::string& key) const { return prefix_ + key; }

    std::unique_ptr<store> inner_;
    std::string prefix_;
};

}  // namespace

std::unique_ptr<store> prefixed(std::unique_ptr<store> inner, std::string prefix) {
    return std::make_unique<prefixed_store>(std::move(inner), std::move(prefix));
}

std::string store_prefix(const world& all) { return fmt::format("{}/{}", all.job, all.epoch); }

}  // namespace tutti
