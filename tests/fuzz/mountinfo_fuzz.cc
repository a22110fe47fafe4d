// /proc/PID/mountinfo: mount points are names that pods' authors choose. Each line stands for itself, and a
// path that the kernel has escaped comes back as it was.
#include <vector>

#include "base/process_stat.h"
#include "base/text.h"
#include "fuzz/target.h"

namespace {

using namespace prefetch;

// As the kernel writes paths there: fs/proc_namespace.c escapes these four.
std::string Escaped(std::string_view path) {
  std::string out;
  for (char c : path) {
    switch (c) {
      case ' ':
        out += "\\040";
        break;
      case '\t':
        out += "\\011";
        break;
      case '\n':
        out += "\\012";
        break;
      case '\\':
        out += "\\134";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

FUZZ_TARGET(text) {
  const std::vector<std::string> whole = base::DeletedMounts(text);
  std::vector<std::string> by_line;
  for (std::string_view line : base::Split(text, '\n')) {
    const std::vector<std::string> one = base::DeletedMounts(line);
    if (one.size() > 1 || (!one.empty() && one.front().size() > line.size())) std::abort();
    if (!one.empty() && line.find("//deleted ") == std::string_view::npos) std::abort();
    by_line.insert(by_line.end(), one.begin(), one.end());
  }
  if (whole != by_line) std::abort();
  // The same bytes as a path, of a mount whose source has gone, of one that is there, and as a source.
  const std::string path = "/" + Escaped(text);
  const std::string gone = "36 35 98:0 /mnt/old//deleted " + path + " rw shared:1 - ext4 /dev/root rw\n";
  const std::string there = "37 35 98:0 /mnt/new " + path + " rw shared:1 - ext4 /dev/root rw\n";
  const std::string source = "38 35 98:0 " + path + "//deleted /run/x rw - ext4 /dev/root rw\n";
  if (base::DeletedMounts(there + gone + source) !=
      std::vector<std::string>{"/" + std::string(text), "/run/x"})
    std::abort();
}
