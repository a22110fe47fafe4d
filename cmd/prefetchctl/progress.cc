#include "progress.h"

namespace prefetch::ctl {
namespace {

constexpr std::chrono::seconds kLogAtMost{5};
constexpr std::chrono::seconds kLogAtLeast{30};

}  // namespace

Progress::Progress(std::ostream& out, const Terminal& terminal, bool quiet_first)
    : out_(out), terminal_(terminal), shown_any_(quiet_first), shown_at_(Clock::now()) {}

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
  auto since = Clock::now() - shown_at_;
  if (shown_any_ && since < (key == key_ ? kLogAtLeast : kLogAtMost)) return;
  out_ << line << "\n" << std::flush;
  shown_any_ = true;
  key_ = key;
  shown_at_ = Clock::now();
}

void Progress::Close() {
  if (lines_ == 0) return;
  out_ << "\r";
  if (lines_ > 1) out_ << "\x1b[" << lines_ - 1 << "A";
  out_ << "\x1b[J" << std::flush;
  lines_ = 0;
}

}  // namespace prefetch::ctl
