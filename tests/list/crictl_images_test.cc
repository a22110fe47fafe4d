#include "list/draft.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace prefetch::list::crictl_images_test {
namespace {

std::string Names(std::string_view json, std::string& mistakes) {
  doc::Problems problems("x.json");
  std::vector<std::string> names;
  for (const image::Reference& reference : ReadCrictlImages(json, problems))
    names.push_back(reference.Normalized());
  mistakes = base::Join(problems.Lines(), "\n");
  return base::Join(names, " ");
}

const std::string kDigest = "sha256:" + std::string(64, 'a');

// As crictl 1.31 prints it.
TEST(CrictlImages, ByTagElseByDigest) {
  std::string mistakes;
  EXPECT_EQ(Names(R"({
  "images": [
    {"id": "sha256:1", "repoTags": ["docker.io/library/nginx:1.27", "quay.io/acme/nginx:v1"],
     "repoDigests": ["docker.io/library/nginx@)" +
                      kDigest + R"("], "size": "71", "uid": null, "username": "",
     "spec": {"image": "", "annotations": {}}, "pinned": false},
    {"id": "sha256:2", "repoTags": [], "repoDigests": ["quay.io/acme/old@)" +
                      kDigest + R"("], "pinned": true},
    {"id": "sha256:3", "repoTags": ["<none>:<none>"], "repoDigests": ["<none>@<none>"]},
    {"id": "sha256:4", "repoTags": ["Not A Name"], "repoDigests": []}
  ]
})",
                  mistakes),
            "docker.io/library/nginx:1.27 quay.io/acme/nginx:v1 quay.io/acme/old@" + kDigest);
  EXPECT_EQ(mistakes, "");
}

TEST(CrictlImages, WhatIsNoSuchDocument) {
  for (const char* text : {"", "[]", "{}", "{\"images\": {}}", "{\"images\": [5]}", "REPOSITORY TAG\n",
                           "{\"images\": [{\"repoTags\": \"nginx\"}]}"}) {
    std::string mistakes;
    EXPECT_EQ(Names(text, mistakes), "") << text;
    EXPECT_NE(mistakes, "") << text;
  }
}

}  // namespace
}  // namespace prefetch::list::crictl_images_test
