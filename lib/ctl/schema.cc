#include "ctl/schema.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/text.h"
#include "ctl/exit_code.h"
#include "reference/schema.h"

namespace prefetch::ctl {
namespace {

int WritePages(const std::filesystem::path& folder, const std::vector<reference::Page>& pages,
               std::ostream& err) {
  for (const reference::Page& page : pages) {
    const std::filesystem::path path = folder / (page.name + ".md");
    std::ofstream file(path, std::ios::binary);
    file << page.text << std::flush;
    if (!file) return Fail(kBadInput, base::InvalidArgument("cannot write " + path.string()), err);
  }
  return kOk;
}

}  // namespace

int PrintSchema(const std::string& document, std::ostream& out, std::ostream& err) {
  auto known = reference::DocumentNamed(document);
  if (!known) {
    return Fail(kBadInput,
                base::InvalidArgument("there is no schema of that name: use " +
                                      base::Join(reference::DocumentNames(), ", ")),
                err);
  }
  out << reference::SchemaText(*known);
  return kOk;
}

int PrintDocs(const std::string& target, const std::vector<reference::Page>& pages, std::ostream& out,
              std::ostream& err) {
  std::vector<std::string> names;
  for (const reference::Page& page : pages) {
    names.push_back(page.name);
    if (page.name != target) continue;
    out << page.text;
    return kOk;
  }
  std::error_code error;
  if (std::filesystem::is_directory(target, error)) return WritePages(target, pages, err);
  return Fail(kBadInput,
              base::InvalidArgument("there is no page and no directory of that name: pages are " +
                                    base::Join(names, ", ")),
              err);
}

}  // namespace prefetch::ctl
