#include "ctl/export.h"

#include <set>
#include <utility>

#include "base/fs.h"
#include "ctl/exit_code.h"
#include "ctl/list_files.h"
#include "doc/write.h"
#include "list/lock.h"

namespace prefetch::ctl {
namespace {

// https://docs.redhat.com/documentation/openshift_container_platform: MachineConfig APIs, PinnedImageSet
constexpr std::size_t kMostImages = 500;

list::ListLock LockOf(const list::LoadedSource& source, Mistakes& mistakes) {
  auto text = base::ReadFile(list::LockPath(source.info.path), list::kMostLockBytes);
  if (!text && text.error().code() == base::Code::kNotFound) return {};
  auto lock = text ? list::ReadLock(*text, source.info.name + ".lock") : std::move(text).error();
  if (lock) return *std::move(lock);
  mistakes.push_back(lock.error().message());
  return {};
}

std::set<std::string> Pinned(const std::vector<list::LoadedSource>& sources, Mistakes& mistakes) {
  std::set<std::string> names;
  for (const list::LoadedSource& source : sources) {
    list::ListLock lock = LockOf(source, mistakes);
    for (const list::ListEntry& entry : source.content->entries) {
      const image::Reference& reference = entry.image.reference;
      auto locked = lock.find(reference.Normalized());
      if (reference.has_digest()) {
        names.insert(reference.Repository() + "@" + reference.digest());
      } else if (locked != lock.end()) {
        names.insert(reference.Repository() + "@" + locked->second);
      } else {
        mistakes.push_back(source.info.name + ":" + std::to_string(entry.at.line) + ": " +
                           reference.written() + " has no digest: run prefetchctl list lock " +
                           source.info.name + " first");
      }
    }
  }
  return names;
}

doc::Node Document(const ExportPinnedOptions& options, const std::set<std::string>& names) {
  std::vector<doc::Node> images;
  for (const std::string& name : names) {
    images.push_back(doc::Node::Mapping().Set("name", doc::Node::String(name)));
  }
  doc::Node labels = doc::Node::Mapping();
  labels.Set("machineconfiguration.openshift.io/role", doc::Node::String(options.pool));
  doc::Node metadata = doc::Node::Mapping();
  metadata.Set("name", doc::Node::String(options.name)).Set("labels", std::move(labels));
  doc::Node spec = doc::Node::Mapping();
  spec.Set("pinnedImages", doc::Node::Sequence(std::move(images)));
  doc::Node node = doc::Node::Mapping();
  node.Set("apiVersion", doc::Node::String("machineconfiguration.openshift.io/v1"))
      .Set("kind", doc::Node::String("PinnedImageSet"))
      .Set("metadata", std::move(metadata))
      .Set("spec", std::move(spec));
  return node;
}

}  // namespace

int ExportPinnedImageSet(const ExportPinnedOptions& options, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  ListFiles files = ReadListFiles(options.lists, mistakes);
  std::set<std::string> names = Pinned(files.sources, mistakes);
  if (names.empty() && mistakes.empty()) mistakes.emplace_back("there is no image in the list to pin");
  if (names.size() > kMostImages) {
    mistakes.push_back("a PinnedImageSet has at most " + std::to_string(kMostImages) + " images, not " +
                       std::to_string(names.size()) + ": split the list");
  }
  if (!mistakes.empty()) return Refuse(mistakes, err);
  out << "# Pins the images of a list on the nodes of a pool: CRI-O pulls them by digest and kubelet never "
         "collects them.\n"
      << doc::WriteYaml(Document(options, names));
  return kOk;
}

}  // namespace prefetch::ctl
