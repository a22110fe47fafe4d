// A run of lint over texts, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "doc/problems.h"
#include "manifest/lint/linter.h"

namespace prefetch::tests {

// A line each: "image" or "image|os/arch,os/arch" or "image|refreshed" or, for pods that have a secret of
// namespace ci and perhaps a service account, "image|as=secret,account", or, for nodes with a label,
// "image|on=label,value"; in lines 1, 2 … of list.txt.
inline std::vector<manifest::lint::ListedImage> Listed(std::string_view lines) {
  std::vector<manifest::lint::ListedImage> images;
  std::uint32_t number = 0;
  for (std::string_view line : base::Split(lines, '\n')) {
    number++;
    if (line.empty() || line.starts_with('#')) continue;
    std::size_t bar = std::min(line.find('|'), line.size());
    auto reference = image::Reference::Parse(line.substr(0, bar));
    EXPECT_TRUE(reference.ok()) << line;
    if (!reference) continue;
    manifest::lint::ListedImage image{
        .reference = *reference, .place = {"list.txt", {number, 1}}, .platforms = {}};
    std::string_view more = bar == line.size() ? "" : line.substr(bar + 1);
    image.refreshed = more == "refreshed";
    if (more.starts_with("as=")) {
      std::vector<std::string_view> names = base::Split(more.substr(3), ',');
      image.ready_as.secrets.push_back({"", "ci", std::string(names[0])});
      if (names.size() > 1)
        image.ready_as.service_account = image::Coordinates{"", "ci", std::string(names[1])};
    } else if (more.starts_with("on=")) {
      std::vector<std::string_view> label = base::Split(more.substr(3), ',');
      image.node_selector[std::string(label[0])] = label[1];
    } else if (!more.empty() && !image.refreshed) {
      for (std::string_view text : base::Split(more, ','))
        image.platforms.push_back(*image::Platform::Parse(text));
    }
    images.push_back(std::move(image));
  }
  return images;
}

using Files = std::vector<std::pair<std::string, std::string>>;  // name, text

inline manifest::lint::LintResult LintFiles(std::string_view list, const Files& files,
                                            const manifest::ReadOptions& options = {},
                                            const manifest::lint::Selection& selection = {}) {
  using manifest::lint::Ignores;
  manifest::lint::Linter linter(manifest::lint::ListedImages(Listed(list)), {Ignores::Read("list.txt", list)},
                                selection);
  for (const auto& [name, text] : files) {
    doc::Problems problems(name);
    manifest::Manifests manifests = manifest::ReadManifests(text, problems, options);
    EXPECT_EQ(base::Join(problems.Lines(), "\n"), "");
    linter.Add(manifests, Ignores::Read(name, text));
  }
  return linter.Finish();
}

// "pod.yaml:7:5 PF101"
inline std::string Short(const manifest::lint::Finding& finding) {
  return finding.place.file + ":" + std::to_string(finding.place.at.line) + ":" +
         std::to_string(finding.place.at.column) + " " + std::string(RuleOf(finding.rule).id);
}

inline std::vector<std::string> Short(const manifest::lint::LintResult& result) {
  std::vector<std::string> lines;
  for (const manifest::lint::Finding& finding : result.findings) lines.push_back(Short(finding));
  return lines;
}

}  // namespace prefetch::tests
