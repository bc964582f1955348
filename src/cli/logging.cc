#include "cli/logging.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "report/text_style.h"

namespace eroica {
std::string printable(std::string_view message) {
  const TextStyle style;
  std::string lines;
  while (true) {
    const size_t end = message.find('\n');
    lines += style.clean(message.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines += '\n';
    message.remove_prefix(end + 1);
  }
}

struct Log::Backend {
  spdlog::logger logger{"eroica", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
};

Log::Log(LogLevel level) : backend_(std::make_unique<Backend>()) {
  backend_->logger.set_pattern("eroica: %l: %v");
  backend_->logger.set_level(level == LogLevel::kQuiet     ? spdlog::level::err
                             : level == LogLevel::kVerbose ? spdlog::level::debug
                                                           : spdlog::level::warn);
}

Log::~Log() = default;

void Log::error(std::string_view message) { backend_->logger.error("{}", printable(message)); }
void Log::warning(std::string_view message) { backend_->logger.warn("{}", printable(message)); }
void Log::info(std::string_view message) { backend_->logger.info("{}", printable(message)); }

}  // namespace eroica
