#include "agent/fabric.h"

#include <fmt/format.h>

#include <cstring>

#include "agent/raw_number.h"

namespace eroica {
namespace {

constexpr size_t kTypeBytes = 32;
constexpr size_t kHeaderBytes = 8 + kTypeBytes;
constexpr size_t kContextBytes = 16;
constexpr size_t kRequestBytes = 16;
constexpr size_t kMostPids = 64;

std::string framed(std::string_view type, std::string_view payload) {
  std::string datagram(kHeaderBytes, '\0');
  const uint64_t size = payload.size();
  std::memcpy(datagram.data(), &size, sizeof size);
  std::memcpy(datagram.data() + 8, type.data(), type.size());
  return datagram.append(payload);
}

}  // namespace

std::optional<FabricRequest> decode_fabric(std::string_view datagram) {
  if (datagram.size() < kHeaderBytes) return std::nullopt;
  const auto size = number_at<uint64_t>(datagram, 0);
  if (size > datagram.size() - kHeaderBytes) return std::nullopt;
  std::string_view type = datagram.substr(8, kTypeBytes);
  type = type.substr(0, type.find('\0'));
  const std::string_view payload = datagram.substr(kHeaderBytes, size);

  FabricRequest request;
  if (type == "ctxt" && payload.size() >= kContextBytes) {
    request.kind = FabricRequest::Kind::kContext;
    request.pids.push_back(number_at<int32_t>(payload, 4));
    request.job = number_at<int64_t>(payload, 8);
    return request;
  }
  if (type != "req" || payload.size() < kRequestBytes) return std::nullopt;
  request.types = number_at<int32_t>(payload, 0);
  const auto count = number_at<int32_t>(payload, 4);
  request.job = number_at<int64_t>(payload, 8);
  if (count < 0 || static_cast<size_t>(count) > kMostPids) return std::nullopt;
  if (static_cast<size_t>(count) > (payload.size() - kRequestBytes) / sizeof(int32_t)) return std::nullopt;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    request.pids.push_back(number_at<int32_t>(payload, kRequestBytes + i * sizeof(int32_t)));
  }
  return request;
}

std::string encode_configuration(std::string_view text) { return framed("req", text); }

std::string encode_instance_count(int32_t count) {
  std::string payload(sizeof count, '\0');
  std::memcpy(payload.data(), &count, sizeof count);
  return framed("ctxt", payload);
}

std::string configuration_text(const KinetoWindow& window) {
  if (window.path.find_first_of("=\n\r#") != std::string::npos) return "";
  return fmt::format(
      "ACTIVITIES_LOG_FILE={}\nPROFILE_START_TIME={}\nACTIVITIES_DURATION_MSECS={}\nACTIVITIES_WARMUP_PERIOD_SECS={}\n"
      "PROFILE_WITH_STACK={}\nPROFILE_REPORT_INPUT_SHAPES={}\n",
      window.path, window.start_unix_ms, window.duration_ms, window.warm_up_s, window.with_stack, window.record_shapes);
}

}  // namespace eroica
