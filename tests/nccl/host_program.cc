// Drives the profiler plugin as NCCL does, from several threads:
//
//   host_program PLUGIN VERSION THREADS COLLECTIVES SCENARIO
//
// It says on standard output what it has come to, a line each, and waits for lines on standard input where the test is
// to do something. Each thread has a communicator of its own (hash 1000 + thread), and a proxy thread beside it that
// ends what the thread began, as NCCL's does.

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../../nccl/nccl_abi.h"

namespace {

using namespace eroica::nccl;  // NOLINT(google-build-using-namespace)

constexpr int kChannels = 2;
constexpr uint64_t kDeviceStart = 5'000'000;
constexpr uint64_t kDeviceNs = 1'000;

int mask = -1;  // NCCL's word
std::atomic<int64_t> clock_step_s = 0;

bool is_on() { return __atomic_load_n(&mask, __ATOMIC_RELAXED) != 0; }

void say(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

void wait_for_line() {
  if (std::getchar() == EOF) std::exit(3);
}

/// The plugin behind either version of the interface.
class Plugin {
 public:
  Plugin(const char* path, int version) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail(dlerror());
    v4_ = version == 4 ? static_cast<ProfilerV4*>(dlsym(library, "ncclProfiler_v4")) : nullptr;
    v5_ = version == 5 ? static_cast<ProfilerV5*>(dlsym(library, "ncclProfiler_v5")) : nullptr;
    if (v4_ == nullptr && v5_ == nullptr) fail("no such version");
    dlclose(library);  // as NCCL does when the last communicator has gone
  }

  void* init(uint64_t hash, const char* name) {
    void* context = nullptr;
    const Result result = v4_ != nullptr ? v4_->init(&context, &mask, name, hash, 1, 8, 3, nullptr)
                                         : v5_->init(&context, hash, &mask, name, 1, 8, 3, nullptr);
    if (result != kSuccess) fail("init");
    return context;
  }
  void finalize(void* context) {
    if ((v4_ != nullptr ? v4_->finalize(context) : v5_->finalize(context)) != kSuccess) fail("finalize");
  }

  void* group(void* context) {
    return start(context, [](auto& event) { event.type = kGroup; });
  }
  void* collective(void* context, void* parent, uint64_t sequence) {
    const CollectiveV4 told{sequence,       "AllReduce", nullptr, nullptr, 1024,    0,
                            "ncclBfloat16", kChannels,   16,      "RING",  "SIMPLE"};
    return start(context, [&](auto& event) {
      event.type = kCollective;
      event.parent = parent;
      put(event, told);
    });
  }
  void* point_to_point(void* context, int peer) {
    return start(context, [&](auto& event) {
      event.type = kPointToPoint;
      event.point_to_point.function = "Send";
      event.point_to_point.datatype = "ncclInt8";
      event.point_to_point.count = 77;
      event.point_to_point.peer = peer;
    });
  }
  void* proxy(void* context, void* parent, uint8_t channel, bool sends, pid_t pid) {
    return start(context, [&](auto& event) {
      event.type = kProxyOperation;
      event.parent = parent;
      event.proxy = {pid, channel, 5, 4, 512, sends ? 1 : 0};
    });
  }
  void* kernel(void* context, void* parent, uint8_t channel) {
    return start(context, [&](auto& event) {
      event.type = kKernelChannel;
      event.parent = parent;
      event.kernel = {channel, kDeviceStart};
    });
  }
  void state(void* handle, int which, uint64_t device_ns) {
    StateArguments arguments{};
    arguments.device_ns = device_ns;
    (v4_ != nullptr ? v4_->record_state : v5_->record_state)(handle, which, &arguments);
  }
  void stop(void* handle) { (v4_ != nullptr ? v4_->stop_event : v5_->stop_event)(handle); }

  [[noreturn]] static void fail(const char* why) {
    std::fprintf(stderr, "%s\n", why);
    std::exit(2);
  }

 private:
  static void put(EventV4& event, const CollectiveV4& told) { event.collective = told; }
  static void put(EventV5& event, const CollectiveV4& told) { event.collective = {told, nullptr}; }

  template <typename Fill>
  void* start(void* context, const Fill& fill) {
    void* handle = nullptr;
    if (v4_ != nullptr) {
      EventV4 event{};
      fill(event);
      if (v4_->start_event(context, &handle, &event) != kSuccess) fail("startEvent");
    } else {
      EventV5 event{};
      fill(event);
      if (v5_->start_event(context, &handle, &event) != kSuccess) fail("startEvent");
    }
    return handle;
  }

  const ProfilerV4* v4_ = nullptr;
  const ProfilerV5* v5_ = nullptr;
};

/// A communicator with its two threads.
class Rank {
 public:
  Rank(Plugin& plugin, int number) : plugin_(plugin) {
    context_ = plugin.init(1000 + static_cast<uint64_t>(number), number == 0 ? "data parallel" : nullptr);
  }

  void run(int collectives) {
    std::thread proxy([this] { end_them(); });
    for (int i = 0; i < collectives; ++i) {
      void* group = plugin_.group(context_);
      // NCCL 2.27 tells of what is in a group only where it got a handle for it.
      void* collective = group == nullptr ? nullptr : plugin_.collective(context_, group, static_cast<uint64_t>(i));
      plugin_.stop(collective);  // it is enqueued
      plugin_.stop(group);
      const std::lock_guard lock(mutex_);
      enqueued_.push_back(collective);
      changes_.notify_one();
    }
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changes_.notify_one();
    }
    proxy.join();
  }

  [[nodiscard]] void* context() const { return context_; }

 private:
  void end_them() {
    std::unique_lock lock(mutex_);
    while (true) {
      changes_.wait(lock, [this] { return over_ || !enqueued_.empty(); });
      if (enqueued_.empty()) return;
      void* collective = enqueued_.front();
      enqueued_.pop_front();
      lock.unlock();
      for (uint8_t channel = 0; channel < kChannels; ++channel) {
        void* kernel = plugin_.kernel(context_, collective, channel);
        void* send = plugin_.proxy(context_, collective, channel, true, getpid());
        plugin_.state(send, kStateProxyInProgress, 0);
        plugin_.stop(send);
        plugin_.state(kernel, kStateChannelStop, kDeviceStart + kDeviceNs);
        plugin_.stop(kernel);
      }
      lock.lock();
    }
  }

  Plugin& plugin_;
  void* context_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changes_;
  std::deque<void*> enqueued_;
  bool over_ = false;
};

void wait_until_on() {
  while (!is_on()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void wait_until_off() {
  while (is_on()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void run_all(std::vector<std::unique_ptr<Rank>>& ranks, int collectives) {
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (const auto& rank : ranks) threads.emplace_back([&rank, collectives] { rank->run(collectives); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

/// The system's clock, which steps when the scenario says so; the plugin asks this one.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (syscall(SYS_clock_gettime, clock, time) != 0) return -1;
  if (clock == CLOCK_REALTIME) time->tv_sec += clock_step_s;
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 6) Plugin::fail("usage");
  Plugin plugin(argv[1], std::atoi(argv[2]));
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int i = 0; i < std::atoi(argv[3]); ++i) ranks.push_back(std::make_unique<Rank>(plugin, i));
  const int collectives = std::atoi(argv[4]);
  const std::string scenario = argv[5];
  say(is_on() ? "on" : "off");

  if (scenario == "inactive") {
    run_all(ranks, collectives);
    if (plugin.collective(ranks[0]->context(), nullptr, 1) != nullptr) Plugin::fail("a handle without a window");
  } else if (scenario == "window") {
    wait_until_on();
    run_all(ranks, collectives);
    void* send = plugin.point_to_point(ranks[0]->context(), 6);
    // What a peer does for another process comes with that process's pointer.
    void* others_context = reinterpret_cast<void*>(0x1234);
    void* stranger = plugin.proxy(others_context, send, 9, false, getpid() + 1);
    plugin.stop(stranger);
    plugin.stop(send);
  } else if (scenario == "step") {
    wait_until_on();
    clock_step_s = -3600;
    run_all(ranks, collectives);
    wait_until_off();
  } else if (scenario == "late") {
    wait_until_on();
    std::vector<void*> held;
    for (int i = 0; i < 100; ++i) held.push_back(plugin.collective(ranks[0]->context(), nullptr, 7'000'000));
    say("held");
    wait_for_line();  // another window has begun
    for (void* handle : held) {
      plugin.state(handle, kStateChannelStop, 1);
      plugin.stop(handle);
      plugin.stop(handle);
    }
    for (const uint64_t wild : {uint64_t{1}, ~uint64_t{0}, uint64_t{0x7fff'ffff'ffff}}) {
      plugin.stop(reinterpret_cast<void*>(wild));
      plugin.state(reinterpret_cast<void*>(wild), kStateChannelStop, 1);
    }
    plugin.stop(nullptr);
    run_all(ranks, collectives);
    for (const auto& rank : ranks) plugin.finalize(rank->context());
    plugin.stop(plugin.collective(ranks[0]->context(), held[0], 1'000'000));  // after its communicator has gone
  }
  say("done");
  wait_for_line();
  return 0;
}
