#include "progress.h"

#include <chrono>

namespace prefetch::ctl {

Progress::Progress(std::ostream& out, const Terminal& terminal, bool quiet_first)
    : out_(out), terminal_(terminal), pace_(std::chrono::steady_clock::now(), quiet_first) {}

void Progress::Show(const std::string& line, const std::string& key,
                    const std::vector<std::string>& details) {
  if (terminal_.interactive) {
    Close();
    out_ << line;
    for (const std::string& detail : details) out_ << "\n" << detail;
    out_ << std::flush;
    lines_ = 1 + details.size();
    return;
  }
  if (pace_.Due(key, std::chrono::steady_clock::now())) out_ << line << "\n" << std::flush;
}

void Progress::Close() {
  if (lines_ == 0) return;
  out_ << "\r";
  if (lines_ > 1) out_ << "\x1b[" << lines_ - 1 << "A";
  out_ << "\x1b[J" << std::flush;
  lines_ = 0;
}

}  // namespace prefetch::ctl
