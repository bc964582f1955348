#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace eroica::nccl {

// What the plugin for NCCL writes into its ring, a file of fixed size beside the probe's sockets, and the agent reads:
// a header, communicators, records. A window's records stand from the first place on; when all places are taken the
// later ones are counted as lost. Numbers are in the machine's byte order.

inline constexpr std::array<char, 8> kMagic = {'E', 'R', 'O', 'I', 'C', 'A', 'N', '1'};
inline constexpr uint32_t kMostCommunicators = 256;
inline constexpr uint32_t kMostRecords = 1U << 17;
inline constexpr int64_t kNoRank = -1;
inline constexpr uint64_t kNoSequence = ~uint64_t{0};

struct Header {
  std::array<char, 8> magic{};
  int64_t rank = kNoRank;  ///< RANK of the process
  int64_t pid = 0;         ///< as the process sees it
  uint64_t epoch = 0;      ///< windows so far
  uint64_t taken = 0;      ///< places that were wanted in this window, also beyond the last one
  uint64_t lost = 0;       ///< events of this window that began while too many others went on, or of which a part is
                           ///< missing since two threads told of them at once
  std::array<uint64_t, 2> spare{};
};
static_assert(sizeof(Header) == 64);

struct Communicator {
  uint64_t hash = 0;
  int32_t rank = -1;
  int32_t ranks = 0;
  int32_t nodes = 0;
  int32_t is_open = 0;
  std::array<char, 40> name{};  ///< ends with 0; empty: none was given
};
static_assert(sizeof(Communicator) == 64);

enum class Kind : uint8_t {
  kCollective = 1,    ///< from its call until it was enqueued
  kPointToPoint = 2,  ///< likewise
  kChannel = 3,       ///< of its kernel on one channel: the time on the device
  kProxyOperation = 4,
};

enum Flag : uint8_t {
  kSends = 1,       ///< a proxy operation that sends; else it receives
  kHostTime = 2,    ///< the device did not tell a channel's time: the host's
  kStrangerOp = 4,  ///< a proxy operation on behalf of another process
};

struct Record {
  uint32_t epoch = 0;
  Kind kind{};
  uint8_t channel = 0;
  uint8_t flags = 0;
  uint8_t channels = 0;             ///< that a collective uses
  std::array<char, 16> function{};  ///< "AllReduce"; ends with 0 where it is shorter
  std::array<char, 12> datatype{};  ///< "ncclBfloat16" without its front
  int32_t peer = -1;
  uint64_t communicator = 0;        ///< its hash
  uint64_t sequence = kNoSequence;  ///< of the collective in its communicator
  uint64_t count = 0;               ///< elements of a collective; bytes at most of a proxy operation
  int64_t start_unix_ns = 0;
  int64_t duration_ns = 0;
  std::array<char, 8> algorithm{};
  std::array<char, 8> protocol{};
  uint64_t check = 0;  ///< of all that stands before it
};
static_assert(sizeof(Record) == 104);

/// What `check` must be.
inline uint64_t check_of(const Record& record) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t sum = 0xcbf29ce484222325;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&record);
  for (size_t i = 0; i < offsetof(Record, check); ++i) sum = (sum ^ bytes[i]) * kPrime;
  return sum;
}

inline constexpr size_t kCommunicatorsAt = sizeof(Header);
inline constexpr size_t kRecordsAt = kCommunicatorsAt + kMostCommunicators * sizeof(Communicator);
inline constexpr size_t kRingBytes = kRecordsAt + kMostRecords * sizeof(Record);

// The agent asks by a datagram to the plugin's socket nccl-PID-RANDOM; the ring is ncclring-PID-RANDOM.
inline constexpr char kSocketFront[] = "nccl-";
inline constexpr char kRingFront[] = "ncclring-";
struct Request {
  std::array<char, 8> magic = kMagic;
  int64_t start_unix_ns = 0;
  int64_t end_unix_ns = 0;
};

}  // namespace eroica::nccl
