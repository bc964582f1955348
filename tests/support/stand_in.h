#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace eroica::testing {

/// A library that stands in for a vendor's, and the script of the devices that it plays (tests/stand_in).
class StandIn {
 public:
  /// `kind`: a folder of stand-ins; `file`: in it.
  StandIn(const std::string& kind, const std::string& file, const std::string& script)
      : path_(std::string(EROICA_STAND_INS) + "/" + kind + "/" + file),
        script_(::testing::TempDir() + "eroica-stand-in-XXXXXX"),
        handle_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    const int fd = mkstemp(script_.data());
    if (fd >= 0) close(fd);
    std::ofstream(script_) << script;
    setenv("EROICA_STAND_IN", script_.c_str(), 1);
    at(0);
  }
  /// One that plays the script of another.
  StandIn(const std::string& kind, const std::string& file)
      : path_(std::string(EROICA_STAND_INS) + "/" + kind + "/" + file),
        handle_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    at(0);
  }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  ~StandIn() {
    release();
    if (script_.empty()) return;
    std::filesystem::remove(script_);
    unsetenv("EROICA_STAND_IN");
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  /// It is this time for its devices.
  void at(double seconds) const { call<void (*)(double)>("eroica_stand_in_time", seconds); }
  /// Whatever hangs comes back.
  void release() const { call<void (*)()>("eroica_stand_in_release"); }
  /// What a function of the stand-in gives; −1: it has none of that name.
  [[nodiscard]] int ask(const char* name) const {
    auto* function = reinterpret_cast<int (*)()>(dlsym(handle_, name));
    return function == nullptr ? -1 : function();
  }

 private:
  template <typename Function, typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<Function>(dlsym(handle_, name));
    ASSERT_NE(function, nullptr) << name << ": " << path_;
    function(arguments...);
  }

  std::string path_;
  std::string script_;
  void* handle_;
};

}  // namespace eroica::testing
