#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "agent/control_message.h"
#include "agent/socket_file.h"
#include "base/result.h"

namespace eroica {

/// Answers requests at a socket in a job's folder (SOCK_SEQPACKET, 0600), to its owner and root alone. A thread of its
/// own: whoever asks does not hold up what is watched. A socket whose file somebody removes is bound again.
class ControlServer {
 public:
  /// Gives the packet that answers. Is called on the server's thread, and may wait for a few seconds.
  using Answer = std::function<std::string(const ControlRequest& request)>;

  /// Binds the socket, in place of what an earlier one left there. Error kWrite.
  static Result<std::unique_ptr<ControlServer>> make(const std::string& path, Answer answer);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  ~ControlServer() { stop(); }

  void start();
  void stop();

 private:
  ControlServer(std::string path, Answer answer, int wake)
      : path_(std::move(path)), answer_(std::move(answer)), wake_(wake) {}
  void run();
  Status listen();
  bool serve(int client) const;

  std::string path_;
  Answer answer_;
  int wake_;
  int listener_ = -1;
  FileId file_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

/// Sends a request to the socket and gives the answer's packet. Errors: kNotFound when nobody listens there,
/// kUnreadable when there is no answer within the deadline.
Result<std::string> ask_control(const std::string& path, const ControlRequest& request, double deadline_s);

}  // namespace eroica
