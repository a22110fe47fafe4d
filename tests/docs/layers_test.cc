// lib/README.md's table of layers, held against what the sources include and what meson links.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "base/text.h"
#include "text_of.h"

namespace prefetch::docs::layers_test {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

fs::path Lib() {
  return tests::SourceRoot() / "lib";
}

Names Folders() {
  Names folders;
  for (const auto& entry : fs::directory_iterator(Lib())) {
    if (entry.is_directory()) folders.insert(entry.path().filename());
  }
  return folders;
}

// First groups of all matches.
Names Matches(const std::string& text, const std::string& pattern) {
  Names found;
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

Names OfFolders(const Names& names, const Names& folders) {
  Names kept;
  std::set_intersection(names.begin(), names.end(), folders.begin(), folders.end(),
                        std::inserter(kept, kept.begin()));
  return kept;
}

// Folder -> what its row allows. A row: | `plan` (pure) | all decisions | kubelet, image, base |
std::map<std::string, Names> Table() {
  std::map<std::string, Names> table;
  const Names folders = Folders();
  const std::string page = tests::TextOf(Lib() / "README.md");
  for (std::string_view line : base::Split(page, '\n')) {
    std::vector<std::string_view> cells = base::Split(line, '|');
    if (cells.size() != 5) continue;
    Names named = Matches(std::string(cells[1]), "^ `([a-z]+)`");
    if (named.size() != 1 || !folders.contains(*named.begin())) continue;
    table[*named.begin()] = OfFolders(Matches(std::string(cells[3]), "([a-z]+)"), folders);
  }
  return table;
}

Names IncludedBy(const std::string& folder) {
  Names included;
  for (const auto& entry : fs::recursive_directory_iterator(Lib() / folder)) {
    if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
    included.merge(Matches(tests::TextOf(entry.path()), "#include \"([a-z]+)/"));
  }
  included.erase(folder);
  return OfFolders(included, Folders());
}

Names LinkedBy(const std::string& folder) {
  const std::string meson = tests::TextOf(Lib() / folder / "meson.build");
  std::size_t library = meson.find(folder + "_lib = static_library(");
  EXPECT_NE(library, std::string::npos) << folder;
  return OfFolders(
      Matches(meson.substr(library, meson.find("\n" + folder + "_dep =", library) - library), "([a-z]+)_dep"),
      Folders());
}

Names Reachable(const std::string& folder) {
  Names all;
  for (const std::string& one : LinkedBy(folder)) {
    all.insert(one);
    all.merge(Reachable(one));
  }
  return all;
}

TEST(Layers, EveryFolderHasARow) {
  Names rows;
  for (const auto& [folder, may] : Table()) rows.insert(folder);
  EXPECT_EQ(rows, Folders());
}

TEST(Layers, EachRowIsWhatTheSourcesInclude) {
  for (const auto& [folder, may] : Table()) EXPECT_EQ(IncludedBy(folder), may) << folder;
}

TEST(Layers, EachLibraryLinksWhatItsRowAllowsAndNothingElse) {
  for (const auto& [folder, may] : Table()) {
    const Names direct = LinkedBy(folder), reachable = Reachable(folder);
    EXPECT_TRUE(std::includes(may.begin(), may.end(), direct.begin(), direct.end()))
        << folder << " links too much";
    EXPECT_TRUE(std::includes(reachable.begin(), reachable.end(), may.begin(), may.end()))
        << folder << " may include what it does not link";
    EXPECT_FALSE(reachable.contains(folder)) << folder << " is part of a circle";
  }
}

}  // namespace
}  // namespace prefetch::docs::layers_test
