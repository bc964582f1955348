#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/blocked_inquiry.h"
#include "agent/datagram_socket.h"
#include "agent/rank_table.h"
#include "agent/watch_news.h"

namespace eroica {

/// Asks every rank of a job that stands still where it is: its flight recorder by a command, its stacks by a signal,
/// its process by the kernel. Ranks that give no answer hold nobody up.
class InquiryRunner {
 public:
  /// `probes` must outlive this.
  InquiryRunner(std::string sockets, std::string traces, const DatagramSocket& probes)
      : sockets_(std::move(sockets)), traces_(std::move(traces)), probes_(&probes) {}

  [[nodiscard]] bool active() const { return active_; }
  void begin(const RankTable& ranks, const DetectorEvent& cause, int64_t now_ns);
  void reply(int32_t rank, const ReplyMessage& reply);
  /// Time passes, at least 100 ms between two calls. What was found, once it is.
  std::optional<JobInquired> tick(const RankTable& ranks, int64_t now_ns);

 private:
  struct Asked {
    RankInquiry found;
    std::string request;  // empty: the recorder has answered, or was not asked
    std::string recorder_path;
    std::string stack_path;  // empty: not asked, or read
    int64_t stack_offset = 0;
    int64_t stack_size = 0;
  };
  static void look_at_stack(Asked& asked, bool is_last_look);
  JobInquired finish(const RankTable& ranks);

  std::string sockets_;
  std::string traces_;
  const DatagramSocket* probes_;
  bool active_ = false;
  uint32_t count_ = 0;
  int64_t deadline_ns_ = 0;
  DetectorEvent cause_;
  std::vector<Asked> asked_;
};

}  // namespace eroica
