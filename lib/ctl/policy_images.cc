#include "ctl/policy_images.h"

#include <string_view>

#include "ctl/exit_code.h"
#include "ctl/list_files.h"
#include "deploy/policy.h"
#include "doc/write.h"

namespace prefetch::ctl {

void AddAlike(const image::Reference& reference, std::set<std::string>& spellings) {
  spellings.insert(reference.written());
  // kubelet adds ":latest" if tag and digest are missing, and changes nothing else (K1).
  if (reference.has_digest() || reference.tag() != "latest") return;
  const std::string with_tag = reference.SpecImage();
  spellings.insert(with_tag);
  spellings.insert(with_tag.substr(0, with_tag.size() - std::string_view(":latest").size()));
}

void AddAlike(const list::SourceContent& content, std::set<std::string>& spellings) {
  for (const list::ListEntry& entry : content.entries) AddAlike(entry.image.reference, spellings);
}

int ExportPolicy(const std::vector<std::string>& lists, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  ListFiles files = ReadListFiles(lists, mistakes);
  if (!mistakes.empty()) return Refuse(mistakes, err);
  std::set<std::string> spellings;
  for (const list::LoadedSource& source : files.sources) AddAlike(*source.content, spellings);
  auto made = deploy::PolicyConfigMap({spellings.begin(), spellings.end()});
  if (!made) return Fail(kBadInput, made.error(), err);
  out << "# The images by which deploy/components/policy judges, one spelling a line.\n"
      << doc::WriteYaml(*made);
  return kOk;
}

}  // namespace prefetch::ctl
