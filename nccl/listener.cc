#include "listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "nccl_abi.h"

namespace eroica::nccl {
namespace {

constexpr int kEvents = static_cast<int>(kGroup | kCollective | kPointToPoint | kProxyOperation | kKernelChannel);
constexpr int64_t kMostWindowNs = 700'000'000'000;
constexpr int64_t kLateNs = 500'000'000;  // for what began in the window and ends after it
constexpr size_t kStackBytes = size_t{256} * 1024;

/// A window that was asked for, on the monotonic clock: a step of the system's clock moves nothing.
struct Window {
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // 0: there is none
  int64_t unix_minus_monotonic_ns = 0;
  bool is_begun = false;  // its events are told
  bool is_over = false;   // they are told no longer, but may end
};

/// nullopt: it is no order, or its end has passed.
std::optional<Window> window_of(const Request& asked) {
  const bool is_order = asked.magic == kMagic && asked.start_unix_ns > 0 && asked.end_unix_ns > asked.start_unix_ns &&
                        asked.end_unix_ns - asked.start_unix_ns < kMostWindowNs;
  const int64_t offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  const bool is_late = asked.end_unix_ns - offset_ns <= clock_ns(CLOCK_MONOTONIC);
  if (!is_order || is_late) return std::nullopt;
  return Window{.start_ns = asked.start_unix_ns - offset_ns,
                .end_ns = asked.end_unix_ns - offset_ns,
                .unix_minus_monotonic_ns = offset_ns};
}

std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

int64_t rank_of_process() {
  const std::string text = text_of("RANK");
  char* end = nullptr;
  const long rank = std::strtol(text.c_str(), &end, 10);
  return text.empty() || *end != '\0' || rank < 0 || rank > INT32_MAX ? kNoRank : rank;
}

}  // namespace

bool Listener::make_ring(const std::string& path, int64_t rank) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  // All of it now: where the file system is full a page that is missing later would kill the job.
  void* ring = posix_fallocate(fd, 0, kRingBytes) == 0
                   ? mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                   : MAP_FAILED;
  ::close(fd);
  if (ring == MAP_FAILED) {
    unlink(path.c_str());
    return false;
  }
  auto* recorder = new (std::nothrow) Recorder;
  if (recorder == nullptr) return false;
  recorder->use(ring, rank, getpid());
  recorder_.store(recorder, std::memory_order_release);
  return true;
}

bool Listener::make_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  return socket_ >= 0 && bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool Listener::open_in(const std::string& folder) {
  unsigned random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) return false;
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%d-%08x", getpid(), random);
  socket_path_ = folder + "/" + kSocketFront + name.data();
  ring_path_ = folder + "/" + kRingFront + name.data();
  owner_ = getpid();
  if (!make_ring(ring_path_, rank_of_process()) || !make_socket(socket_path_)) return false;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the job's threads
  pthread_t thread{};
  const bool runs = pthread_create(&thread, &attributes, run, this) == 0;
  if (runs) pthread_setname_np(thread, "eroica-nccl");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return runs;
}

bool Listener::open() {
  pthread_mutex_lock(&mutex_);
  if (!tried_) {
    tried_ = true;
    const std::string folder = text_of("EROICA_SOCKET_DIR");
    const std::string off = text_of("EROICA_DISABLE");
    is_open_ = !folder.empty() && (off.empty() || off == "0") && open_in(folder);
    if (!is_open_) remove_files();
  }
  const bool is_open = is_open_;
  pthread_mutex_unlock(&mutex_);
  return is_open;
}

void Listener::watch(int* mask) {
  if (mask == nullptr) return;
  pthread_mutex_lock(&mutex_);
  auto found = std::find_if(masks_.begin(), masks_.end(), [&](const Watched& w) { return w.mask == mask; });
  if (found == masks_.end()) {
    found = std::find_if(masks_.begin(), masks_.end(), [](const Watched& w) { return w.mask == nullptr; });
  }
  if (found != masks_.end()) {
    found->mask = mask;
    ++found->uses;
    __atomic_store_n(mask, mask_now_, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&mutex_);
}

void Listener::forget(const int* mask) {
  pthread_mutex_lock(&mutex_);
  for (Watched& watched : masks_) {
    if (watched.mask == mask && mask != nullptr && --watched.uses == 0) watched.mask = nullptr;
  }
  pthread_mutex_unlock(&mutex_);
}

void Listener::close() {
  if (is_open_ && owner_ == getpid()) remove_files();
}

void Listener::remove_files() const {
  unlink(socket_path_.c_str());
  unlink(ring_path_.c_str());
}

void Listener::set_masks(int value) {
  pthread_mutex_lock(&mutex_);
  mask_now_ = value;
  for (const Watched& watched : masks_) {
    if (watched.mask != nullptr) __atomic_store_n(watched.mask, value, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&mutex_);
}

void* Listener::run(void* self) {
  static_cast<Listener*>(self)->listen();
  return nullptr;
}

void Listener::listen() {
  Window window;
  while (true) {
    const int64_t due_ns = !window.is_begun  ? window.start_ns
                           : !window.is_over ? window.end_ns
                                             : window.end_ns + kLateNs;
    const int64_t left_ns = due_ns - clock_ns(CLOCK_MONOTONIC);
    const int timeout_ms =
        window.end_ns == 0 ? -1 : static_cast<int>(std::clamp<int64_t>(left_ns / 1'000'000 + 1, 0, 60'000));
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, timeout_ms);
    if (ready < 0 && errno != EINTR) break;
    if (ready > 0) {
      Request asked;
      const ssize_t got = recv(socket_, &asked, sizeof asked, MSG_DONTWAIT | MSG_TRUNC);
      if (got < 0 && errno != EAGAIN && errno != EINTR) break;
      if (const auto ordered = got == sizeof asked ? window_of(asked) : std::nullopt) {
        set_masks(0);
        recorder()->end();
        window = *ordered;
      }
    }
    if (window.end_ns == 0) continue;
    const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (!window.is_begun && now_ns >= window.start_ns) {
      recorder()->begin(window.unix_minus_monotonic_ns);
      set_masks(kEvents);
      window.is_begun = true;
    }
    if (window.is_begun && !window.is_over && now_ns >= window.end_ns) {
      set_masks(0);
      window.is_over = true;
    }
    if (window.is_over && now_ns >= window.end_ns + kLateNs) {
      recorder()->end();
      window = {};
    }
  }
  set_masks(0);
  recorder()->end();
}

}  // namespace eroica::nccl
